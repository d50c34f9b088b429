// Comparison of arrays element by element.
#include "core/debug/compare/compare_values.h"

#include <algorithm>
#include <cmath>

#include "core/base/jobs.h"
#include "core/base/text.h"
#include "core/debug/compare/compare_pairs.h"
#include "core/eval/numbers/wide.h"

namespace hloscope::debug {

using hlo::ElementType;
using hlo::Literal;

namespace {

double AsDouble(ElementType type, const std::byte* at) {
  double value;
  eval::LoadAs<double>(type, at, &value, 1);
  return value;
}

std::string RealText(ElementType type, const std::byte* at) {
  if (hlo::IsFloat(type)) {
    return type == ElementType::kF64 ? ShortestText(AsDouble(type, at))
                                     : ShortestText(static_cast<float>(AsDouble(type, at)));
  }
  int64_t value;
  eval::LoadAs<int64_t>(type, at, &value, 1);
  if (type == ElementType::kPred) return value != 0 ? "true" : "false";
  return type == ElementType::kU64 ? std::to_string(static_cast<uint64_t>(value))
                                   : std::to_string(value);
}

std::string ElementText(ElementType type, const std::byte* at) {
  if (!hlo::IsComplex(type)) return RealText(type, at);
  const ElementType part = hlo::RealPart(type);
  return "(" + RealText(part, at) + ", " + RealText(part, at + hlo::StorageBytes(part)) + ")";
}

// One may have bounds where the other, read from a file, has the sizes met at run time.
bool SameLiveShape(const Literal& a, const Literal& b) {
  return a.shape().IsArray() && a.shape().element_type() == b.shape().element_type() &&
         a.live_sizes() == b.live_sizes();
}

// The live part of two arrays as rows that are contiguous in both.
class LiveRows {
 public:
  LiveRows(std::span<const int64_t> sizes, std::span<const int64_t> actual,
           std::span<const int64_t> expected) {
    // Dimensions that are whole in both join the row.
    size_t split = sizes.size();
    while (split > 0) {
      --split;
      row_ *= sizes[split];
      if (sizes[split] != actual[split] || sizes[split] != expected[split]) break;
    }
    for (size_t d = 0; d < split; ++d) rows_ *= sizes[d];
    sizes_ = sizes.first(split);
    actual_ = Strides(actual, split);
    expected_ = Strides(expected, split);
  }

  int64_t rows() const { return rows_; }
  int64_t row() const { return row_; }

  // Where row number r begins, in elements, in the actual and in the expected array.
  std::pair<int64_t, int64_t> Begin(int64_t r) const {
    int64_t actual = 0, expected = 0;
    for (size_t d = sizes_.size(); d-- > 0;) {
      const int64_t i = r % sizes_[d];
      r /= sizes_[d];
      actual += i * actual_[d];
      expected += i * expected_[d];
    }
    return {actual, expected};
  }

 private:
  static std::vector<int64_t> Strides(std::span<const int64_t> dimensions, size_t count) {
    std::vector<int64_t> strides(count);
    int64_t stride = 1;
    for (size_t d = dimensions.size(); d-- > 0;) {
      if (d < count) strides[d] = stride;
      stride *= dimensions[d];
    }
    return strides;
  }

  int64_t rows_ = 1, row_ = 1;
  std::span<const int64_t> sizes_;
  std::vector<int64_t> actual_, expected_;
};

// Compares all rows, in pieces of a fixed size whatever the number of threads.
class ArrayComparison {
 public:
  ArrayComparison(const Literal& actual, const Literal& expected, std::span<const int64_t> sizes,
                  const ErrorBounds& bounds)
      : actual_(actual),
        expected_(expected),
        sizes_(sizes),
        rows_(sizes, actual.shape().dimensions(), expected.shape().dimensions()),
        bounds_(bounds),
        type_(actual.shape().element_type()) {}

  int64_t elements() const { return rows_.rows() * rows_.row(); }

