// `hloscope bench run`: a module on one platform against another.
#include "core/debug/run/bench_run.h"

#include <fmt/format.h>
#include <sched.h>

#include <chrono>
#include <optional>

#include "app/any_module.h"
#include "app/cancel.h"
#include "app/commands/bench.h"
#include "app/fail.h"
#include "app/output.h"
#include "app/workers.h"
#include "app/xla_options.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/debug/run/skip_callbacks.h"

namespace hloscope::app {
namespace {

using debug::BenchFigures;
using debug::BenchReport;
using debug::RunRatio;

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
  if (!figures.memory) {
    json.Field(fmt::format("{}why_no_memory", prefix), figures.why_no_memory);
    return;
  }
  json.Field(fmt::format("{}idle_bytes", prefix), figures.memory->idle);
  json.Field(fmt::format("{}compile_peak_bytes", prefix), figures.memory->compile_peak);
  json.Field(fmt::format("{}run_peak_bytes", prefix), figures.memory->run_peak);
}

void WriteRatio(JsonWriter& json, std::string_view name, const RunRatio& ratio) {
  json.Field(name, ratio.ratio);
  if (!ratio.interval) return;
  json.Key(fmt::format("{}_interval", name)).BeginArray();
  json.Value(ratio.interval->low).Value(ratio.interval->high).EndArray();
}

// Of the platform to the other; nothing where one of them does not know.
struct PeakRatios {
  double compile = 0, run = 0;
};
std::optional<PeakRatios> PeakRatiosOf(const BenchReport& report) {
  const auto& own = report.platform.memory;
  const auto& other = report.against->memory;
  if (!own || !other) return std::nullopt;
  return PeakRatios{
      static_cast<double>(own->compile_peak) / static_cast<double>(other->compile_peak),
      static_cast<double>(own->run_peak) / static_cast<double>(other->run_peak)};
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
      WriteRatio(json, "ratio_run", *report.run_ratio);
    }
    if (report.against_itself) WriteRatio(json, "against_itself_ratio_run", *report.against_itself);
    if (const auto peaks = PeakRatiosOf(report)) {
      json.Field("ratio_compile_peak", peaks->compile).Field("ratio_run_peak", peaks->run);
    }
  }
  json.Key("warnings").BeginArray();
  for (const std::string& warning : report.warnings) json.Value(warning);
  json.EndArray().EndObject();
  return out + "\n";
}

std::string IntervalText(const RunRatio& ratio) {
  if (!ratio.interval) return "few runs";
  return FormatText("{:.2f}-{:.2f}", ratio.interval->low, ratio.interval->high);
}

std::string MemoryText(const BenchFigures& figures) {
  if (!figures.memory) return FormatText(" {:>23}", "not known");
  std::string text;
  for (const int64_t bytes :
       {figures.memory->idle, figures.memory->compile_peak, figures.memory->run_peak}) {
    text += FormatText(" {:>7.1f}", static_cast<double>(bytes) / 1e6);
  }
  return text;
}

std::string Line(const std::string& file, const BenchReport& report) {
  const BenchFigures& own = report.platform;
  std::string line = FormatText("{:>10.2f} {:>11.1f}", own.compile_ms, own.run_us);
  if (report.against) {
    const BenchFigures& other = *report.against;
    line += FormatText(" {:>10.2f} {:>11.1f}", other.compile_ms, other.run_us);
    line += report.difference
                ? fmt::format(" {:>29}", "results differ")
                : fmt::format(" {:>8.2f} {:>8.2f} {:>11}", own.compile_ms / other.compile_ms,
                              report.run_ratio->ratio, IntervalText(*report.run_ratio));
  }
  if (report.against_itself) line += FormatText(" {:>11}", IntervalText(*report.against_itself));
  line += MemoryText(own);
  if (report.against) line += MemoryText(*report.against);
  return line + FormatText("  {}\n", file);
}

std::string Text(const std::string& file, const BenchReport& report) {
  std::string text = Line(file, report);
  for (const std::string& warning : report.warnings) text += "warning: " + warning + "\n";
  return text;
}

