#include "core/debug/explain/kernels/switch_causes.h"

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "core/eval/numbers/wide.h"

namespace hloscope::debug {

std::optional<Cause> CauseOf(ptx::Switch which) {
  switch (which) {
    case ptx::Switch::kTf32:
      return Cause::kTf32;
    case ptx::Switch::kTensorSums:
      return Cause::kTensorSums;
    case ptx::Switch::kFma:
      return Cause::kFma;
    case ptx::Switch::kDenormals:
      return Cause::kDenormals;
    case ptx::Switch::kApproximationsUp:
    case ptx::Switch::kApproximationsDown:
      break;
  }
  return std::nullopt;
}

hlo::Literal SettledBySpread(const hlo::Literal& actual, const hlo::Literal& expected,
                             const hlo::Literal& up, const hlo::Literal& down) {
  const hlo::ElementType type = actual.shape().element_type();
  const auto width = static_cast<size_t>(hlo::StorageBytes(type));
  const size_t count = width == 0 ? 0 : actual.bytes().size() / width;
  const auto load = [&](const hlo::Literal& from, size_t i) {
    eval::Complex value;
    eval::LoadAs(type, from.bytes().data() + i * width, &value, 1);
    return value;
  };
  std::vector<std::byte> settled(actual.bytes().begin(), actual.bytes().end());
  for (size_t i = 0; i < count; ++i) {
    const double error = std::abs(load(actual, i) - load(expected, i));
    const double spread = 2 * std::abs(load(up, i) - load(down, i));
    // Neither NaN nor an infinity is settled.
    if (!std::isfinite(error) || !(error <= spread)) continue;
    std::memcpy(settled.data() + i * width, expected.bytes().data() + i * width, width);
  }
  return hlo::Literal::Dense(actual.shape(), std::move(settled));
}

}  // namespace hloscope::debug
