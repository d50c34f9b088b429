// Shape rules of conversions between element types (XLA: ShapeInference::InferConvertShape,
// InferBitcastConvertShape, InferStochasticConvertShape, InferReducePrecisionShape).
#include <algorithm>

#include "core/hlo/shape/infer.h"
#include "fmt/format.h"

namespace hloscope::hlo {
namespace {

// The element type the text asks for stands only in the declared shape.
Result<ElementType> WantedType(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* declared, NeedDeclared(input));
  if (declared->IsArray()) return declared->element_type();
  return Fail(input, fmt::format("has result {}, expected an array", Text(*declared)));
}

Shape WithoutLastDimension(const Shape& shape) {
  Shape result = Shape::Array(shape.element_type(), {});
  for (size_t i = 0; i + 1 < shape.rank(); ++i) AppendDimension(result, shape, i);
  return result;
}

}  // namespace

Result<Shape> InferConvert(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArray(input, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(ElementType type, WantedType(input));
  return WithElementType(*input.operands[0], type);
}

Result<Shape> InferBitcastConvert(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArray(input, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(ElementType to, WantedType(input));
  const Shape& operand = *input.operands[0];
  ElementType from = operand.element_type();
  if (IsComplex(from) != IsComplex(to)) {
    return Fail(input, fmt::format("goes from {} to {}, expected both complex or neither",
                                   ToString(from), ToString(to)));
  }
  auto [narrow, wide] = std::minmax({BitWidth(from), BitWidth(to)});
  if (wide % narrow != 0) {
    return Fail(input, fmt::format("goes from {} to {}, but {} bits is not a multiple of {}",
                                   ToString(from), ToString(to), wide, narrow));
  }
  int64_t ratio = wide / narrow;
  if (BitWidth(from) > BitWidth(to)) {
    Shape result = WithElementType(operand, to);
    result.clear_layout();
    result.add_dimension(ratio);
    return result;
  }
  if (ratio == 1) return WithElementType(operand, to);
  if (operand.rank() == 0 || operand.dimension(operand.rank() - 1) != ratio) {
    return Fail(input, fmt::format("of {} to {} needs a last dimension of size {}", Text(operand),
                                   ToString(to), ratio));
  }
  return WithElementType(WithoutLastDimension(operand), to);
}

// A bitcast says its shape; that both sides have the same bytes depends on layouts, which the
// strict verifier checks.
Result<Shape> InferBitcast(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* declared, NeedDeclared(input));
  return *declared;
}

Result<Shape> InferStochasticConvert(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArrays(input));
  HLOSCOPE_ASSIGN_OR_RETURN(ElementType type, WantedType(input));
  const Shape& operand = *input.operands[0];
  const Shape& random = *input.operands[1];
  if (!IsFloat(operand.element_type()) || !IsUnsigned(random.element_type()) ||
      BitWidth(operand.element_type()) != BitWidth(random.element_type())) {
    return Fail(input, fmt::format("has operands {} and {}, expected floats and unsigned integers "
                                   "of the same width",
                                   Text(operand), Text(random)));
  }
  if (!SameDimensions(operand, random)) {
    return Fail(input, fmt::format("has operands {} and {}, expected equal dimensions",
                                   Text(operand), Text(random)));
  }
  return WithElementType(operand, type);
}

Result<Shape> InferReducePrecision(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArray(input, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(int64_t exponent, NeedInt(input, AttributeKey::kExponentBits));
  HLOSCOPE_ASSIGN_OR_RETURN(int64_t mantissa, NeedInt(input, AttributeKey::kMantissaBits));
  const Shape& operand = *input.operands[0];
  if (!IsFloat(operand.element_type())) {
    return Fail(input, fmt::format("has operand {}, expected floats", Text(operand)));
  }
  if (exponent < 1) return Fail(input, fmt::format("has exponent_bits={}, expected ≥ 1", exponent));
  if (mantissa < 0) return Fail(input, fmt::format("has mantissa_bits={}, expected ≥ 0", mantissa));
  return operand;
}

}  // namespace hloscope::hlo