// Two lines: whose columns they are, and what they hold.
std::string Heading(const BenchRunOptions& options) {
  std::string whose, what;
  const auto add = [&](std::string of, const std::string& columns) {
    if (of.size() > columns.size()) of = ".." + of.substr(of.size() - columns.size() + 2);
    whose += (what.empty() ? "" : " ") + fmt::format("{:^{}}", of, columns.size());
    what += (what.empty() ? "" : " ") + columns;
  };
  const std::string times = fmt::format("{:>10} {:>11}", "compile ms", "run us");
  const std::string memory = fmt::format("{:>7} {:>7} {:>7}", "idle MB", "compile", "run");
  add(options.platform, times);
  if (!options.against.empty()) {
    add(options.against, times);
    add(fmt::format("{} / {}", options.platform, options.against),
        fmt::format("{:>8} {:>8} {:>11}", "compile", "run", "run 95 %"));
    if (options.against_itself) add("noise", fmt::format("{:>11}", "run 95 %"));
  }
  add("memory of " + options.platform, memory);
  if (!options.against.empty()) add("memory of " + options.against, memory);
  return whose + "\n" + what + "  module\n";
}

Result<BenchReport> Measure(const std::string& file, debug::BenchRequest request,
                            const BenchRunOptions& options, const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  if (options.deadline_seconds) {
    request.options.budget.deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(*options.deadline_seconds));
  }
  request.options.budget.stop = stop;
  HLOSCOPE_ASSIGN_OR_RETURN(
      const dump::LoadedModule loaded,
      LoadAnySoundModule(file, request.options.limits, "", request.options.budget));
  request.options.load.module_file = file;
  if (!options.skip_callbacks) return debug::BenchRun(loaded.module, request, stop);
  HLOSCOPE_ASSIGN_OR_RETURN(const debug::WithoutCallbacks without,
                            debug::SkipCallbacks(loaded.module));
  HLOSCOPE_ASSIGN_OR_RETURN(BenchReport report, debug::BenchRun(without.module, request, stop));
  if (!without.skipped.empty()) report.warnings.push_back(debug::SkippedText(without.skipped));
  return report;
}

// Those of the environment, for the platforms that take them; the sentence about them.
std::string TakeFlags(const BenchRunOptions& options, replay::pjrt::XlaFlags& flags) {
  const replay::PlatformRow* const against = replay::FindPlatform(options.against);
  const bool takes_flags = against != nullptr && against->Has(replay::kXlaFlags);
  return XlaOptions::AddEnvironment(takes_flags ? options.against : options.platform, flags);
}

}  // namespace

int BenchRun(std::span<const std::string> files, const BenchRunOptions& options,
             const Context& context) {
  if (options.threads) {
    if (Status pinned = PinTo(*options.threads); !pinned) {
      return FailEach("module", files, pinned.error(), context);
    }
  }
  const CancelOnSignals cancel;
  debug::BenchRequest request;
  request.platform = options.platform;
  request.against = options.against;
  request.against_itself = options.against_itself;
  request.options.budget.threads = static_cast<int>(options.threads.value_or(0));
  request.seed = static_cast<uint64_t>(options.seed.value_or(0));
  if (options.fill_elided)
    request.options.load.fill_elided = static_cast<uint64_t>(*options.fill_elided);
  request.repeats = options.repeats.value_or(0);
  request.options.limits = context.limits;
  request.workers = WorkerOptions(context.limits);
  const std::string flags_note = TakeFlags(options, request.options.platform.xla_flags);
  bool is_first = true;
  int status = kGood;
  for (const std::string& file : files) {
    Result<BenchReport> report = Measure(file, request, options, cancel.token());
    if (report && !flags_note.empty())
      report->warnings.insert(report->warnings.begin(), flags_note);
    if (!report) {
      status = Worse(status, Fail({{"module", file}}, InFile(report.error(), file), context));
    } else {
      if (!context.json && is_first) PrintOut(Heading(options));
      is_first = false;
      context.json ? WriteOut(Json(file, options, *report)) : PrintOut(Text(file, *report));
    }
    FlushOut();
    if (cancel.token().stop_requested()) break;
  }
  return status;
}

}  // namespace hloscope::app
