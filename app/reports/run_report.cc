#include "app/reports/run_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "app/command.h"
#include "app/error_status.h"
#include "app/reports/instruction_report.h"
#include "app/reports/nonfinite_report.h"
#include "core/backends/libraries/library.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/debug/run/finding_text.h"
#include "core/hlo/index_text.h"
#include "core/hlo/text/value_text.h"
#include "core/replay/platform_table.h"

namespace hloscope::app {
namespace {

using debug::RunOutput;
using debug::RunReport;
using debug::RunStatus;
using debug::RunTiming;

void WriteTiming(JsonWriter& json, std::string_view key, const RunTiming& timing) {
  json.Key(key)
      .BeginObject()
      .Field("load_ms", timing.load_ms)
      .Field("compile_ms", timing.compile_ms);
  json.Key("run_us").BeginArray();
  for (double us : timing.run_us) json.Value(us);
  json.EndArray().Field("peak_bytes", timing.peak_bytes).EndObject();
}

// The bounds used, once for each element type among the results.
void WriteBounds(JsonWriter& json, const RunReport& report) {
  json.Key("bounds").BeginObject();
  std::set<std::string_view> written;
  for (const RunOutput& output : report.outputs) {
    std::string_view type = hlo::ToString(output.comparison.shape.element_type());
    if (!output.compared || !written.insert(type).second) continue;
    const debug::ErrorBounds& bounds = output.comparison.bounds;
    json.Key(type).BeginObject().Field("abs", bounds.absolute).Field("rel", bounds.relative);
    json.Field("ulp", bounds.ulp).EndObject();
  }
  json.EndObject();
}

// Members of the object of a choice.
void WriteWay(JsonWriter& json, const replay::AlgorithmRecord& way) {
  const auto time = [&](double us) {
    json.Key("time_us");
    us > 0 ? json.Value(us) : json.Null();
  };
  json.Field("way", way.way).Field("from", way.from);
  time(way.time_us);
  json.Key("tried").BeginArray();
  for (const replay::AlgorithmRecord::Tried& tried : way.tried) {
    json.BeginObject().Field("way", tried.way);
    time(tried.time_us);
    json.Field("refused", tried.refused).EndObject();
  }
  json.EndArray().Key("notes").BeginArray();
  for (const std::string& note : way.notes) json.Value(note);
  json.EndArray();
}

void WriteExecuted(JsonWriter& json, const replay::RunExecuted& executed) {
  json.BeginObject()
      .Field("kernels", executed.kernels)
      .Field("library_calls", executed.library_calls)
      .Field("copies", executed.copies)
      .Field("collectives", executed.collectives)
      .Field("evaluated", executed.evaluated)
      .Key("evaluated_ops")
      .BeginArray();
  for (const replay::RunExecuted::Evaluated& op : executed.evaluated_ops) {
    json.BeginObject()
        .Field("opcode", op.opcode)
        .Field("count", op.count)
        .Field("reason", op.reason)
        .EndObject();
  }
  json.EndArray();
  if (!executed.choices.empty()) {
    json.Key("libraries").BeginArray();
    for (const replay::RunExecuted::Choice& choice : executed.choices) {
      json.BeginObject().Field("opcode", choice.opcode).Field("library", choice.library);
      json.Field("count", choice.count).Field("reason", choice.reason);
      if (!choice.way.way.empty()) WriteWay(json, choice.way);
      json.EndObject();
    }
    json.EndArray();
  }
  if (const auto& placed = executed.placement; placed.devices > 0) {
    json.Key("placement").BeginObject().Field("devices", placed.devices);
    json.Field("gpus", placed.gpus).Field("gpus_there", placed.gpus_there).EndObject();
  }
  json.EndObject();
}

void WriteSide(JsonWriter& json, std::string_view key, const replay::RunFinding::Side& side) {
  json.Key(key).BeginObject().Field("file", side.file).Field("line", side.line);
  json.Field("column", side.column).Field("form", side.form);
  for (const auto& [name, at] :
       {std::pair("block", &side.block), std::pair("thread", &side.thread)}) {
    json.Key(name).BeginArray();
    for (const int64_t i : *at) json.Value(i);
    json.EndArray();
  }
  json.EndObject();
}

}  // namespace

void WriteChecks(JsonWriter& json, const std::vector<replay::RunFinding>& findings) {
  json.Key("checks").BeginArray();
  for (const replay::RunFinding& finding : findings) {
    json.BeginObject().Field("kind", finding.kind).Field("what", finding.what);
    json.Field("instruction", finding.instruction).Field("kernel", finding.kernel);
    if (finding.at) WriteSide(json, "at", *finding.at);
    if (finding.other) WriteSide(json, "other", *finding.other);
    if (!finding.memory.empty()) {
      json.Field("memory", finding.memory).Field("byte", finding.byte);
    }
    json.Field("count", finding.count).EndObject();
  }
  json.EndArray();
}

namespace {

void WriteRepeat(JsonWriter& json, const debug::RepeatReport& repeat) {
  json.Key("repeat").BeginObject().Field("runs", repeat.runs).Field("bits", repeat.same_bits);
  json.Key("differing_run");
  repeat.differing_run ? json.Value(*repeat.differing_run) : json.Null();
  if (repeat.difference) {
    json.Field("iteration", repeat.iteration).Key("difference").BeginObject();
    WriteLeafJson(json, *repeat.difference, true);
    json.EndObject();
  }
  json.EndObject();
}

std::string RepeatText(const debug::RepeatReport& repeat) {
  if (repeat.runs < 2) return {};  // there was nothing to compare
  if (!repeat.differing_run) {
    return FormatText("  {} on the same inputs {}{}\n", Counted(repeat.runs, "run"),
                      VerbFor(repeat.runs, "agrees", "agree"),
                      repeat.same_bits ? " bit for bit" : "");
  }
  return FormatText("  run {} of {} on the same inputs differs from the first:\n{}\n",
                    *repeat.differing_run + 1, repeat.runs,
                    OwnLines(LeafText(*repeat.difference, true)));
}

// Errors of like size decide nothing: that of the worse side must be this many times larger.
constexpr double kPreciseMargin = 4;

// True if `far` clearly has the larger error, and one larger than rounding allows.
bool IsFarther(const debug::PreciseDistance& far, const debug::PreciseDistance& near) {
  const auto is_so = [](double own, double other, double least) {
    return own >= kPreciseMargin * std::max(other, least);
  };
  if (far.class_mismatched != near.class_mismatched) {
    return far.class_mismatched > near.class_mismatched &&
           is_so(static_cast<double>(far.class_mismatched),
                 static_cast<double>(near.class_mismatched), 0);
  }
  constexpr double kRounding = 0.5;
  return is_so(far.max_ulp, near.max_ulp, kRounding);
}

// The sides that are clearly farther from the precise value than the nearest one is.
std::vector<std::string> FarSidesOf(const std::vector<debug::PreciseSide>& sides) {
  std::vector<std::string> far;
  if (sides.empty()) return far;
  const auto& nearest = *std::ranges::min_element(sides, {}, [](const debug::PreciseSide& side) {
    return std::pair(side.distance.class_mismatched, side.distance.max_ulp);
  });
  for (const debug::PreciseSide& side : sides) {
    if (IsFarther(side.distance, nearest.distance)) far.push_back(side.side);
  }
  return far;
}

// Which side is nearer to the precise value than all others; nothing where none clearly is, or
// several are as near as rounding allows.
std::string CloserOf(const std::vector<debug::PreciseSide>& sides) {
  const std::vector<std::string> far = FarSidesOf(sides);
  if (sides.size() < 2 || far.size() + 1 < sides.size()) return "";
  return std::ranges::find_if(sides,
                              [&](const debug::PreciseSide& side) {
                                return std::ranges::find(far, side.side) == far.end();
                              })
      ->side;
}

void WritePrecise(JsonWriter& json, const std::vector<debug::PreciseSide>& sides) {
  json.Key("precise").BeginObject().Key("sides").BeginArray();
  for (const debug::PreciseSide& side : sides) {
    json.BeginObject()
        .Field("side", side.side)
        .Field("max_ulp", side.distance.max_ulp)
        .Field("max_abs_error", side.distance.max_abs_error)
        .Field("nonfinite_mismatched", side.distance.class_mismatched)
        .Key("index")
        .BeginArray();
    for (int64_t i : side.distance.index) json.Value(i);
    json.EndArray().EndObject();
  }
  json.EndArray().Key("closer");
  const std::string closer = CloserOf(sides);
  if (closer.empty()) {
    json.Null();
  } else {
    json.Value(closer);
  }
  json.EndObject();
}

// Whole from 100 on, as where ULPs are counted.
std::string UlpText(double ulp) {
  return ulp >= 100 && ulp < 1e15 ? FormatText("{:.0f}", ulp) : FormatText("{:.3g}", ulp);
}

std::string PreciseText(const std::vector<debug::PreciseSide>& sides) {
  std::string text = "           distance from the precise value:";
  for (const debug::PreciseSide& side : sides) {
    text += FormatText(" {} {} ULP", side.side, UlpText(side.distance.max_ulp));
    if (!side.distance.index.empty()) text += " at " + hlo::ArrayIndexText(side.distance.index);
    if (side.distance.max_ulp > 0)
      text += FormatText(" ({}, precise {})", ShortestText(side.distance.value),
                         ShortestText(side.distance.precise));
    if (side.distance.class_mismatched != 0) {
      text += FormatText(" and {} NaN or infinite on one side", side.distance.class_mismatched);
    }
    text += ',';
  }
  text.back() = '\n';
  if (sides.size() < 2) return text;
  const std::string closer = CloserOf(sides);
  const auto& first = sides[0].distance;
  const bool is_even = std::ranges::all_of(sides, [&](const debug::PreciseSide& side) {
    return side.distance.max_ulp == first.max_ulp &&
           side.distance.class_mismatched == first.class_mismatched;
  });
  text.back() = ':';
  const std::vector<std::string> far = FarSidesOf(sides);
  return text + " " +
         (!closer.empty() ? closer + " is nearer"
          : is_even       ? "equally near"
          : far.empty()   ? "undecided"
                          : FormatText("{} {} far", fmt::format("{}", fmt::join(far, " and ")),
                                       VerbFor(far.size(), "is", "are"))) +
         "\n";
}

std::string HeadText(const std::string& file, const RunReport& report) {
  std::string out = FormatText("{}: module {} on {}", file, report.module, report.platform);
  if (!report.reference.empty()) out += FormatText(" against {}", report.reference);
  if (HasTwoComparisons(report)) out += " and the expected values";
  if (report.generated_inputs && report.iterations_ran > 1) {
    out += FormatText(", inputs generated from seeds {} to {}", report.seed,
                      report.seed + static_cast<uint64_t>(report.iterations_ran - 1));
  } else if (report.generated_inputs) {
    out += FormatText(", inputs generated from seed {}", report.seed);
  }
  if (report.against_recorded) out += ", compared with the recorded result";
  return out + '\n';
}

// The field `values`: the elements in row-major order, as HLO text has them; or, of a tuple,
// `elements`.
void WriteValues(JsonWriter& json, const hlo::Literal& value) {
  if (value.shape().IsTuple()) {
    json.Key("elements").BeginArray();
    for (const hlo::Literal& element : value.elements()) {
      json.BeginObject().Field("shape", hlo::ToString(element.shape(), false));
      WriteValues(json, element);
      json.EndObject();
    }
    json.EndArray();
    return;
  }
  if (!value.shape().IsArray()) return;
  const hlo::Literal live = value.Live();
  json.Key("values").BeginArray();
  std::string text;
  for (int64_t i = 0; i < live.shape().ElementCount().value_or(0); ++i) {
    text.clear();
    hlo::AppendElement(text, live, i);
    json.Value(text);
  }
  json.EndArray();
}

// "equal: loaded in 0.5 ms, compiled in 20.1 ms, ran in 0.03 ms (fastest of 5)".
std::string TimingText(const RunReport& report) {
  const std::vector<double>& runs = report.timing.run_us;
  std::string out =
      FormatText("{}: loaded in {:.1f} ms, compiled in {:.1f} ms", debug::StatusText(report),
                 report.timing.load_ms, report.timing.compile_ms);
  if (!runs.empty()) out += FormatText(", ran in {:.2f} ms", *std::ranges::min_element(runs) / 1e3);
  if (runs.size() > 1) out += FormatText(" (fastest of {})", runs.size());
  return out + '\n';
}

}  // namespace

std::string RunReportJson(const std::string& file, const RunReport& report, bool with_values) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("module", file).Field("platform", report.platform).Key("reference");
  report.reference.empty() ? json.Null() : json.Value(report.reference);
  json.Field("status", ToString(report.status));
  if (report.error) WriteErrorKind(json, ErrorKindOf(report.error->error_class));
  json.Field("seed", report.seed);
  json.Field("iterations", report.iterations_ran);
  if (report.against_recorded) json.Field("expected", "recorded");
  WriteBounds(json, report);
  if (with_values) {
    json.Key("inputs").BeginArray();
    for (const hlo::Literal& value : report.arguments) {
      json.BeginObject().Field("shape", hlo::ToString(value.shape(), false));
      WriteValues(json, value);
      json.EndObject();
    }
    json.EndArray();
  }
  json.Key("outputs").BeginArray();
  for (const RunOutput& output : report.outputs) {
    json.BeginObject();
    WriteLeafJson(json, output.comparison, output.compared);
    WriteOtherJson(json, output, report);
    if (with_values && !output.missing) WriteValues(json, output.value);
    if (output.iteration != 0) json.Field("iteration", output.iteration);
    if (!output.precise.empty()) WritePrecise(json, output.precise);
    if (output.missing) json.Field("error", output.missing->ToString());
    if (!output.not_compared.empty()) json.Field("not_compared", output.not_compared);
    json.EndObject();
  }
  json.EndArray();
  WriteTiming(json, "timing", report.timing);
  if (report.reference_timing) WriteTiming(json, "reference_timing", *report.reference_timing);
  if (report.repeat) WriteRepeat(json, *report.repeat);
  json.Key("first_divergent");
  if (report.first_divergent) {
    WriteDivergentJson(json, *report.first_divergent);
  } else {
    json.Null();
  }
  json.Key("first_nonfinite");
  if (report.first_nonfinite) {
    WriteNonFiniteJson(json, *report.first_nonfinite);
  } else {
    json.Null();
  }
  if (!report.xla_flags.empty()) {
    json.Key("xla_flags").BeginObject();
    for (const auto& [name, value] : report.xla_flags) json.Field(name, value);
    json.EndObject();
  }
  json.Key("warnings").BeginArray();
  for (const std::string& warning : report.warnings) json.Value(warning);
  json.EndArray().Key("fallbacks").BeginArray();
  for (const replay::RunFallback& fallback : report.fallbacks) {
    json.BeginObject()
        .Field("instruction", fallback.instruction)
        .Field("opcode", fallback.opcode)
        .Field("reason", fallback.reason)
        .Field("detail", fallback.detail)
        .Field("bytes_moved", fallback.bytes_moved)
        .Field("time_us", fallback.time_us)
        .EndObject();
  }
  json.EndArray();
  WriteChecks(json, report.checks);
  json.Key("executed");
  if (report.executed) {
    WriteExecuted(json, *report.executed);
  } else {
    json.Null();
  }
  json.Key("error");
  report.error ? json.Value(report.error->ToString()) : json.Null();
  json.EndObject();
  return out + "\n";
}

