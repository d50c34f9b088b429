// Statistics and hashes of values.
#include "core/debug/bundle/value_facts.h"

#include <fmt/format.h>

#include "core/base/json.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/text/value_text.h"
#include "core/replay/capture/capture_plan.h"

namespace hloscope::debug {
namespace {

std::string_view BytesOf(const hlo::Literal& leaf) {
  return {reinterpret_cast<const char*>(leaf.bytes().data()), leaf.bytes().size()};
}

void WriteStatistics(JsonWriter& json, const hlo::Literal& leaf) {
  const auto form = replay::FormOf(leaf, replay::CaptureForm::kStatistics);
  if (const auto* numbers = std::get_if<replay::ValueStatistics>(&form)) {
    json.Field("elements", numbers->elements)
        .Field("min", numbers->low)
        .Field("max", numbers->high)
        .Field("mean", numbers->mean)
        .Field("rms", numbers->rms)
        .Field("nans", numbers->nans)
        .Field("infinities", numbers->infinities)
        .Field("zeros", numbers->zeros);
  }
  json.Field("hash", dump::BundleHash(BytesOf(leaf)));
}

}  // namespace

std::string ValueFactsJson(std::span<const hlo::Literal> values, std::string_view prefix,
                           ValuePolicy policy) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject();
  size_t number = 0;
  for (const hlo::Literal& value : values) {
    for (const hlo::Literal& leaf : dump::FlattenLiteral(value)) {
      const std::string name = fmt::format("{}{}", prefix, number++);
      if (!leaf.shape().IsArray()) continue;
      json.Key(name).BeginObject().Field("shape", hlo::ToString(leaf.shape(), true));
      if (policy == ValuePolicy::kStatistics && !leaf.elided()) WriteStatistics(json, leaf);
      json.EndObject();
    }
  }
  json.EndObject();
  return out + "\n";
}

std::string HashOfValues(std::span<const hlo::Literal> values) {
  std::string hashes;
  for (const hlo::Literal& value : values) {
    for (const hlo::Literal& leaf : dump::FlattenLiteral(value)) {
      hashes += dump::BundleHash(BytesOf(leaf));
    }
  }
  return hashes.empty() ? "" : dump::BundleHash(hashes);
}

}  // namespace hloscope::debug
