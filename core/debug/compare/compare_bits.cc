// Comparison of arrays bit by bit.
#include "core/debug/compare/compare_bits.h"

#include <algorithm>
#include <cstring>

#include "core/hlo/text/value_text.h"

namespace hloscope::debug {
namespace {

using hlo::Literal;

std::string ElementText(const Literal& literal, int64_t at) {
  std::string text;
  hlo::AppendElement(text, literal, at);
  return text;
}

// Where the element of that index is.
int64_t LinearOf(std::span<const int64_t> index, std::span<const int64_t> dimensions) {
  int64_t linear = 0;
  for (size_t d = 0; d < dimensions.size(); ++d) linear = linear * dimensions[d] + index[d];
  return linear;
}

}  // namespace

std::vector<int64_t> IndexOf(int64_t linear, std::span<const int64_t> dimensions) {
  std::vector<int64_t> index(dimensions.size(), 0);
  for (size_t d = dimensions.size(); d-- > 0;) {
    if (dimensions[d] <= 0) return index;
    index[d] = linear % dimensions[d];
    linear /= dimensions[d];
  }
  return index;
}

LeafComparison CompareBits(const Literal& actual, const Literal& expected) {
  LeafComparison result = CompareArrays(actual, expected, {0, 0});
  if (!result.problem.empty() || !actual.shape().IsArray()) return result;
  result.mismatched = 0;
  result.first_mismatch.reset();
  const auto size = static_cast<size_t>(hlo::StorageBytes(actual.shape().element_type()));
  const auto a_dims = actual.shape().dimensions(), e_dims = expected.shape().dimensions();
  // Rows of live elements that are contiguous in both: everything where both have these sizes.
  const std::vector<int64_t> live = actual.live_sizes();
  const bool whole = std::ranges::equal(live, a_dims) && std::ranges::equal(live, e_dims);
  const int64_t row = whole || live.empty() ? result.elements : live.back();
  for (int64_t first = 0; first < result.elements; first += row) {
    const std::vector<int64_t> begin = IndexOf(first, live);
    const int64_t a_first = LinearOf(begin, a_dims), e_first = LinearOf(begin, e_dims);
    const std::byte* a = actual.bytes().data() + static_cast<size_t>(a_first) * size;
    const std::byte* e = expected.bytes().data() + static_cast<size_t>(e_first) * size;
    if (std::memcmp(a, e, static_cast<size_t>(row) * size) == 0) continue;
    for (int64_t k = 0; k < row; ++k, a += size, e += size) {
      if (std::memcmp(a, e, size) == 0 || ++result.mismatched > 1) continue;
      result.first_mismatch = {IndexOf(first + k, live), ElementText(actual, a_first + k),
                               ElementText(expected, e_first + k)};
    }
  }
  return result;
}

std::optional<bool> SameBits(const hlo::Shape& root,
                             const std::vector<std::vector<Result<Literal>>>& a,
                             const std::vector<std::vector<Result<Literal>>>& b) {
  const auto leaves = root.Leaves();
  bool known = a.size() == b.size() && (!a.empty() || leaves.empty());
  for (size_t d = 0; d < std::min(a.size(), b.size()); ++d) {
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i].second->IsArray()) continue;
      const bool both =
          i < std::min(a[d].size(), b[d].size()) && a[d][i].has_value() && b[d][i].has_value();
      if (both && !CompareBits(*a[d][i], *b[d][i]).equal()) return false;
      known &= both;
    }
  }
  return known ? std::optional(true) : std::nullopt;
}

}  // namespace hloscope::debug
