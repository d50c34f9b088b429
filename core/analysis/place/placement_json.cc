// The object `placement` of `info --json`.
#include "core/analysis/place/placement.h"

namespace hloscope::analysis {
namespace {

void WriteTransfer(const hlo::Module& module, const Transfer& t, JsonWriter& json) {
  json.BeginObject().Field("instruction", module.name(t.instruction));
  json.Field("direction", KeyOf(t.direction)).Key("bytes");
  t.bytes < 0 ? json.Null() : json.Value(t.bytes);
  json.Key("executions");
  t.executions < 0 ? json.Null() : json.Value(t.executions);
  json.Field("reason", KeyOf(t.reason)).EndObject();
}

}  // namespace

void WritePlacement(const hlo::Module& module, const Placement& placement, JsonWriter& json) {
  json.BeginObject();
  for (int k = 0; k < kPlaceCount; ++k) {
    json.Field(KeyOf(static_cast<Place>(k)), placement.counts[static_cast<size_t>(k)]);
  }
  json.Key("transfers").BeginArray();
  for (const Transfer& t : placement.transfers) WriteTransfer(module, t, json);
  json.EndArray().Field("bytes", placement.bytes);
  json.Field("unknown_transfers", placement.unknown_transfers).EndObject();
}

}  // namespace hloscope::analysis
