// ArrayComparison: two arrays, or the same window of two, compared piece by piece on all CPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/debug/compare/compare_pairs.h"
#include "core/debug/compare/compare_values.h"
#include "core/hlo/literal.h"

namespace hloscope::debug {

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
  static constexpr int64_t kPiece = int64_t{1} << 18;  // elements

  // The live part of that size of both. All but the numbers must outlive it.
  ArrayComparison(const hlo::Literal& actual, const hlo::Literal& expected,
                  std::span<const int64_t> sizes, const ErrorBounds& bounds)
      : actual_(actual),
        expected_(expected),
        sizes_(sizes),
        rows_(sizes, actual.shape().dimensions(), expected.shape().dimensions()),
        bounds_(bounds),
        type_(actual.shape().element_type()) {}

  int64_t elements() const { return rows_.rows() * rows_.row(); }

  // `first`: the number of the first element, of a window that begins at a multiple of kPiece.
  PairStatistics Run(int64_t first = 0) const;
  // The element that is number `at` of those compared.
  ElementMismatch Describe(int64_t at) const;

 private:
  std::pair<const std::byte*, const std::byte*> Places(int64_t at) const;
  void Piece(int64_t begin, int64_t end, int64_t first, PairStatistics& into) const;

  const hlo::Literal& actual_;
  const hlo::Literal& expected_;
  std::span<const int64_t> sizes_;
  LiveRows rows_;
  const ErrorBounds& bounds_;
  hlo::ElementType type_;
};

// What the pairs say of the arrays, but for which elements they are.
void SetStatistics(const PairStatistics& pairs, LeafComparison& into);

}  // namespace hloscope::debug
