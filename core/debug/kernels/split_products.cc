// Sums in double precision.
#include "core/debug/kernels/split_products.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/eval/numbers/wide.h"

namespace hloscope::debug {
namespace {

// XLA splits no further.
constexpr int64_t kMostParts = 128;

std::vector<double> Sums(const hlo::Literal& array, size_t parts) {
  const hlo::ElementType type = array.shape().element_type();
  const auto width = static_cast<size_t>(hlo::StorageBytes(type));
  const size_t each = array.bytes().size() / width / parts;
  std::vector<double> sums(each);
  for (size_t i = 0; i < each * parts; ++i) {
    eval::Complex value;
    eval::LoadAs(type, array.bytes().data() + i * width, &value, 1);
    sums[i % each] += value.real();
  }
  return sums;
}

}  // namespace

bool MayBeSplitProduct(const hlo::Module& alone, const hlo::Shape& array) {
  if (!hlo::IsFloat(array.element_type()) || array.rank() < 2) return false;
  if (array.dimension(0) < 2 || array.dimension(0) > kMostParts) return false;
  return std::ranges::any_of(alone.instructions(), [](const hlo::Instruction& instruction) {
    return instruction.opcode == hlo::Opcode::kDot;
  });
}

bool SameSums(const hlo::Literal& actual, const hlo::Literal& expected, const ErrorBounds& bounds) {
  const auto parts = static_cast<size_t>(actual.shape().dimension(0));
  const std::vector<double> a = Sums(actual, parts), e = Sums(expected, parts);
  for (size_t i = 0; i < a.size(); ++i) {
    const double error = std::fabs(a[i] - e[i]);
    if (!(error <= bounds.absolute || error <= bounds.relative * std::fabs(e[i]))) return false;
  }
  return true;
}

}  // namespace hloscope::debug
