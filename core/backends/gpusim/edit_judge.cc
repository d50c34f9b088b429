// Bounds, but no more than a part of the largest error.
#include "core/backends/gpusim/edit_judge.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/eval/numbers/wide.h"
#include "core/hlo/element_type.h"

namespace hloscope::replay {
namespace {

constexpr double kFar = 16;

eval::Complex Load(hlo::ElementType type, const std::byte* at) {
  eval::Complex value;
  eval::LoadAs(type, at, &value, 1);
  return value;
}

}  // namespace

EditJudge::EditJudge(const EditTarget& target)
    : target_(target), width_(static_cast<size_t>(hlo::StorageBytes(target.type))) {
  is_float_ = hlo::IsFloat(target.type) || hlo::IsComplex(target.type);
  const int bits = hlo::Info(target.type).bits / (hlo::IsComplex(target.type) ? 2 : 1);
  ulp_ = std::ldexp(1.0, bits <= 8                                ? -2
                         : target.type == hlo::ElementType::kBF16 ? -7
                         : bits == 16                             ? -10
                         : bits == 32                             ? -22
                                                                  : -50);
}

double EditJudge::ValueAt(const std::byte* array, size_t i) const {
  return Load(target_.type, array + i * width_).real();
}

double EditJudge::ErrorOf(const std::byte* array, size_t i) const {
  const std::byte *is = array + i * width_, *meant = target_.expected.data() + i * width_;
  if (std::memcmp(is, meant, width_) == 0) return 0;
  if (!is_float_) return INFINITY;
  const eval::Complex a = Load(target_.type, is), e = Load(target_.type, meant);
  const double error = std::abs(a - e);
  if (!std::isnan(error)) return error;
  return std::isnan(std::abs(a)) && std::isnan(std::abs(e)) ? 0 : INFINITY;
}

bool EditJudge::IsRight(const std::byte* array, size_t i) const {
  const double error = ErrorOf(array, i);
  if (error == 0) return true;
  const double meant = std::abs(Load(target_.type, target_.expected.data() + i * width_));
  const double allowed = std::max(target_.absolute, target_.relative * meant);
  const double far = largest_ > 0 ? largest_ / kFar : INFINITY;
  return error <= std::max(std::min(allowed, far), ulp_ * meant);
}

}  // namespace hloscope::replay
