// Comparison of arrays element by element.
#include "core/debug/compare/compare_values.h"

#include <algorithm>

#include "core/base/progress/activity.h"
#include "core/debug/compare/array_comparison.h"
#include "core/debug/compare/compare_pairs.h"

namespace hloscope::debug {

using hlo::ElementType;
using hlo::Literal;

namespace {

// One may have bounds where the other, read from a file, has the sizes met at run time.
bool SameLiveShape(const Literal& a, const Literal& b) {
  return a.shape().IsArray() && a.shape().element_type() == b.shape().element_type() &&
         a.live_sizes() == b.live_sizes();
}

}  // namespace

ErrorBounds BoundsFor(ElementType type, const BoundsRequest& request) {
  const ElementType real = hlo::RealPart(type);
  if (!hlo::IsFloat(real)) return {};
  ErrorBounds bounds;
  const bool asked = request.absolute || request.relative;
  if (hlo::BitWidth(real) <= 8) {
    bounds.ulp = asked ? 0 : 1;
  } else {
    const double bound = real == ElementType::kF64   ? 1e-8
                         : real == ElementType::kF32 ? 1e-4
                         : real == ElementType::kF16 ? 1e-2
                                                     : 4e-2;
    bounds.absolute = bounds.relative = bound;
  }
  bounds.absolute = request.absolute.value_or(bounds.absolute);
  bounds.relative = request.relative.value_or(bounds.relative);
  return bounds;
}

BoundsRequest BoundsOfSingle(const BoundsRequest& request) {
  const ErrorBounds bounds = BoundsFor(ElementType::kF32, request);
  return {bounds.absolute, bounds.relative};
}

uint64_t UlpDistance(ElementType type, const std::byte* a, const std::byte* b) {
  const ElementType part = hlo::RealPart(type);
  const uint64_t first = PairDistance(part, a, b);
  if (!hlo::IsComplex(type)) return first;
  const int size = hlo::StorageBytes(part);
  return std::max(first, PairDistance(part, a + size, b + size));
}

LeafComparison CompareArrays(const Literal& actual, const Literal& expected,
                             const BoundsRequest& request) {
  const Activity activity("comparing values");
  LeafComparison result;
  result.shape = actual.shape();
  if (!hlo::Compatible(actual.shape(), expected.shape(), {.dynamic_dimensions = false}) &&
      !SameLiveShape(actual, expected)) {
    result.problem = "the shape is " + hlo::ToString(actual.shape(), false) + ", expected " +
                     hlo::ToString(expected.shape(), false);
    return result;
  }
  result.same_bits = !actual.shape().IsArray();  // tokens
  if (!actual.shape().IsArray()) return result;
  if (actual.elided() || expected.elided()) {
    result.problem = "elements missing";
    return result;
  }
  result.bounds = BoundsFor(actual.shape().element_type(), request);
  const std::vector<int64_t> sizes = actual.live_sizes();
  const bool both_dynamic = !actual.dynamic_sizes().empty() && !expected.dynamic_sizes().empty();
  if (both_dynamic && !std::ranges::equal(sizes, expected.dynamic_sizes())) {
    result.problem = "dynamic dimension sizes differ";
    return result;
  }
  const ArrayComparison comparison(actual, expected, sizes, result.bounds);
  result.elements = comparison.elements();
  result.same_bits = true;
  if (result.elements == 0) return result;
  const PairStatistics pairs = comparison.Run();
  SetStatistics(pairs, result);
  if (pairs.mismatched == 0) return result;
  result.first_mismatch = comparison.Describe(pairs.first.at);
  result.worst_mismatch = comparison.Describe(pairs.worst.at);
  return result;
}

std::vector<LeafComparison> CompareLiterals(const Literal& actual, const Literal& expected,
                                            const BoundsRequest& request) {
  if (!actual.shape().IsTuple() || !expected.shape().IsTuple() ||
      actual.elements().size() != expected.elements().size()) {
    return {CompareArrays(actual, expected, request)};
  }
  std::vector<LeafComparison> leaves;
  for (size_t i = 0; i < actual.elements().size(); ++i) {
    auto inner = CompareLiterals(actual.elements()[i], expected.elements()[i], request);
    for (LeafComparison& leaf : inner) {
      leaf.index.insert(leaf.index.begin(), static_cast<int64_t>(i));
      leaves.push_back(std::move(leaf));
    }
  }
  return leaves;
}

}  // namespace hloscope::debug
