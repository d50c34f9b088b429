// `info --compile-time`: where the time of compilations went, and what grew the program.
#include <fmt/format.h>

#include <algorithm>

#include "app/commands/info_lineage.h"
#include "app/dump_place.h"
#include "app/reports/dump_report.h"
#include "core/analysis/compilation/compile_time.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/jobs.h"
#include "core/base/json.h"
#include "core/debug/recompile/compilation_trace.h"
#include "core/dump/container.h"
#include "profiler/profile.h"

namespace hloscope::app {
namespace {

using analysis::CompileTime;
using analysis::ModuleCompileTime;
using analysis::PassTime;
using Us = std::optional<int64_t>;

constexpr size_t kMaxPasses = 10, kMaxModules = 20;  // in the text

std::string Text(const Us& us) {
  if (!us) return "?";
  if (*us >= 10'000'000) return FormatText("{:.1f} s", static_cast<double>(*us) / 1e6);
  return FormatText("{:.1f} ms", static_cast<double>(*us) / 1e3);
}

// What is left of the total: the time between passes, and what no source names. Times are rounded
// line by line, so the parts may seem longer than the whole.
Us RestOf(const ModuleCompileTime& time) {
  if (!time.total_us) return std::nullopt;
  const int64_t parts =
      time.passes_us.value_or(0) + time.autotuner_us.value_or(0) + time.backend_us.value_or(0);
  return std::max<int64_t>(*time.total_us - parts, 0);
}

// The sum over all modules; absent where no module has it.
Us Sum(const CompileTime& times, Us ModuleCompileTime::* field) {
  Us sum;
  for (const ModuleCompileTime& time : times.modules) {
    if (time.*field) sum = sum.value_or(0) + *(time.*field);
  }
  return sum;
}

std::string Row(std::string_view name, const ModuleCompileTime& time) {
  std::string out = FormatText("  {:<40} {:>10} {:>10} {:>10} {:>10} {:>10}", name,
                               Text(time.total_us), Text(time.passes_us), Text(time.autotuner_us),
                               Text(time.backend_us), Text(RestOf(time)));
  if (time.instructions_before && time.instructions_after)
    out += FormatText("  {} → {}", *time.instructions_before, *time.instructions_after);
  return out + "\n";
}

std::string PassLine(const PassTime& pass) {
  std::string out = FormatText("    {:<40} {:>10}  {:<9} {}", pass.pass, Text(pass.self_us),
                               Counted(pass.runs, "run"), pass.pipeline);
  if (pass.is_autotuner) out += " (autotuner)";
  if (pass.instructions_before && pass.instructions_before != pass.instructions_after)
    out +=
        FormatText("; instructions {} → {}", *pass.instructions_before, *pass.instructions_after);
  if (pass.folded_bytes)
    out += FormatText("; computed operations on {} of constants", BytesText(*pass.folded_bytes));
  if (!pass.source.empty()) out += FormatText(", most at {}", pass.source);
  return out + "\n";
}

std::string ModuleText(const ModuleCompileTime& time) {
  std::string out =
      FormatText("{}{}\n", time.name, time.measured_by.empty() ? "" : ", by " + time.measured_by);
  const auto grows = [](const PassTime& pass) {
    return pass.folded_bytes ||
           (pass.instructions_before && *pass.instructions_after > *pass.instructions_before);
  };
  size_t shown = 0, left = 0;
  for (const PassTime& pass : time.passes) {
    if (pass.self_us.value_or(0) <= 0 && !grows(pass)) continue;
    if (++shown > kMaxPasses && pass.source.empty()) {
      ++left;
      continue;
    }
    out += PassLine(pass);
  }
  if (left != 0)
    out += FormatText("    … {} (--json lists all)\n", Counted(left, "more pass", "more passes"));
  if (time.llvm_us || time.mlir_us)
    out += FormatText("    LLVM {}, MLIR {}\n", Text(time.llvm_us), Text(time.mlir_us));
  if (time.assembler_us) out += FormatText("    ptxas {}\n", Text(time.assembler_us));
  for (const analysis::SourceGrowth& line : time.largest)
    out += FormatText("    {}: {} in the module as it was given\n", line.source,
                      Counted(line.before, "instruction"));
  for (const analysis::SourceGrowth& line : time.growth)
    out += FormatText("    {}: {} → {}\n", line.source, Counted(line.before, "instruction"),
                      line.after);
  for (const std::string& note : time.notes) out += FormatText("    note: {}\n", note);
  return out;
}

std::string TextOf(const CompileTime& times) {
  std::string out = FormatText("  {:<40} {:>10} {:>10} {:>10} {:>10} {:>10}  instructions\n",
                               "module", "total", "passes", "autotuner", "backend", "rest");
  ModuleCompileTime all;
  for (const auto field : {&ModuleCompileTime::total_us, &ModuleCompileTime::passes_us,
                           &ModuleCompileTime::autotuner_us, &ModuleCompileTime::backend_us})
    all.*field = Sum(times, field);
  const size_t shown = std::min(times.modules.size(), kMaxModules);
  for (size_t k = 0; k < shown; ++k) out += Row(times.modules[k].name, times.modules[k]);
  if (shown < times.modules.size())
    out += FormatText("  … {} (--json lists all)\n",
                      Counted(times.modules.size() - shown, "more module"));
  if (times.modules.size() > 1) out += Row("all", all);
  for (size_t k = 0; k < shown; ++k) out += ModuleText(times.modules[k]);
  for (const dump::MissingPiece& piece : times.missing)
    out += FormatText("  {}\n", piece.ToString());
  for (const std::string& warning : times.warnings) out += FormatText("  warning: {}\n", warning);
  return out;
}

void Ms(JsonWriter& json, std::string_view key, const Us& us) {
  json.Key(key);
  us ? json.Value(static_cast<double>(*us) / 1e3) : json.Null();
}
void Number(JsonWriter& json, std::string_view key, const Us& number) {
  json.Key(key);
  number ? json.Value(*number) : json.Null();
}
void TextOrNull(JsonWriter& json, std::string_view key, const std::string& text) {
  json.Key(key);
  text.empty() ? json.Null() : json.Value(text);
}

void WriteLines(JsonWriter& json, std::string_view key,
                const std::vector<analysis::SourceGrowth>& lines) {
  json.Key(key).BeginArray();
  for (const analysis::SourceGrowth& line : lines) {
    json.BeginObject().Field("source", line.source).Field("before", line.before);
    json.Field("after", line.after).EndObject();
  }
  json.EndArray();
}

void WriteModule(JsonWriter& json, const ModuleCompileTime& time) {
  json.BeginObject().Field("module", time.name);
  TextOrNull(json, "measured_by", time.measured_by);
  Ms(json, "total_ms", time.total_us);
  Ms(json, "passes_ms", time.passes_us);
  Ms(json, "autotuner_ms", time.autotuner_us);
  Ms(json, "backend_ms", time.backend_us);
  Ms(json, "llvm_ms", time.llvm_us);
  Ms(json, "mlir_ms", time.mlir_us);
  Ms(json, "assembler_ms", time.assembler_us);
  Ms(json, "rest_ms", RestOf(time));
  Ms(json, "span_ms", time.span_us);
  Ms(json, "between_ms", time.between_us);
  Number(json, "instructions_before", time.instructions_before);
  Number(json, "instructions_after", time.instructions_after);
  json.Key("slowest").BeginArray();
  for (const PassTime& pass : time.passes) {
    json.BeginObject().Field("pass", pass.pass).Field("pipeline", pass.pipeline);
    json.Field("runs", pass.runs);
    Ms(json, "ms", pass.self_us);
    Number(json, "instructions_before", pass.instructions_before);
    Number(json, "instructions_after", pass.instructions_after);
    Number(json, "folded_bytes", pass.folded_bytes);
    TextOrNull(json, "source", pass.source);
    json.Field("autotuner", pass.is_autotuner).EndObject();
  }
  json.EndArray();
  WriteLines(json, "growth", time.growth);
  WriteLines(json, "largest_lines", time.largest);
  json.Key("notes").BeginArray();
  for (const std::string& note : time.notes) json.Value(note);
  json.EndArray().EndObject();
}

std::string JsonOf(const std::string& path, const CompileTime& times) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("file", path);
  Ms(json, "total_ms", Sum(times, &ModuleCompileTime::total_us));
  Ms(json, "passes_ms", Sum(times, &ModuleCompileTime::passes_us));
  Ms(json, "autotuner_ms", Sum(times, &ModuleCompileTime::autotuner_us));
  Ms(json, "backend_ms", Sum(times, &ModuleCompileTime::backend_us));
  json.Key("modules").BeginArray();
  for (const ModuleCompileTime& time : times.modules) WriteModule(json, time);
  json.EndArray().Key("missing").BeginArray();
  for (const dump::MissingPiece& piece : times.missing)
    json.BeginObject()
        .Field("what", piece.what)
        .Field("why", piece.why)
        .Field("flag", piece.flag)
        .EndObject();
  json.EndArray().Key("warnings").BeginArray();
  for (const std::string& warning : times.warnings) json.Value(warning);
  json.EndArray().EndObject();
  return out + "\n";
}

// A log, or a trace that was taken of a compilation.
Result<CompileTime> TimesOfFile(const FileView& file, const std::string& path,
                                const Context& context) {
  if (!profiler::IsTrace(file.bytes())) return analysis::CompileTimeOfLog(file.bytes(), path);
  Jobs jobs(context.jobs > 0 ? static_cast<int>(context.jobs) : AvailableCpus());
  HLOSCOPE_ASSIGN_OR_RETURN(const auto profile, profiler::ReadProfile(file, context.limits, jobs));
  CompileTime times =
      analysis::CompileTimeOfRuns(debug::CompilationsOf(*profile->store), "events of " + path);
  for (const profiler::Loss& loss : profile->losses)
    times.warnings.push_back(
        fmt::format("{}: {}: {}, first {}", path, loss.what, loss.count, loss.first));
  return times;
}

}  // namespace

Result<std::string> CompileTimeText(const std::string& path, const std::string& module,
                                    const Context& context) {
  CompileTime times;
  if (dump::IsFolder(path)) {
    dump::OpenOptions options;
    options.jobs = static_cast<int>(context.jobs);
    options.count_stages = true;
    HLOSCOPE_ASSIGN_OR_RETURN(auto model, dump::DumpModel::Open(path, context.limits, options));
    int32_t only = -1;
    if (!module.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(only, FindModule(*model, module));
    }
    times = analysis::CompileTimeOf(*model, only);
  } else {
    HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path, context.limits));
    HLOSCOPE_ASSIGN_OR_RETURN(times, TimesOfFile(file, path, context));
    if (times.modules.empty())
      return InputError(path +
                            ": no times of a compilation: expected a dump directory, a log with "
                            "timer lines or a trace of a compilation",
                        analysis::TimerVariablesText() +
                            " makes XLA log them; so does `hloscope compile --timers`");
  }
  return context.json ? JsonOf(path, times) : TextOf(times);
}

}  // namespace hloscope::app
