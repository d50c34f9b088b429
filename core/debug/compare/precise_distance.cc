#include "core/debug/compare/precise_distance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/debug/compare/compare_bits.h"
#include "core/eval/numbers/wide.h"
#include "core/hlo/float_types.h"

namespace hloscope::debug {
namespace {

using hlo::ElementType;
using hlo::Literal;

// What one step of a float type is.
struct StepFormat {
  int mantissa_bits;
  int smallest_exponent;  // of normal numbers
};

StepFormat StepFormatOf(ElementType type) {
  if (type == ElementType::kF64) return {52, -1022};
  const hlo::FloatFormat* format = hlo::FindFloatFormat(type);
  if (format == nullptr) return {23, -126};
  return {format->mantissa_bits, 1 - format->bias};
}

double StepAt(const StepFormat& format, double value) {
  const int exponent =
      value == 0 ? format.smallest_exponent : std::max(std::ilogb(value), format.smallest_exponent);
  return std::ldexp(1.0, exponent - format.mantissa_bits);
}

// Pairs of real numbers; of complex ones each part.
class Distances {
 public:
  explicit Distances(ElementType type)
      : type_(type), float_(hlo::IsFloat(type)), format_(StepFormatOf(type)) {}

  // The distance of one pair in ULP; NaN where they are of different classes.
  double Add(double value, double precise, PreciseDistance& into) const {
    double rounded = precise;
    if (float_) {
      std::byte element[8];
      eval::StoreFrom<double>(type_, &precise, element, 1);
      eval::LoadAs<double>(type_, element, &rounded, 1);
    }
    if (!std::isfinite(value) || !std::isfinite(rounded)) {
      const bool same = value == rounded || (std::isnan(value) && std::isnan(rounded));
      if (same) return 0;
      ++into.class_mismatched;
      return std::numeric_limits<double>::quiet_NaN();
    }
    const double error = std::abs(value - precise);
    into.max_abs_error = std::max(into.max_abs_error, error);
    return float_ ? error / StepAt(format_, precise) : error;
  }

 private:
  ElementType type_;
  bool float_;
  StepFormat format_;
};

}  // namespace

PreciseDistance DistanceToPrecise(const Literal& value, const Literal& precise) {
  PreciseDistance distance;
  const ElementType type = value.shape().element_type(), wide = precise.shape().element_type();
  if (!value.shape().IsArray() || value.elided() || precise.elided()) return distance;
  const ElementType part = hlo::RealPart(type), wide_part = hlo::RealPart(wide);
  const int64_t each = hlo::IsComplex(type) ? 2 : 1;
  const int64_t parts = value.shape().ElementCount().value_or(0) * each;
  const Distances distances(part);
  int64_t worst = -1;
  for (int64_t i = 0; i < parts; ++i) {
    double a, p;
    eval::LoadAs<double>(part, value.bytes().data() + i * hlo::StorageBytes(part), &a, 1);
    eval::LoadAs<double>(wide_part, precise.bytes().data() + i * hlo::StorageBytes(wide_part), &p,
                         1);
    const double ulp = distances.Add(a, p, distance);
    if (!(ulp > distance.max_ulp)) continue;
    distance.max_ulp = ulp;
    distance.value = a;
    distance.precise = p;
    worst = i;
  }
  if (worst >= 0) distance.index = IndexOf(worst / each, value.shape().dimensions());
  return distance;
}

}  // namespace hloscope::debug
