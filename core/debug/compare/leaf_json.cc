// Comparisons of leaves as JSON.
#include "core/debug/compare/leaf_json.h"

namespace hloscope::debug {
namespace {

void WriteMismatch(JsonWriter& json, std::string_view key,
                   const std::optional<ElementMismatch>& mismatch) {
  json.Key(key);
  if (!mismatch) {
    json.Null();
    return;
  }
  json.BeginObject().Key("index").BeginArray();
  for (int64_t i : mismatch->index) json.Value(i);
  json.EndArray().Field("actual", mismatch->actual).Field("expected", mismatch->expected);
  json.EndObject();
}

// Counts of errors by size: none, below the first bound, between bounds, from the last one on.
void WriteHistogram(JsonWriter& json, const ErrorHistogram& histogram) {
  json.Key("error_histogram").BeginObject().Key("bounds").BeginArray();
  for (double bound : ErrorHistogram::kBounds) json.Value(bound);
  json.EndArray();
  for (const auto& [key, counts] :
       {std::pair("absolute", &histogram.absolute), std::pair("relative", &histogram.relative)}) {
    json.Key(key).BeginArray();
    for (int64_t count : *counts) json.Value(count);
    json.EndArray();
  }
  json.EndObject();
}

void WritePassingBounds(JsonWriter& json, const std::vector<BoundPair>& pairs) {
  json.Key("passing_bounds").BeginArray();
  for (const BoundPair& pair : pairs) {
    json.BeginObject().Field("abs", pair.absolute).Field("rel", pair.relative).EndObject();
  }
  json.EndArray();
}

}  // namespace

void WriteLeafJson(JsonWriter& json, const LeafComparison& leaf, bool compared) {
  json.Key("index").BeginArray();
  for (int64_t i : leaf.index) json.Value(i);
  json.EndArray().Field("shape", hlo::ToString(leaf.shape, false)).Field("elements", leaf.elements);
  if (!compared) return;
  json.Field("mismatched", leaf.mismatched).Field("max_abs_error", leaf.max_abs_error);
  json.Field("max_rel_error", leaf.max_rel_error).Field("max_ulp", leaf.max_ulp);
  json.Field("nan_mismatched", leaf.nan_mismatched).Field("inf_mismatched", leaf.inf_mismatched);
  WriteMismatch(json, "first_mismatch", leaf.first_mismatch);
  WriteMismatch(json, "worst_mismatch", leaf.worst_mismatch);
  json.Field("nan_only_actual", leaf.nan.actual).Field("nan_only_expected", leaf.nan.expected);
  json.Field("inf_only_actual", leaf.inf.actual).Field("inf_only_expected", leaf.inf.expected);
  WriteHistogram(json, leaf.histogram);
  WritePassingBounds(json, leaf.passing_bounds);
  if (!leaf.problem.empty()) json.Field("problem", leaf.problem);
}

}  // namespace hloscope::debug