// Host fallbacks of a platform on a device are listed one by one, with what they moved.
bool ListsEachHostFallback(const RunReport& report) {
  const replay::PlatformRow* const row = replay::FindPlatform(report.platform);
  return row != nullptr && row->Has(replay::kNeedsDriver);
}

// "  executed: 12 kernels, 3 library calls, 2 copies; the evaluator ran 2 instructions (sort 2)".
std::string ExecutedText(const replay::RunExecuted& executed, bool tells_each) {
  std::string out = FormatText("  executed: {}, {}", Counted(executed.kernels, "kernel"),
                               Counted(executed.library_calls, "library call"));
  if (executed.copies > 0) out += ", " + Counted(executed.copies, "copy", "copies");
  if (executed.collectives > 0) out += ", " + Counted(executed.collectives, "collective");
  if (executed.evaluated == 0 || tells_each) return out + "\n";
  std::vector<std::string> ops;
  for (const replay::RunExecuted::Evaluated& op : executed.evaluated_ops) {
    ops.push_back(FormatText("{} {}: {}", op.count, op.opcode, op.reason));
  }
  return out + FormatText("; the evaluator ran {} ({})\n",
                          Counted(executed.evaluated, "instruction"), Join(ops, ", "));
}

// "  4 devices on 2 GPUs, of 2 there: device N on GPU N mod 2, those on one share it".
std::string PlacementText(const replay::RunExecuted::Placement& placed) {
  if (placed.devices == 0) return {};
  std::string out = FormatText("  {} on {}, of {} there", Counted(placed.devices, "device"),
                               Counted(placed.gpus, "GPU"), placed.gpus_there);
  if (placed.gpus == placed.devices) return out + ": one each\n";
  if (placed.gpus == 1) return out + ": they share it\n";
  return out + FormatText(": device N on GPU N mod {}, those on one share it\n", placed.gpus);
}

