#include "core/debug/explain/diverge/read_verdict.h"

#include <array>
#include <concepts>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/base/parse_json.h"

namespace hloscope::debug {
namespace {

using Json = nlohmann::json;

// What is of another type than it should be counts as not there.
const Json* Find(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

void Take(const Json& json, const char* key, std::string& to) {
  const Json* value = Find(json, key);
  if (value != nullptr && value->is_string()) to = value->get<std::string>();
}

void Take(const Json& json, const char* key, bool& to) {
  const Json* value = Find(json, key);
  if (value != nullptr && value->is_boolean()) to = value->get<bool>();
}

template <std::integral T>
void Take(const Json& json, const char* key, T& to) {
  const Json* value = Find(json, key);
  if (value != nullptr && value->is_number_integer()) to = value->get<T>();
}

// Infinities and NaN are the strings "inf", "-inf" and "nan".
void Take(const Json& json, const char* key, double& to) {
  const Json* value = Find(json, key);
  if (value == nullptr) return;
  if (value->is_number()) to = value->get<double>();
  if (value->is_string()) to = std::strtod(value->get<std::string>().c_str(), nullptr);
}

void Take(const Json& json, const char* key, std::vector<std::string>& to) {
  const Json* value = Find(json, key);
  if (value == nullptr || !value->is_array()) return;
  for (const Json& each : *value) {
    if (each.is_string()) to.push_back(each.get<std::string>());
  }
}

void Take(const Json& json, const char* key, std::vector<int64_t>& to) {
  const Json* value = Find(json, key);
  if (value == nullptr || !value->is_array()) return;
  for (const Json& each : *value) {
    if (each.is_number_integer()) to.push_back(each.get<int64_t>());
  }
}

template <typename T>
void Take(const Json& json, const char* key, std::optional<T>& to) {
  if (Find(json, key) == nullptr) return;
  T value{};
  Take(json, key, value);
  to = value;
}

std::optional<RunStatus> StatusOf(std::string_view name) {
  using enum RunStatus;
  for (const RunStatus status : {kEqual, kDiffers, kRan, kUnsupported, kError, kDied}) {
    if (ToString(status) == name) return status;
  }
  return std::nullopt;
}

std::optional<Cause> CauseOf(std::string_view key) {
  constexpr std::array kAll = {
#define CAUSE(name, key, text) Cause::name,
#include "core/debug/explain/diverge/causes.def"
#undef CAUSE
  };
  for (const Cause cause : kAll) {
    if (KeyOf(cause) == key) return cause;
  }
  return std::nullopt;
}

const Json& Part(const Json& json, const char* key) {
  static const Json kNothing = Json::object();
  const auto found = json.find(key);
  return found != json.end() && found->is_object() ? *found : kNothing;
}

std::vector<Json> List(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_array()) return {};
  return {found->begin(), found->end()};
}

std::optional<DivergePlace> PlaceOf(const Json& json) {
  DivergePlace place;
  Take(json, "instruction", place.instruction);
  Take(json, "computation", place.computation);
  Take(json, "calls", place.calls);
  Take(json, "opcode", place.opcode);
  if (place.instruction.empty()) return std::nullopt;
  return place;
}

InstructionEdit EditOf(const Json& json) {
  const Json& part = Part(json, "edit");
  InstructionEdit edit;
  Take(part, "what", edit.what);
  Take(part, "before", edit.before);
  Take(part, "after", edit.after);
  Take(part, "diff", edit.diff);
  return edit;
}

LeafComparison ComparisonOf(const Json& part) {
  LeafComparison worst;
  Take(part, "elements", worst.elements);
  Take(part, "mismatched", worst.mismatched);
  Take(part, "max_abs_error", worst.max_abs_error);
  Take(part, "max_rel_error", worst.max_rel_error);
  Take(part, "max_ulp", worst.max_ulp);
  Take(part, "nan_mismatched", worst.nan_mismatched);
  return worst;
}

PassBlame BlameOf(const Json& json) {
  PassBlame blame;
  Take(json, "pass", blame.pass);
  Take(json, "pipeline", blame.pipeline);
  Take(json, "file_before", blame.file_before);
  Take(json, "file_after", blame.file_after);
  Take(json, "restores", blame.restores);
  Take(json, "within_bounds", blame.within_bounds);
  blame.place = PlaceOf(json);
  blame.edit = EditOf(json);
  blame.worst = ComparisonOf(Part(json, "worst"));
  return blame;
}

DivergeTry TryOf(const Json& json) {
  DivergeTry attempt;
  Take(json, "what", attempt.what);
  Take(json, "closes", attempt.closes);
  Take(json, "detail", attempt.detail);
  Take(json, "compares", attempt.is_comparison);
  return attempt;
}

std::vector<DivergeTry> TriesOf(const Json& json) {
  std::vector<DivergeTry> tries;
  for (const Json& each : List(json, "tries")) {
    if (each.is_object()) tries.push_back(TryOf(each));
  }
  return tries;
}

std::optional<PreciseDistance> DistanceOf(const Json& json, const char* key) {
  const Json& part = Part(json, key);
  if (part.empty()) return std::nullopt;
  PreciseDistance distance;
  Take(part, "max_ulp", distance.max_ulp);
  Take(part, "max_abs_error", distance.max_abs_error);
  Take(part, "class_mismatched", distance.class_mismatched);
  return distance;
}

WalkPoint PointOf(const Json& json) {
  WalkPoint point;
  Take(json, "instruction", point.instruction);
  Take(json, "computation", point.computation);
  Take(json, "opcode", point.opcode);
  Take(json, "executions", point.executions);
  Take(json, "differing", point.differing);
  Take(json, "diverging", point.diverging);
  Take(json, "max_abs_error", point.max_abs_error);
  Take(json, "max_rel_error", point.max_rel_error);
  Take(json, "max_ulp", point.max_ulp);
  Take(json, "calls", point.worst_calls);
  return point;
}

ValueWalk WalkOf(const Json& json) {
  ValueWalk walk;
  Take(json, "boundaries", walk.boundaries);
  Take(json, "compared", walk.compared);
  Take(json, "one_at_a_time", walk.one_at_a_time);
  Take(json, "same_bits", walk.same_bits);
  Take(json, "diverging", walk.diverging);
  Take(json, "untold", walk.untold);
  Take(json, "left_out", walk.left_out);
  Take(json, "too_large", walk.too_large);
  Take(json, "capture_keeps_bits", walk.capture_keeps_bits);
  Take(json, "bits", walk.bits);
  Take(json, "passes_differ", walk.passes_differ);
  walk.platform_distance = DistanceOf(json, "platform_distance");
  walk.reference_distance = DistanceOf(json, "reference_distance");
  if (const Json& inner = Part(json, "inner"); !inner.empty()) {
    InnerPoint& point = walk.inner.emplace();
    Take(inner, "instruction", point.instruction);
    Take(inner, "opcode", point.opcode);
    point.comparison = ComparisonOf(inner);
  }
  Take(json, "reached", walk.reached);
  for (const Json& each : List(json, "curve")) {
    if (each.is_object()) walk.curve.push_back(PointOf(each));
  }
  Take(json, "plain_ms", walk.plain_ms);
  Take(json, "capture_ms", walk.capture_ms);
  return walk;
}

void TakeFindings(const Json& json, DivergeVerdict& verdict) {
  for (const Json& each : List(json, "passes")) {
    if (each.is_object()) verdict.passes.push_back(BlameOf(each));
  }
  // Others than ours may tell the first alone.
  if (PassBlame first = BlameOf(json); verdict.passes.empty() && !first.pass.empty()) {
    verdict.passes.push_back(std::move(first));
  }
  verdict.tries = TriesOf(json);
  // A single one is what the rest says.
  if (const auto& findings = List(json, "findings"); findings.size() > 1) {
    for (const Json& each : findings) {
      if (!each.is_object()) continue;
      DivergeFinding& finding = verdict.findings.emplace_back();
      std::string cause;
      Take(each, "pass", finding.pass);
      Take(each, "cause", cause);
      Take(each, "kernel", finding.kernel);
      Take(each, "cured_by", finding.cured_by);
      Take(each, "left", finding.mismatched);
      Take(each, "results", finding.results);
      Take(each, "confirmed", finding.confirmed);
      finding.tries = TriesOf(each);
      Take(each, "not_tried", finding.not_tried);
      finding.cause = CauseOf(cause);
      finding.place = PlaceOf(each);
      finding.edit = EditOf(each);
    }
  }
  verdict.place = PlaceOf(json);
  verdict.edit = EditOf(json);
  if (json.contains("worst")) verdict.worst = ComparisonOf(Part(json, "worst"));
  if (const Json& walk = Part(json, "walk"); !walk.empty()) verdict.walk = WalkOf(walk);
  std::string cause;
  Take(json, "cause", cause);
  verdict.cause = CauseOf(cause);
}

}  // namespace

bool IsVerdict(std::string_view text) {
  constexpr size_t kLooked = 1 << 16;
  const std::string_view begin = text.substr(0, kLooked);
  return begin.starts_with('{') && begin.find("\"status\"") != begin.npos &&
         begin.find("\"cured_by\"") != begin.npos;
}

Result<KeptVerdict> ReadVerdict(std::string_view text) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  if (!json.is_object())
    return InputError("not a line of JSON", "keep what `diverge --json` prints");
  std::string status;
  Take(json, "status", status);
  const std::optional<RunStatus> known = StatusOf(status);
  if (!known || !json.contains("cured_by")) {
    return InputError("not a verdict", "keep what `diverge --json` prints");
  }
  KeptVerdict kept;
  DivergeVerdict& verdict = kept.verdict;
  verdict.status = *known;
  Take(json, "module", kept.module);
  Take(json, "against", kept.against);
  Take(json, "platform", verdict.platform);
  Take(json, "reference", verdict.reference);
  Take(json, "seed", verdict.seed);
  Take(json, "inputs_generated", verdict.inputs_generated);
  TakeFindings(json, verdict);
  Take(json, "cured_by", verdict.cured_by);
  Take(json, "confirmed", verdict.confirmed);
  Take(json, "kernel", verdict.kernel);
  Take(json, "ptx_line", verdict.ptx_line);
  Take(json, "first_bad", verdict.first_bad);
  Take(json, "stages", verdict.stages);
  Take(json, "evaluated", verdict.evaluated);
  Take(json, "to_compare", verdict.to_compare);
  Take(json, "compared", verdict.compared);
  Take(json, "stepped_over", verdict.stepped_over);
  Take(json, "warnings", verdict.warnings);
  std::vector<std::string> errors;
  Take(json, "errors", errors);
  verdict.warnings.insert(verdict.warnings.end(), errors.begin(), errors.end());
  Take(json, "verdict", verdict.sentence);
  return kept;
}

}  // namespace hloscope::debug
