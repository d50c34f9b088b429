#include "viewer/model/verdict_table.h"

#include <algorithm>
#include <cstring>

#include "core/debug/compare/compare_pairs.h"

namespace hloscope::viewer {
namespace {

struct VerdictRow {
  std::string_view words, help;
  VerdictMark mark;
};
constexpr VerdictRow kVerdictRows[] = {
#define VERDICT(name, words, color, mark, help) {words, help, VerdictMark::mark},
#include "viewer/model/verdicts.def"
#undef VERDICT
};

const VerdictRow& RowOfVerdict(Verdict verdict) {
  return kVerdictRows[static_cast<size_t>(verdict)];
}

// How a pair of elements does, and by how much.
struct ElementError {
  Verdict verdict = Verdict::kSameBits;
  double relative = 0, absolute = 0;
  auto operator<=>(const ElementError&) const = default;
};

ElementError ErrorOfElement(const hlo::Literal& actual, const hlo::Literal& expected,
                            int64_t element, const debug::ErrorBounds& bounds) {
  const hlo::ElementType type = actual.shape().element_type();
  const auto at = static_cast<ptrdiff_t>(element * hlo::StorageBytes(type));
  debug::PairStatistics pair;
  debug::ComparePairs(type, actual.bytes().data() + at, expected.bytes().data() + at, 1, bounds, 0,
                      pair);
  ElementError error{Verdict::kWithinBound, pair.max_rel_error, pair.max_abs_error};
  if (pair.nan.total() + pair.inf.total() + pair.inf_opposite > 0) {
    error.verdict = Verdict::kNotFinite;
  } else if (pair.mismatched > 0) {
    error.verdict = Verdict::kBeyond;
  } else if (!pair.other_bits) {
    error.verdict = Verdict::kSameBits;
  } else if (pair.max_ulp <= kFewUlp) {
    error.verdict = Verdict::kWithinUlp;
  }
  return error;
}

}  // namespace

std::string_view ToString(Verdict verdict) { return RowOfVerdict(verdict).words; }
std::string_view Describe(Verdict verdict) { return RowOfVerdict(verdict).help; }
VerdictMark MarkOf(Verdict verdict) { return RowOfVerdict(verdict).mark; }

Verdict VerdictOfElement(const hlo::Literal& actual, const hlo::Literal& expected, int64_t element,
                         const debug::ErrorBounds& bounds) {
  return ErrorOfElement(actual, expected, element, bounds).verdict;
}

ElementCounts CountElements(const hlo::Literal& actual, const hlo::Literal& expected,
                            const debug::BoundsRequest& request) {
  ElementCounts counts;
  ElementError worst;
  const hlo::ElementType type = expected.shape().element_type();
  const bool fits = actual.shape().IsArray() && expected.shape().IsArray() &&
                    actual.shape().element_type() == type && !actual.elided() &&
                    !expected.elided() && actual.bytes().size() == expected.bytes().size();
  const auto size = static_cast<int64_t>(hlo::StorageBytes(type));
  if (!fits || size == 0) return counts;
  constexpr int64_t kTogether = 256;
  const debug::ErrorBounds bounds = debug::BoundsFor(type, request);
  const int64_t elements = static_cast<int64_t>(expected.bytes().size()) / size;
  for (int64_t begin = 0; begin < elements; begin += kTogether) {
    const int64_t end = std::min(begin + kTogether, elements);
    if (std::memcmp(actual.bytes().data() + begin * size, expected.bytes().data() + begin * size,
                    static_cast<size_t>((end - begin) * size)) == 0) {
      counts.Add(Verdict::kSameBits, end - begin);
      continue;
    }
    for (int64_t i = begin; i < end; ++i) {
      const ElementError error = ErrorOfElement(actual, expected, i, bounds);
      counts.Add(error.verdict);
      if (error <= worst) continue;
      worst = error;
      counts.worst_element = i;
    }
  }
  return counts;
}

Verdict VerdictOf(const debug::LeafComparison& leaf) {
  if (leaf.nan_mismatched > 0 || leaf.inf_mismatched > 0) return Verdict::kNotFinite;
  if (!leaf.equal()) return Verdict::kBeyond;
  if (leaf.same_bits) return Verdict::kSameBits;
  return leaf.max_ulp <= kFewUlp ? Verdict::kWithinUlp : Verdict::kWithinBound;
}

std::optional<Verdict> VerdictCounts::Worst() const {
  for (size_t k = kVerdictCount; k-- > 0;) {
    if (of[k] > 0 && IsCompared(static_cast<Verdict>(k))) return static_cast<Verdict>(k);
  }
  return std::nullopt;
}

}  // namespace hloscope::viewer
