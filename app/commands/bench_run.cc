// `hloscope bench run`: a module on one platform beside another.
#include "core/debug/run/bench_run.h"

#include <fmt/format.h>
#include <sched.h>

#include <array>
#include <chrono>

#include "app/any_module.h"
#include "app/cancel.h"
#include "app/commands/bench.h"
#include "app/output.h"
#include "app/workers.h"
#include "core/base/json.h"

namespace hloscope::app {
namespace {

using debug::BenchFigures;
using debug::BenchReport;

// Holds this process, and the workers it will start, to the first `count` CPUs it may use.
Status PinTo(int64_t count) {
  cpu_set_t allowed, chosen;
  CPU_ZERO(&allowed);
  CPU_ZERO(&chosen);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    return EnvironmentError("--threads: cannot read the CPU affinity of this process");
  }
  int64_t taken = 0;
  for (size_t cpu = 0; cpu < CPU_SETSIZE && taken < count; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    CPU_SET(cpu, &chosen);
    ++taken;
  }
  if (count < 1 || taken < count) {
    return InputError(fmt::format("--threads {}: expected 1 to {}, the number of available CPUs",
                                  count, CPU_COUNT(&allowed)));
  }
  if (sched_setaffinity(0, sizeof(chosen), &chosen) != 0) {
    return EnvironmentError("--threads: cannot set the CPU affinity");
  }
  return {};
}

void WriteFigures(JsonWriter& json, std::string_view prefix, const BenchFigures& figures) {
  json.Field(fmt::format("{}compile_ms", prefix), figures.compile_ms);
  json.Field(fmt::format("{}run_us", prefix), figures.run_us);
  json.Field(fmt::format("{}runs", prefix), figures.runs);
}

std::string Json(const std::string& file, const BenchRunOptions& options,
                 const BenchReport& report) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("module", file).Field("platform", options.platform);
  WriteFigures(json, "", report.platform);
  if (report.against) {
    json.Field("against", options.against);
    WriteFigures(json, "against_", *report.against);
    json.Field("status", report.difference ? "differs" : "equal");
    if (!report.difference) {
      json.Field("ratio_compile", report.platform.compile_ms / report.against->compile_ms);
      json.Field("ratio_run", report.platform.run_us / report.against->run_us);
    }
  }
  json.Key("warnings").BeginArray();
  for (const std::string& warning : report.warnings) json.Value(warning);
  json.EndArray().EndObject();
  return out + "\n";
}

std::string RunErrorJson(const std::string& file, const Error& error) {
  std::string out;
  JsonWriter(out).BeginObject().Field("module", file).Field("error", error.ToString()).EndObject();
  return out + "\n";
}

std::string Line(const std::string& file, const BenchReport& report) {
  const BenchFigures& own = report.platform;
  std::string line = fmt::format("{:>10.2f} {:>11.1f}", own.compile_ms, own.run_us);
  if (report.against) {
    const BenchFigures& other = *report.against;
    line += fmt::format(" {:>10.2f} {:>11.1f}", other.compile_ms, other.run_us);
    line += report.difference ? fmt::format(" {:>17}", "results differ")
                              : fmt::format(" {:>8.2f} {:>8.2f}", own.compile_ms / other.compile_ms,
                                            own.run_us / other.run_us);
  }
  return line + "  " + file + "\n";
}

std::string Heading(const BenchRunOptions& options) {
  std::string heading = fmt::format("{:>10} {:>11}", "compile ms", "run us");
  if (!options.against.empty()) {
    heading +=
        fmt::format(" {:>10} {:>11} {:>8} {:>8}", "against ms", "against us", "compile", "run");
  }
  return heading + "  module\n";
}

Result<BenchReport> Measure(const std::string& file, debug::BenchRequest request,
                            const BenchRunOptions& options, const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  if (options.deadline_seconds) {
    request.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(*options.deadline_seconds));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const dump::LoadedModule loaded,
                            LoadAnySoundModule(file, request.limits, "", stop));
  return debug::BenchRun(loaded.module, request, stop);
}

}  // namespace

int BenchRun(std::span<const std::string> files, const BenchRunOptions& options,
             const Context& context) {
  if (options.threads) {
    if (Status pinned = PinTo(*options.threads); !pinned) {
      PrintError(pinned.error());
      return ExitStatusOf(pinned.error());
    }
  }
  const CancelOnSignals cancel;
  debug::BenchRequest request;
  request.platform = options.platform;
  request.against = options.against;
  request.threads = static_cast<int>(options.threads.value_or(0));
  request.seed = static_cast<uint64_t>(options.seed.value_or(0));
  if (options.fill_elided) request.fill_elided = static_cast<uint64_t>(*options.fill_elided);
  request.repeats = options.repeats.value_or(0);
  request.limits = context.limits;
  request.workers = StartWorkers(std::array{options.platform, options.against}, context.limits);
  if (!context.json) PrintOut(Heading(options));
  int status = kGood;
  for (const std::string& file : files) {
    const Result<BenchReport> report = Measure(file, request, options, cancel.token());
    if (!report) {
      PrintError(file + ": " + report.error().ToString());
      if (context.json) WriteOut(RunErrorJson(file, report.error()));
      status = Worse(status, ExitStatusOf(report.error()));
    } else {
      context.json ? WriteOut(Json(file, options, *report)) : PrintOut(Line(file, *report));
    }
    FlushOut();
    if (cancel.token().stop_requested()) break;
  }
  return status;
}

}  // namespace hloscope::app