// ", candidate 2 (…), 12.3 us (cache)", and lines after it: what was tried, and what was not taken.
std::string WayText(const replay::AlgorithmRecord& way) {
  std::string out;
  if (way.time_us > 0) {
    out = FormatText(", {}, {:.1f} us ({})\n", way.way, way.time_us, way.from);
  } else {
    out = way.from.empty() ? "\n" : FormatText(", {} ({})\n", way.way, way.from);
  }
  for (const replay::AlgorithmRecord::Tried& tried : way.tried) {
    out += tried.refused.empty() ? FormatText("    {}: {:.1f} us\n", tried.way, tried.time_us)
                                 : FormatText("    {}: {}\n", tried.way, tried.refused);
  }
  for (const std::string& note : way.notes) out += FormatText("    {}\n", note);
  return out;
}

// "  by cuBLASLt 13.0.2: 3 dot", "  by our own kernels: 1 fft, cuFFT: no library: …".
std::string ChoicesText(const RunReport& report) {
  std::string out;
  for (const replay::RunExecuted::Choice& choice : report.executed->choices) {
    const bool is_own = !choice.reason.empty();
    const auto* const row = replay::libraries::FindRow(choice.library);
    std::string_view by = is_own && row != nullptr ? row->own : choice.library;
    if (std::ranges::any_of(report.fallbacks, [&](const replay::RunFallback& it) {
          return is_own && it.opcode == choice.opcode && it.detail == choice.reason;
        })) {
      by = "the host";
    }
    out += FormatText("  by {}: {} {}{}{}", by, choice.count, choice.opcode, is_own ? ", " : "",
                      choice.reason);
    out += WayText(choice.way);
  }
  return out;
}

