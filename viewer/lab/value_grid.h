// ValueGrid: an array laid out as pages of rows and columns, as numbers and as text, next to what
// was expected in its place.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/hlo/literal.h"
#include "viewer/model/verdict_table.h"

namespace hloscope::viewer {

// What an element is to be shown by.
enum class ValueSide : uint8_t { kReference, kActual, kUlp, kError };

struct ValueSummary {
  int64_t elements = 0, nans = 0, infinities = 0, zeros = 0;
  double least = 0, largest = 0, mean = 0;  // of the finite ones; 0 without any
};

class ValueGrid {
 public:
  static constexpr size_t kBins = 64;

  // Both are arrays, `actual` of the reference's element type and size where it is given.
  // `bounds` judge elements.
  ValueGrid(hlo::Literal reference, std::optional<hlo::Literal> actual,
            const debug::BoundsRequest& bounds = {});

  const hlo::Shape& shape() const { return reference_.shape(); }
  bool has_actual() const { return actual_.has_value(); }
  // The last dimension lies along a row, the one before it down the rows, all others are pages.
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t pages() const { return pages_; }
  int64_t At(int64_t page, int64_t row, int64_t column) const {
    return (page * rows_ + row) * columns_ + column;
  }
  // "[2,0,17]": the index of an element.
  std::string IndexText(int64_t element) const;
  std::string Text(ValueSide side, int64_t element) const;
  // The same with at most five significant digits; integers as they are.
  std::string ShortText(ValueSide side, int64_t element) const;
  // ShortText; of distances nothing where the bits are the same.
  std::string CellText(ValueSide side, int64_t element) const;
  // As wide as any ShortText of that side.
  std::string_view WidestText(ValueSide side) const;
  // Neither NaN nor infinite.
  bool IsFinite(ValueSide side, int64_t element) const;
  // The first element of the reference that is not finite; -1: none. Reads all of it.
  int64_t FirstNonFinite() const;
  // As a number: the magnitude of complex ones; the distance for kUlp, |actual - reference| for
  // kError.
  double Number(ValueSide side, int64_t element) const;

  // How an element of both sides does; nullopt: there is one side only.
  std::optional<Verdict> VerdictAt(int64_t element) const;

  // Over all elements, or as many as fit a tenth of a second (see `sampled`).
  const ValueSummary& summary(ValueSide side);
  // Counts of kBins equal steps from least to largest.
  const std::array<int64_t, kBins>& histogram(ValueSide side);
  bool sampled() const { return step_ > 1; }

 private:
  struct Counted {
    ValueSummary summary;
    std::array<int64_t, kBins> bins = {};
  };
  Counted& Count(ValueSide side);

  hlo::Literal reference_;
  std::optional<hlo::Literal> actual_;
  debug::ErrorBounds bounds_;
  int64_t rows_ = 1, columns_ = 1, pages_ = 1, elements_ = 0;
  int64_t step_ = 1;  // every so many elements are counted
  std::array<std::optional<Counted>, 4> counted_;
};

}  // namespace hloscope::viewer
