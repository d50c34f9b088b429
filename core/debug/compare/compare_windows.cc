// Window after window of both arrays; what was found is added up in order.
#include "core/debug/compare/compare_windows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/progress/activity.h"
#include "core/debug/compare/array_comparison.h"
#include "core/debug/compare/compare_bits.h"

namespace hloscope::debug {
namespace {

using hlo::Literal;
using hlo::Shape;

Shape WithType(const Shape& shape, hlo::ElementType type) {
  const auto sizes = shape.dimensions();
  return Shape::Array(type, {sizes.begin(), sizes.end()});
}

}  // namespace

Result<LeafComparison> CompareWindows(dump::ArrayWindows& actual, dump::ArrayWindows& expected,
                                      const BoundsRequest& request) {
  const hlo::ElementType type = dump::TypeWith(actual.form(), expected.form()),
                         other = dump::TypeWith(expected.form(), actual.form());
  LeafComparison result;
  result.shape = WithType(actual.form().shape, type);
  const Shape meant = WithType(expected.form().shape, other);
  // What it says of shapes.
  if (result.shape != meant) {
    return CompareArrays(Literal::Elided(result.shape), Literal::Elided(meant), request);
  }
  result.bounds = BoundsFor(type, request);
  result.elements = actual.left();
  result.same_bits = true;
  const auto sizes = meant.dimensions();
  const int64_t piece_bytes = ArrayComparison::kPiece * hlo::StorageBytes(type);
  const int64_t window = std::max<int64_t>(1, kWindowBytes / piece_bytes) * ArrayComparison::kPiece;
  Activity activity("comparing values", {}, actual.left());
  PairStatistics all;
  for (int64_t first = 0; actual.left() > 0; first += window) {
    const int64_t count = std::min(window, actual.left());
    activity.Done(first);
    HLOSCOPE_ASSIGN_OR_RETURN(const Literal a, actual.Next(count));
    HLOSCOPE_ASSIGN_OR_RETURN(const Literal e, expected.Next(count));
    const Literal a_typed = dump::WithType(type, a), e_typed = dump::WithType(other, e);
    const int64_t size[] = {count};
    const ArrayComparison comparison(a_typed, e_typed, size, result.bounds);
    all.Add(comparison.Run(first));
    const auto describe = [&](int64_t at, std::optional<ElementMismatch>& into) {
      if (at < first) return;  // of an earlier window, or none
      into = comparison.Describe(at - first);
      into->index = IndexOf(at, sizes);
    };
    describe(all.first.at, result.first_mismatch);
    describe(all.worst.at, result.worst_mismatch);
  }
  if (result.elements > 0) SetStatistics(all, result);
  return result;
}

Result<FileComparison> CompareValues(const dump::ValueSet& a, size_t k, const dump::ValueSet& b,
                                     size_t i, const BoundsRequest& request) {
  HLOSCOPE_ASSIGN_OR_RETURN(auto windows, a.Windows(k));
  HLOSCOPE_ASSIGN_OR_RETURN(auto others, b.Windows(i));
  if (windows && others) {
    HLOSCOPE_ASSIGN_OR_RETURN(LeafComparison leaf, CompareWindows(*windows, *others, request));
    return FileComparison{std::move(leaf), windows->form().is_raw && others->form().is_raw};
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const dump::NamedValue value, a.Read(k));
  HLOSCOPE_ASSIGN_OR_RETURN(const dump::NamedValue other, b.Read(i));
  return FileComparison{
      CompareArrays(dump::WithTypeOf(value, other), dump::WithTypeOf(other, value), request),
      value.is_raw && other.is_raw};
}

}  // namespace hloscope::debug
