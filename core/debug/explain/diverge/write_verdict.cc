// Verdicts as JSON.
#include "core/debug/explain/diverge/write_verdict.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/debug/compare/leaf_json.h"

namespace hloscope::debug {
namespace {

void OptionalField(JsonWriter& json, std::string_view key, const std::string& text) {
  json.Key(key);
  text.empty() ? json.Null() : json.Value(text);
}

void WriteTexts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.Key(key).BeginArray();
  for (const std::string& text : texts) json.Value(text);
  json.EndArray();
}

void WritePlace(JsonWriter& json, const std::optional<DivergePlace>& place) {
  OptionalField(json, "instruction", place ? place->instruction : "");
  OptionalField(json, "computation", place ? place->computation : "");
  if (place && !place->calls.empty()) json.Field("calls", place->calls);
  if (place && !place->opcode.empty()) json.Field("opcode", place->opcode);
}

void WriteEdit(JsonWriter& json, const InstructionEdit& edit) {
  if (edit.what.empty() && edit.before.empty() && edit.after.empty()) return;
  json.Key("edit").BeginObject().Field("what", edit.what);
  OptionalField(json, "before", edit.before);
  OptionalField(json, "after", edit.after);
  json.Field("diff", edit.diff).EndObject();
}

void WriteBlame(JsonWriter& json, const PassBlame& blame) {
  json.BeginObject().Field("pass", blame.pass).Field("pipeline", blame.pipeline);
  json.Field("file_before", blame.file_before).Field("file_after", blame.file_after);
  json.Field("restores", blame.restores).Field("within_bounds", blame.within_bounds);
  WritePlace(json, blame.place);
  WriteEdit(json, blame.edit);
  json.Key("worst").BeginObject();
  WriteLeafJson(json, blame.worst, true);
  json.EndObject().EndObject();
}

void WriteTries(JsonWriter& json, const std::vector<DivergeTry>& tries) {
  json.Key("tries").BeginArray();
  for (const DivergeTry& attempt : tries) {
    json.BeginObject().Field("what", attempt.what).Key("closes");
    attempt.closes ? json.Value(*attempt.closes) : json.Null();
    json.Field("detail", attempt.detail).Field("compares", attempt.is_comparison).EndObject();
  }
  json.EndArray();
}

// Of one reason what the verdict says.
void WriteFindings(JsonWriter& json, const DivergeVerdict& verdict) {
  std::vector<DivergeFinding> findings = verdict.findings;
  const bool is_place = verdict.status == RunStatus::kDiffers && verdict.place;
  if (findings.empty() && (!verdict.passes.empty() || verdict.cause || is_place)) {
    findings.push_back(OnlyFinding(verdict));
  }
  json.Key("findings").BeginArray();
  for (const DivergeFinding& finding : findings) {
    json.BeginObject();
    OptionalField(json, "pass", finding.pass);
    OptionalField(json, "cause", finding.cause ? std::string(KeyOf(*finding.cause)) : "");
    WritePlace(json, finding.place);
    WriteEdit(json, finding.edit);
    OptionalField(json, "kernel", finding.kernel);
    WriteTexts(json, "cured_by", finding.cured_by);
    json.Key("left");
    finding.mismatched < 0 ? json.Null() : json.Value(finding.mismatched);
    json.Key("results").BeginArray();
    for (const int64_t result : finding.results) json.Value(result);
    json.EndArray().Key("confirmed");
    finding.confirmed ? json.Value(*finding.confirmed) : json.Null();
    const bool is_first = &finding == &findings.front();
    WriteTries(json, is_first ? verdict.tries : finding.tries);
    OptionalField(json, "not_tried", finding.not_tried);
    json.EndObject();
  }
  json.EndArray();
}

void WriteErrors(JsonWriter& json, const DivergeVerdict& verdict) {
  WriteTexts(json, "warnings", verdict.warnings);
  json.Key("errors").BeginArray();
  for (const Error& error : verdict.errors) json.Value(error.ToString());
  json.EndArray();
  if (!verdict.errors.empty()) json.Field("error", verdict.errors.front().ToString());
}

std::string_view ErrorKindOfVerdict(const DivergeVerdict& verdict) {
  const auto error = std::ranges::find_if(
      verdict.errors, [](const Error& each) { return IsExecutionFailure(each.error_class); });
  return ErrorKindOf(error == verdict.errors.end() ? ErrorClass::kCrashed : error->error_class);
}

void WriteFiles(JsonWriter& json, const std::vector<std::string>& files) {
  if (!files.empty()) json.Field("module", files[0]);
  if (files.size() > 1) json.Field("against", files[1]);
}

void WriteDistance(JsonWriter& json, std::string_view key,
                   const std::optional<PreciseDistance>& distance) {
  json.Key(key);
  if (!distance) return json.Null(), void();
  json.BeginObject().Field("max_ulp", distance->max_ulp);
  json.Field("max_abs_error", distance->max_abs_error);
  json.Field("class_mismatched", distance->class_mismatched).EndObject();
}

void WritePoint(JsonWriter& json, const WalkPoint& point) {
  json.BeginObject().Field("instruction", point.instruction);
  json.Field("computation", point.computation).Field("opcode", point.opcode);
  json.Field("executions", point.executions).Field("differing", point.differing);
  json.Field("diverging", point.diverging).Field("max_abs_error", point.max_abs_error);
  json.Field("max_rel_error", point.max_rel_error);
  json.Field("max_ulp", static_cast<int64_t>(point.max_ulp));
  if (!point.worst_calls.empty()) json.Field("calls", point.worst_calls);
  json.EndObject();
}

void WriteWalkJson(JsonWriter& json, const ValueWalk& walk) {
  json.BeginObject().Field("boundaries", walk.boundaries).Field("compared", walk.compared);
  json.Field("one_at_a_time", walk.one_at_a_time).Key("same_bits");
  walk.one_at_a_time ? json.Null() : json.Value(walk.same_bits);
  json.Field("diverging", walk.diverging);
  json.Field("untold", walk.untold).Field("left_out", walk.left_out);
  json.Field("too_large", walk.too_large);
  json.Key("capture_keeps_bits");
  walk.capture_keeps_bits ? json.Value(*walk.capture_keeps_bits) : json.Null();
  json.Field("bits", walk.bits).Field("passes_differ", walk.passes_differ);
  WriteDistance(json, "platform_distance", walk.platform_distance);
  WriteDistance(json, "reference_distance", walk.reference_distance);
  json.Key("inner");
  if (walk.inner) {
    json.BeginObject().Field("instruction", walk.inner->instruction);
    json.Field("opcode", walk.inner->opcode);
    WriteLeafJson(json, walk.inner->comparison, true);
    json.EndObject();
  } else {
    json.Null();
  }
  json.Key("reached").BeginArray();
  for (const int64_t result : walk.reached) json.Value(result);
  json.EndArray().Key("curve").BeginArray();
  for (const WalkPoint& point : walk.curve) WritePoint(json, point);
  json.EndArray().Field("plain_ms", walk.plain_ms).Field("capture_ms", walk.capture_ms);
  json.EndObject();
}

void WriteTriple(JsonWriter& json, std::string_view key, const std::array<uint32_t, 3>& values) {
  json.Key(key).BeginArray();
  for (const uint32_t value : values) json.Value(value);
  json.EndArray();
}

void WriteFinding(JsonWriter& json, const KernelFinding& finding) {
  json.BeginObject();
  json.Field("same_bits", finding.same_bits).Field("within_bounds", finding.within_bounds);
  json.Field("differing", finding.differing);
  if (!finding.kernel.empty()) {
    json.Field("kernel", finding.kernel).Field("file", finding.file);
    json.Field("source", finding.source).Field("result", finding.result).Key("index").BeginArray();
    for (const int64_t i : finding.index) json.Value(i);
    json.EndArray().Field("value", finding.value).Field("expected", finding.expected);
    WriteTriple(json, "block", finding.block);
    WriteTriple(json, "thread", finding.thread);
    json.Field("line", finding.line).Field("stores", finding.stores);
    json.Key("patterns").BeginArray();
    for (const std::string& pattern : finding.patterns) json.Value(pattern);
    json.EndArray().Key("look_first").BeginArray();
    for (const LookFirst& first : finding.look_first) {
      json.BeginObject().Field("line", first.line).Field("text", first.text);
      json.Field("file", first.file).Field("kernel", first.kernel);
      json.Field("why", first.why).EndObject();
    }
    json.EndArray();
    json.Field("slice_complete", finding.slice_complete);
    json.Field("slice_shortened", finding.slice_shortened).Key("slice").BeginArray();
    for (const KernelLine& line : finding.slice) {
      json.BeginObject().Field("thread", line.thread).Field("line", line.line);
      json.Field("text", line.text).Field("values", line.values);
      if (!line.kernel.empty()) json.Field("kernel", line.kernel);
      OptionalField(json, "instruction", line.instruction);
      json.Field("same_bits", line.same_bits).Field("control", line.control);
      json.Field("rank", line.rank).EndObject();
    }
    json.EndArray().Field("twin_agrees", finding.reference_agrees);
    json.Field("twin_checked", finding.reference_checked);
    OptionalField(json, "twin_difference", finding.reference_difference);
    json.Key("checks").BeginArray();
    for (const replay::RunFinding& found : finding.checks) {
      json.BeginObject().Field("kind", found.kind).Field("what", found.what);
      json.Field("line", found.at ? found.at->line : 0);
      json.Field("other_line", found.other ? found.other->line : 0);
      json.Field("memory", found.memory).Field("count", found.count).EndObject();
    }
    json.EndArray();
  }
  json.EndObject();
}

}  // namespace

