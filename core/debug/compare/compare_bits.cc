// Comparison of arrays bit by bit.
#include "core/debug/compare/compare_bits.h"

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

bool IsLive(std::span<const int64_t> index, std::span<const int64_t> live) {
  for (size_t d = 0; d < live.size() && d < index.size(); ++d) {
    if (index[d] >= live[d]) return false;
  }
  return true;
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
  const auto a = actual.bytes(), e = expected.bytes();
  if (std::memcmp(a.data(), e.data(), a.size()) == 0) return result;
  for (size_t at = 0; at + size <= a.size(); at += size) {
    if (std::memcmp(a.data() + at, e.data() + at, size) == 0) continue;
    const auto element = static_cast<int64_t>(at / size);
    const std::vector<int64_t> index = IndexOf(element, actual.shape().dimensions());
    if (!IsLive(index, actual.dynamic_sizes())) continue;
    if (++result.mismatched > 1) continue;
    result.first_mismatch = {index, ElementText(actual, element), ElementText(expected, element)};
  }
  return result;
}

}  // namespace hloscope::debug
