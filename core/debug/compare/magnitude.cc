// Elements as doubles.
#include "core/debug/compare/magnitude.h"

#include <cmath>
#include <cstddef>

#include "core/eval/numbers/wide.h"

namespace hloscope::debug {

double MagnitudeAt(const hlo::Literal& literal, int64_t element) {
  const hlo::ElementType type = literal.shape().element_type();
  const auto size = static_cast<int64_t>(hlo::StorageBytes(type));
  const std::byte* at = literal.bytes().data() + element * size;
  if (hlo::IsComplex(type)) {
    double parts[2] = {};
    eval::LoadAs<double>(hlo::RealPart(type), at, parts, 2);
    return std::hypot(parts[0], parts[1]);
  }
  double value = 0;
  eval::LoadAs<double>(type, at, &value, 1);
  return value;
}

}  // namespace hloscope::debug