// "  on the host: c (custom-call): custom call that the platform does not implement; 64 B
// moved, 12.3 us: …".
std::string FallbacksText(const RunReport& report) {
  constexpr size_t kMax = 20;
  std::string out;
  size_t told = 0;
  for (const replay::RunFallback& it : report.fallbacks) {
    if (report.executed && !ListsEachHostFallback(report)) break;  // counts them by opcode
    if (++told > kMax) continue;
    out += FormatText("  on the host: {} ({}): {}; {} B moved, {:.1f} us{}{}\n", it.instruction,
                      it.opcode, it.reason, it.bytes_moved, it.time_us,
                      it.detail.empty() ? "" : ": ", it.detail);
  }
  if (told > kMax) out += FormatText("  and {} more on the host\n", told - kMax);
  return out;
}

std::string RunReportText(const std::string& file, const RunReport& report) {
  std::string out;
  const bool ran = !report.error || !report.outputs.empty();
  if (ran) out = HeadText(file, report);
  for (const RunOutput& output : report.outputs) {
    out += output.missing
               ? FormatText("  {:<8} no value: {}", hlo::ShapeIndexText(output.comparison.index),
                            output.missing->ToString())
               : LeafText(output.comparison, output.compared, output.not_compared);
    out += '\n';
    out += OtherText(output, report);
    if (!output.precise.empty()) out += PreciseText(output.precise);
  }
  if (report.first_divergent) {
    out += FormatText("  first instruction that differs: {}", report.first_divergent->instruction);
    if (!report.first_divergent->together_with.empty()) {
      out += FormatText(", together with {}", Join(report.first_divergent->together_with, ", "));
    }
    out += "\n";
  }
  if (report.repeat) out += RepeatText(*report.repeat);
  if (report.first_nonfinite) out += NonFiniteText(*report.first_nonfinite);
  if (report.found_no_nonfinite) {
    out +=
        FormatText("  {}\n", NoNonFiniteText(*report.found_no_nonfinite, !report.arrivals.empty()));
  }
  for (const replay::RunFinding& finding : report.checks) out += debug::FindingText(finding, "  ");
  for (const std::string& warning : report.warnings) out += FormatText("  warning: {}\n", warning);
  if (ran && report.executed) {
    out += ExecutedText(*report.executed, ListsEachHostFallback(report)) +
           PlacementText(report.executed->placement) + ChoicesText(report);
  }
  if (ran) out += FallbacksText(report);
  return ran ? out + TimingText(report) : out;
}

std::optional<Error> RunReportError(const std::string& file, const RunReport& report) {
  std::optional<Error> error = report.error;
  if (error && error->place.file.empty()) error->place.file = file;
  return error;
}

int ExitStatusOf(RunStatus status) {
  switch (status) {
    case RunStatus::kEqual:
    case RunStatus::kRan:
      return kGood;
    case RunStatus::kDiffers:
      return kDiffers;
    case RunStatus::kUnsupported:
      return kUnsupported;
    case RunStatus::kDied:
      return kDied;
    case RunStatus::kError:
      return kBadInput;
  }
  return kBadInput;
}

int ExitStatusOf(const RunReport& report) {
  const int status = ExitStatusOf(report.status);
  return status == kGood && !report.checks.empty() ? kDiffers : status;
}

}  // namespace hloscope::app
