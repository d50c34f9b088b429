// Shape rules of data movement (XLA: ShapeInference::InferTransposeShape, InferReverseShape,
// InferPadShape, InferConcatOpShape, Infer{Get,Set}DimensionSizeShape; ShapeVerifier for broadcast,
// reshape and dynamic-reshape).
#include <algorithm>
#include <limits>

#include "core/base/checked.h"
#include "core/base/counted.h"
#include "core/hlo/shape/infer.h"
#include "fmt/format.h"

namespace hloscope::hlo {
namespace {

// With the shape left out, XLA takes the numbers for sizes in front of the operand's
// (InferBroadcastShape with broadcast_sizes).
Result<Shape> BroadcastBySizes(const InferenceInput& input, std::span<const int64_t> sizes) {
  const Shape& operand = *input.operands[0];
  for (int64_t size : sizes) {
    if (size < 0) {
      return Fail(input, fmt::format("has dimensions={} with negative size {}", Text(sizes), size));
    }
  }
  Shape result = Shape::Array(operand.element_type(), {sizes.begin(), sizes.end()});
  for (size_t i = 0; i < operand.rank(); ++i) AppendDimension(result, operand, i);
  return result;
}

Status CheckElementCounts(const InferenceInput& input, const Shape& from, const Shape& to) {
  if (from.has_unbounded_dimension()) return {};
  std::optional<int64_t> from_count = from.ElementCount(), to_count = to.ElementCount();
  if (from_count.has_value() && from_count == to_count) return {};
  auto text = [](std::optional<int64_t> count) {
    return count.has_value() ? fmt::format("{}", *count) : std::string("too many");
  };
  return Fail(input, fmt::format("has {} elements, operand {} ({} from {})", text(to_count),
                                 text(from_count), Text(to), Text(from)));
}

// low + size + high + interior padding, checked; nullopt on overflow.
std::optional<int64_t> PaddedSize(int64_t size, int64_t low, int64_t high, int64_t interior) {
  auto inside = CheckedMul(std::max<int64_t>(size - 1, 0), interior);
  auto sum = inside ? CheckedAdd(size, *inside) : std::nullopt;
  if (sum) sum = CheckedAdd(*sum, low);
  if (sum) sum = CheckedAdd(*sum, high);
  return sum;
}

// Joins dimension `i` of the next operand of a concatenation into the result.
Status JoinDimension(const InferenceInput& input, Shape& result, const Shape& next, size_t i,
                     bool along) {
  int64_t a = result.dimension(i), b = next.dimension(i);
  bool dynamic = result.is_dynamic_dimension(i) || next.is_dynamic_dimension(i);
  if (along) {
    std::optional<int64_t> sum = Shape::kUnboundedSize;
    if (!IsUnbounded(a) && !IsUnbounded(b)) sum = CheckedAdd(a, b);
    if (!sum.has_value())
      return Fail(input, fmt::format("has a result that overflows: {} + {}", a, b));
    SetDimension(result, i, *sum, dynamic);
    return {};
  }
  if (!SizesAgree(a, b)) {
    return Fail(input, fmt::format("has operands {} and {}, expected equal dimension {}",
                                   Text(*input.operands[0]), Text(next), i));
  }
  // `?` with a known size takes that size and its mark.
  if (IsUnbounded(a)) {
    SetDimension(result, i, b, next.is_dynamic_dimension(i));
  } else if (!IsUnbounded(b)) {
    SetDimension(result, i, a, dynamic);
  }
  return {};
}

Result<size_t> CheckSizeDimension(const InferenceInput& input) {
  const Shape& operand = *input.operands[0];
  HLOSCOPE_TRY(CheckArray(input, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(size_t dimension,
                            NeedDimension(input, AttributeKey::kDimensions, operand.rank()));
  if (operand.dimension(dimension) > std::numeric_limits<int32_t>::max()) {
    return Fail(input, fmt::format("has dimension {} of size {}, expected it to fit s32", dimension,
                                   operand.dimension(dimension)));
  }
  return dimension;
}

}  // namespace

// XLA: ShapeVerifier::HandleBroadcast. The dimensions need not be in order.
Result<Shape> InferBroadcast(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArray(input, 0));
  const Shape& operand = *input.operands[0];
  std::span<const int64_t> dimensions = IntsOr(input, AttributeKey::kDimensions);
  if (input.declared == nullptr) return BroadcastBySizes(input, dimensions);
  const Shape& declared = *input.declared;
  if (!declared.IsArray()) {
    return Fail(input, fmt::format("has result {}, expected an array", Text(declared)));
  }
  if (dimensions.size() != operand.rank()) {
    return Fail(input,
                fmt::format("has dimensions={} for operand {}, expected {}", Text(dimensions),
                            Text(operand), Counted(operand.rank(), "dimension")));
  }
  HLOSCOPE_TRY(CheckInRange(input, AttributeKey::kDimensions, dimensions, declared.rank()));
  HLOSCOPE_TRY(CheckUnique(input, AttributeKey::kDimensions, dimensions));
  for (size_t i = 0; i < operand.rank(); ++i) {
    auto to = static_cast<size_t>(dimensions[i]);
    if (SizesAgree(declared.dimension(to), operand.dimension(i))) continue;
    return Fail(input,
                fmt::format("has size {} in result dimension {}, operand dimension {} has {}",
                            declared.dimension(to), to, i, operand.dimension(i)));
  }
  return WithElementType(declared, operand.element_type());
}

// XLA: ShapeVerifier::HandleReshape; which result dimensions are dynamic is the text's choice.
Result<Shape> InferReshape(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArray(input, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* declared, NeedDeclared(input));
  if (!declared->IsArray()) {
    return Fail(input, fmt::format("has result {}, expected an array", Text(*declared)));
  }
  HLOSCOPE_TRY(CheckElementCounts(input, *input.operands[0], *declared));
  return WithElementType(*declared, input.operands[0]->element_type());
}

// XLA: ShapeVerifier::HandleDynamicReshape: one s32 operand for every result dimension.
Result<Shape> InferDynamicReshape(const InferenceInput& input) {
  if (input.operands.empty()) return Fail(input, "has no operands, expected at least 1");
  HLOSCOPE_ASSIGN_OR_RETURN(Shape result, InferReshape(input));
  HLOSCOPE_TRY(CheckCount(input, result.rank() + 1));
  for (const Shape* size : input.operands.subspan(1)) {
    if (size->IsArray() && size->element_type() == ElementType::kS32) continue;
    return Fail(input, fmt::format("has a size of shape {}, expected s32[]", Text(*size)));
  }
  return result;
}

Result<Shape> InferTranspose(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArray(input, 0));
  const Shape& operand = *input.operands[0];
  HLOSCOPE_ASSIGN_OR_RETURN(auto dimensions, NeedInts(input, AttributeKey::kDimensions));
  if (dimensions.size() != operand.rank()) {
    return Fail(input,
                fmt::format("has dimensions={} for operand {}, expected {}", Text(dimensions),
                            Text(operand), Counted(operand.rank(), "dimension")));
  }
  HLOSCOPE_TRY(CheckInRange(input, AttributeKey::kDimensions, dimensions, operand.rank()));
  HLOSCOPE_TRY(CheckUnique(input, AttributeKey::kDimensions, dimensions));
  Shape result = Shape::Array(operand.element_type(), {});
  std::vector<int64_t> new_place(operand.rank());
  for (size_t i = 0; i < dimensions.size(); ++i) {
    AppendDimension(result, operand, static_cast<size_t>(dimensions[i]));
    new_place[static_cast<size_t>(dimensions[i])] = static_cast<int64_t>(i);
  }
  if (!operand.has_layout()) return result;
  Layout layout = operand.layout();
  for (int64_t& dimension : layout.minor_to_major) {
    if (dimension < 0 || std::cmp_greater_equal(dimension, new_place.size())) return result;
    dimension = new_place[static_cast<size_t>(dimension)];
  }
  result.set_layout(std::move(layout));
  return result;
}

Result<Shape> InferReverse(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArray(input, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(auto dimensions, NeedInts(input, AttributeKey::kDimensions));
  HLOSCOPE_TRY(
      CheckInRange(input, AttributeKey::kDimensions, dimensions, input.operands[0]->rank()));
  HLOSCOPE_TRY(CheckUnique(input, AttributeKey::kDimensions, dimensions));
  return *input.operands[0];
}

Result<Shape> InferPad(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArrays(input));
  const Shape& operand = *input.operands[0];
  const Shape& value = *input.operands[1];
  HLOSCOPE_ASSIGN_OR_RETURN(auto padding, NeedInts(input, AttributeKey::kPadding));
  if (!value.IsScalar() ||
      !SameTypeIgnoringPrecision(operand.element_type(), value.element_type())) {
    return Fail(input, fmt::format("has padding value {}, expected {}[]", Text(value),
                                   ToString(operand.element_type())));
  }
  if (padding.size() != 3 * operand.rank()) {
    return Fail(input, fmt::format("has padding for {}, but operand {}",
                                   Counted(padding.size() / 3, "dimension"), Text(operand)));
  }
  Shape result = Shape::Array(HigherPrecision(operand.element_type(), value.element_type()), {});
  for (size_t i = 0; i < operand.rank(); ++i) {
    int64_t low = padding[3 * i], high = padding[3 * i + 1], interior = padding[3 * i + 2];
    int64_t size = operand.dimension(i);
    if (interior < 0) {
      return Fail(
          input, fmt::format("has interior padding {} in dimension {}, expected ≥ 0", interior, i));
    }
    std::optional<int64_t> padded =
        IsUnbounded(size) ? size : PaddedSize(size, low, high, interior);
    if (!padded.has_value() || (*padded < 0 && !IsUnbounded(*padded))) {
      return Fail(input, fmt::format("has padding {}_{}_{} of size {} in dimension {}: the result "
                                     "{}",
                                     low, high, interior, size, i,
                                     padded.has_value() ? "is negative" : "overflows"));
    }
    result.add_dimension(*padded, operand.is_dynamic_dimension(i));
  }
  return result;
}

Result<Shape> InferConcatenate(const InferenceInput& input) {
  if (input.operands.empty()) return Fail(input, "has no operands, expected at least 1");
  HLOSCOPE_TRY(CheckArrays(input));
  const Shape& first = *input.operands[0];
  HLOSCOPE_ASSIGN_OR_RETURN(size_t along,
                            NeedDimension(input, AttributeKey::kDimensions, first.rank()));
  Shape result = first;
  result.clear_layout();
  for (const Shape* next : input.operands.subspan(1)) {
    if (next->rank() != first.rank() ||
        !SameTypeIgnoringPrecision(next->element_type(), first.element_type())) {
      return Fail(input, fmt::format("has operands {} and {}, expected equal types and ranks",
                                     Text(first), Text(*next)));
    }
    for (size_t i = 0; i < first.rank(); ++i) {
      HLOSCOPE_TRY(JoinDimension(input, result, *next, i, i == along));
    }
    result.set_element_type(HigherPrecision(next->element_type(), result.element_type()));
  }
  return result;
}

Result<Shape> InferGetDimensionSize(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckSizeDimension(input));
  return Shape::Scalar(ElementType::kS32);
}

Result<Shape> InferSetDimensionSize(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(size_t dimension, CheckSizeDimension(input));
  const Shape& size = *input.operands[1];
  if (!size.IsScalar() || size.element_type() != ElementType::kS32) {
    return Fail(input, fmt::format("has a size of shape {}, expected s32[]", Text(size)));
  }
  Shape result = *input.operands[0];
  result.set_dynamic_dimension(dimension, true);
  return result;
}

}  // namespace hloscope::hlo
