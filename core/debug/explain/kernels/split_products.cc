// Sums in double precision.
#include "core/debug/explain/kernels/split_products.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/eval/numbers/wide.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::debug {
namespace {

// XLA splits no further.
constexpr int64_t kMaxParts = 128;

std::vector<double> Elements(const hlo::Literal& array) {
  const hlo::ElementType type = array.shape().element_type();
  const auto width = static_cast<size_t>(hlo::StorageBytes(type));
  std::vector<double> elements(array.bytes().size() / width);
  for (size_t i = 0; i < elements.size(); ++i) {
    eval::Complex value;
    eval::LoadAs(type, array.bytes().data() + i * width, &value, 1);
    elements[i] = value.real();
  }
  return elements;
}

using Part = std::span<const double>;

bool Agree(Part actual, Part expected, const ErrorBounds& bounds) {
  return std::ranges::equal(actual, expected, [&](double a, double e) {
    const double error = std::fabs(a - e);
    return error <= bounds.absolute || error <= bounds.relative * std::fabs(e);
  });
}

std::vector<double> Sums(Part elements, size_t parts) {
  std::vector<double> sums(elements.size() / parts);
  for (size_t i = 0; i < elements.size(); ++i) sums[i % sums.size()] += elements[i];
  return sums;
}

// One part where another should be: an error of indices, not another share of k.
bool ChangedPlaces(Part actual, Part expected, size_t parts, const ErrorBounds& bounds) {
  const size_t each = actual.size() / parts;
  for (size_t p = 0; p < parts; ++p) {
    const Part part = actual.subspan(p * each, each);
    if (Agree(part, expected.subspan(p * each, each), bounds)) continue;
    for (size_t q = 0; q < parts; ++q) {
      if (q != p && Agree(part, expected.subspan(q * each, each), bounds)) return true;
    }
  }
  return false;
}

// A batch dimension of so many parts that no operand of the kernel has: it was cut from k.
bool IsSplit(const hlo::Module& alone, hlo::InstructionId id, int64_t parts) {
  if (alone[id].opcode != hlo::Opcode::kDot) return false;
  const hlo::DotDims dims = hlo::DotDimsOf(alone, id);
  for (const size_t side : {size_t{0}, size_t{1}}) {
    hlo::InstructionId from = alone.operands(id)[side];
    const auto has_parts = [&](int64_t d) { return alone.shape(from).dimension(d) == parts; };
    if (std::ranges::none_of(dims.side(side).batch, has_parts)) return false;
    const size_t rank = alone.shape(from).rank();
    while (alone[from].opcode != hlo::Opcode::kParameter && !alone.operands(from).empty() &&
           alone.shape(from).rank() == rank)
      from = alone.operands(from)[0];
    if (alone.shape(from).rank() < rank) return true;
  }
  return false;
}

}  // namespace

bool MayBeSplitProduct(const hlo::Module& alone, const hlo::Shape& array) {
  if (!hlo::IsFloat(array.element_type()) || array.rank() < 2) return false;
  if (array.dimension(0) < 2 || array.dimension(0) > kMaxParts) return false;
  for (uint32_t i = 0; i < alone.instructions().size(); ++i) {
    if (IsSplit(alone, hlo::InstructionId(i), array.dimension(0))) return true;
  }
  return false;
}

bool SameSums(const hlo::Literal& actual, const hlo::Literal& expected, const ErrorBounds& bounds) {
  const auto parts = static_cast<size_t>(actual.shape().dimension(0));
  const std::vector<double> a = Elements(actual), e = Elements(expected);
  return Agree(Sums(a, parts), Sums(e, parts), bounds) && !ChangedPlaces(a, e, parts, bounds);
}

}  // namespace hloscope::debug