  PairStatistics Run() const {
    constexpr int64_t kPiece = int64_t{1} << 18;
    const int64_t pieces = (elements() + kPiece - 1) / kPiece;
    std::vector<PairStatistics> parts(static_cast<size_t>(pieces));
    const int threads = pieces < 2 ? 1 : AvailableCpus();
    const Status done = ParallelFor(pieces, threads, [&](int64_t piece) {
      const int64_t begin = piece * kPiece;
      Piece(begin, std::min(begin + kPiece, elements()), parts[static_cast<size_t>(piece)]);
    });
    PairStatistics all;
    if (!done.has_value()) return all;  // nothing in a piece fails
    for (const PairStatistics& part : parts) all.Add(part);
    return all;
  }

  // The element that is number `at` of those compared.
  ElementMismatch Describe(int64_t at) const {
    const auto [a, e] = Places(at);
    ElementMismatch mismatch;
    mismatch.actual = ElementText(type_, a);
    mismatch.expected = ElementText(type_, e);
    mismatch.index.resize(sizes_.size());
    for (size_t d = sizes_.size(); d-- > 0;) {
      mismatch.index[d] = at % sizes_[d];
      at /= sizes_[d];
    }
    return mismatch;
  }

 private:
  std::pair<const std::byte*, const std::byte*> Places(int64_t at) const {
    const auto size = static_cast<int64_t>(hlo::StorageBytes(type_));
    const auto [a, e] = rows_.Begin(at / rows_.row());
    const int64_t column = at % rows_.row();
    return {actual_.bytes().data() + (a + column) * size,
            expected_.bytes().data() + (e + column) * size};
  }

  void Piece(int64_t begin, int64_t end, PairStatistics& into) const {
    while (begin < end) {
      const int64_t count = std::min(end - begin, rows_.row() - begin % rows_.row());
      const auto [a, e] = Places(begin);
      ComparePairs(type_, a, e, count, bounds_, begin, into);
      begin += count;
    }
  }

  const Literal& actual_;
  const Literal& expected_;
  std::span<const int64_t> sizes_;
  LiveRows rows_;
  const ErrorBounds& bounds_;
  ElementType type_;
};

// One significant digit, upwards.
double RoundedUp(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  double unit = 1;
  while (unit > value) unit /= 10;
  while (unit * 10 <= value) unit *= 10;
  return std::ceil(value / unit) * unit;
}

// Bounds that would have let everything pass: the tightest relative one beside each absolute one.
std::vector<BoundPair> PassingBounds(const PairStatistics& pairs) {
  std::vector<BoundPair> passing;
  if (pairs.mismatched == 0 || pairs.max_abs_error == 0) return passing;
  if (pairs.nan.total() + pairs.inf.total() + pairs.inf_opposite != 0) return passing;
  double relative = 0;
  passing.push_back({RoundedUp(pairs.max_abs_error), 0});
  for (size_t k = ErrorHistogram::kClasses; k-- > 1;) {
    relative = std::max(relative, pairs.max_rel_by_abs[k]);
    const double absolute = k >= 2 ? ErrorHistogram::kBounds[k - 2] : 0;
    if (pairs.max_rel_by_abs[k] == 0 || !std::isfinite(relative)) continue;
    BoundPair pair{absolute, RoundedUp(relative)};
    // A smaller absolute bound under the same relative one makes the larger needless.
    if (passing.back().relative == pair.relative) passing.pop_back();
    passing.push_back(pair);
  }
  return passing;
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
  result.same_bits = !pairs.other_bits;
  result.mismatched = pairs.mismatched;
  result.max_abs_error = pairs.max_abs_error;
  result.max_rel_error = pairs.max_rel_error;
  result.max_ulp = pairs.max_ulp;
  result.nan = pairs.nan;
  result.inf = pairs.inf;
  result.nan_mismatched = pairs.nan.total();
  result.inf_mismatched = pairs.inf.total() + pairs.inf_opposite;
  result.histogram = pairs.histogram;
  result.passing_bounds = PassingBounds(pairs);
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
