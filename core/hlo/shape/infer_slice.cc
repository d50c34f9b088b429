// Shape rules of slices (XLA: ShapeInference::InferSliceShape, InferDynamicSliceShape,
// InferDynamicUpdateSliceShape).
#include <limits>

#include "core/base/counted.h"
#include "core/hlo/shape/infer.h"
#include "fmt/format.h"

namespace hloscope::hlo {
namespace {

// Size of [start:limit:stride] of a dimension of `size` elements.
Result<int64_t> SliceSize(const InferenceInput& input, size_t i, int64_t size,
                          std::span<const int64_t> slice) {
  int64_t start = slice[0], limit = slice[1], stride = slice[2];
  auto text = [&] {
    return fmt::format("slice={{[{}:{}:{}]}} of dimension {}", start, limit, stride, i);
  };
  if (start < 0) return Fail(input, fmt::format("has {}: expected start ≥ 0", text()));
  if (stride <= 0) return Fail(input, fmt::format("has {}: expected stride > 0", text()));
  if (!IsUnbounded(size) && limit > size) {
    return Fail(input, fmt::format("has {} with limit beyond its size {}", text(), size));
  }
  if (start > limit) return Fail(input, fmt::format("has {}: expected start ≤ limit", text()));
  int64_t length = limit - start;
  return length / stride + (length % stride != 0 ? 1 : 0);
}

// Start indices: one integer scalar for every dimension, or (old texts) one vector of them.
Status CheckStarts(const InferenceInput& input, size_t first, size_t rank) {
  std::span<const Shape* const> starts = input.operands.subspan(first);
  for (size_t i = 0; i < starts.size(); ++i) {
    if (starts[i]->IsArray() && IsInteger(starts[i]->element_type())) continue;
    return Fail(input, fmt::format("has start index {} of shape {}, expected integers", i,
                                   Text(*starts[i])));
  }
  if (!starts.empty() && starts[0]->rank() == 1) {
    if (starts.size() == 1 && starts[0]->dimension(0) == static_cast<int64_t>(rank)) return {};
    return Fail(input, fmt::format("has start indices {}, expected one vector of {}",
                                   Text(*starts[0]), rank));
  }
  if (starts.size() != rank) {
    return Fail(input,
                fmt::format("has {} start indices, operand of rank {}", starts.size(), rank));
  }
  for (const Shape* start : starts) {
    if (start->IsScalar() && start->element_type() == starts[0]->element_type()) continue;
    return Fail(input, fmt::format("has start index of shape {}, expected {}[] like the first",
                                   Text(*start), ToString(starts[0]->element_type())));
  }
  return {};
}

}  // namespace

Result<Shape> InferSlice(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArray(input, 0));
  const Shape& operand = *input.operands[0];
  HLOSCOPE_ASSIGN_OR_RETURN(auto slices, NeedInts(input, AttributeKey::kSlice));
  if (slices.size() != 3 * operand.rank()) {
    return Fail(input, fmt::format("has slice= for {}, but operand {}",
                                   Counted(slices.size() / 3, "dimension"), Text(operand)));
  }
  Shape result = Shape::Array(operand.element_type(), {});
  for (size_t i = 0; i < operand.rank(); ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(int64_t size,
                              SliceSize(input, i, operand.dimension(i), slices.subspan(3 * i, 3)));
    bool bounded = operand.is_dynamic_dimension(i) && !operand.is_unbounded_dimension(i);
    result.add_dimension(size, bounded && size != 1);
  }
  return result;
}

Result<Shape> InferDynamicSlice(const InferenceInput& input) {
  if (input.operands.empty()) return Fail(input, "has no operands, expected at least 1");
  HLOSCOPE_TRY(CheckArray(input, 0));
  const Shape& operand = *input.operands[0];
  HLOSCOPE_TRY(CheckStarts(input, 1, operand.rank()));
  HLOSCOPE_ASSIGN_OR_RETURN(auto sizes, NeedInts(input, AttributeKey::kDynamicSliceSizes));
  if (sizes.size() != operand.rank()) {
    return Fail(input, fmt::format("has dynamic_slice_sizes={} for operand {}", Text(sizes),
                                   Text(operand)));
  }
  Shape result = Shape::Array(operand.element_type(), {});
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t of = operand.dimension(i);
    if (sizes[i] < 0 || (!IsUnbounded(of) && sizes[i] > of)) {
      return Fail(input, fmt::format("has dynamic_slice_sizes={} with {} for dimension {} of size "
                                     "{}",
                                     Text(sizes), sizes[i], i, of));
    }
    bool whole = sizes[i] > 1 && sizes[i] == of;
    result.add_dimension(sizes[i], whole && operand.is_dynamic_dimension(i));
  }
  return result;
}

// The operand may be a buffer, which is updated in place.
Result<Shape> InferDynamicUpdateSlice(const InferenceInput& input) {
  if (input.operands.size() < 2) {
    return Fail(input, fmt::format("has {}, expected at least 2",
                                   Counted(input.operands.size(), "operand")));
  }
  HLOSCOPE_TRY(CheckArray(input, 1));
  Shape result = *input.operands[0];
  if (!result.IsBuffer()) HLOSCOPE_TRY(CheckArray(input, 0));
  Shape& operand = result.IsBuffer() ? result.mutable_elements()[0] : result;
  const Shape& update = *input.operands[1];
  HLOSCOPE_TRY(CheckStarts(input, 2, operand.rank()));
  if (update.rank() != operand.rank() ||
      !SameTypeIgnoringPrecision(update.element_type(), operand.element_type())) {
    return Fail(input, fmt::format("has operand {} and update {}, expected equal types and ranks",
                                   Text(operand), Text(update)));
  }
  for (size_t i = 0; i < operand.rank(); ++i) {
    int64_t size = operand.dimension(i), part = update.dimension(i);
    if (!IsUnbounded(size) && !IsUnbounded(part) && part > size) {
      return Fail(input, fmt::format("has update {} larger than operand {} in dimension {}",
                                     Text(update), Text(operand), i));
    }
    if (update.is_dynamic_dimension(i) && part == size) operand.set_dynamic_dimension(i, true);
  }
  return result;
}

}  // namespace hloscope::hlo