std::string VerdictJson(const std::vector<std::string>& files, const DivergeVerdict& verdict) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject();
  WriteFiles(json, files);
  json.Field("platform", verdict.platform).Field("reference", verdict.reference);
  json.Field("status", ToString(verdict.status));
  if (verdict.status == RunStatus::kDied) json.Field("error_kind", ErrorKindOfVerdict(verdict));
  json.Field("seed", verdict.seed).Field("inputs_generated", verdict.inputs_generated);
  const PassBlame* const blame = verdict.passes.empty() ? nullptr : &verdict.passes.front();
  OptionalField(json, "pass", blame ? blame->pass : "");
  OptionalField(json, "pipeline", blame ? blame->pipeline : "");
  OptionalField(json, "file_before", blame ? blame->file_before : "");
  OptionalField(json, "file_after", blame ? blame->file_after : "");
  WritePlace(json, verdict.place);
  OptionalField(json, "cause", verdict.cause ? std::string(KeyOf(*verdict.cause)) : "");
  WriteTexts(json, "cured_by", verdict.cured_by);
  json.Key("confirmed");
  verdict.confirmed ? json.Value(*verdict.confirmed) : json.Null();
  OptionalField(json, "kernel", verdict.kernel);
  json.Key("ptx_line");
  verdict.ptx_line ? json.Value(*verdict.ptx_line) : json.Null();
  WriteTries(json, verdict.tries);
  WriteFindings(json, verdict);
  OptionalField(json, "first_bad", verdict.first_bad);
  WriteEdit(json, verdict.edit);
  json.Key("passes").BeginArray();
  for (const PassBlame& each : verdict.passes) WriteBlame(json, each);
  json.EndArray().Field("stages", verdict.stages).Field("evaluated", verdict.evaluated);
  json.Field("to_compare", verdict.to_compare).Field("compared", verdict.compared);
  WriteTexts(json, "stepped_over", verdict.stepped_over);
  if (verdict.operations) {
    json.Key("operations").BeginObject().Field("changed", verdict.operations->changed);
    json.Field("removed", verdict.operations->removed).Field("added", verdict.operations->added);
    WriteTexts(json, "differences", verdict.operations->texts);
    json.EndObject();
  }
  if (verdict.walk) WriteWalkJson(json.Key("walk"), *verdict.walk);
  if (verdict.finding) WriteFinding(json.Key("kernels"), *verdict.finding);
  if (verdict.worst) {
    json.Key("worst").BeginObject();
    WriteLeafJson(json, *verdict.worst, true);
    json.EndObject();
  }
  WriteErrors(json, verdict);
  json.Field("verdict", verdict.sentence).EndObject();
  return out + "\n";
}

}  // namespace hloscope::debug
