// Switches and causes.
#include "core/debug/kernels/switch_causes.h"

#include <cmath>

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

bool WithinSpread(const hlo::Literal& actual, const hlo::Literal& expected, const hlo::Literal& up,
                  const hlo::Literal& down, const ErrorBounds& bounds) {
  const hlo::ElementType type = actual.shape().element_type();
  const auto width = static_cast<size_t>(hlo::StorageBytes(type));
  const size_t count = width == 0 ? 0 : actual.bytes().size() / width;
  const auto load = [&](const hlo::Literal& from, size_t i) {
    eval::Complex value;
    eval::LoadAs(type, from.bytes().data() + i * width, &value, 1);
    return value;
  };
  for (size_t i = 0; i < count; ++i) {
    const auto a = load(actual, i), e = load(expected, i);
    const double error = std::abs(a - e);
    if (a == e || (std::isnan(std::abs(a)) && std::isnan(std::abs(e)))) continue;
    if (!std::isfinite(error)) return false;
    if (error <= bounds.absolute || error <= bounds.relative * std::abs(e)) continue;
    // A negated comparison: NaN is no spread.
    if (!(error <= 2 * std::abs(load(up, i) - load(down, i)))) return false;
  }
  return true;
}

}  // namespace hloscope::debug
