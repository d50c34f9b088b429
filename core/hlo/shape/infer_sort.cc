// Shape rules of sort and topk (XLA: ShapeVerifier::HandleSort, ShapeInference::InferTopKShape).
#include "core/base/counted.h"
#include "core/hlo/shape/infer.h"
#include "fmt/format.h"

namespace hloscope::hlo {
namespace {

// The comparator answers pred[] to two scalars of every operand's type.
Status CheckComparator(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(const ProgramShape* compare,
                            NeedProgram(input, AttributeKey::kToApply));
  const Shape& result = input.module[compare->result];
  if (!IsPredScalar(result)) {
    return Fail(input,
                fmt::format("has a comparator with result {}, expected pred[]", Text(result)));
  }
  if (compare->parameters.size() != 2 * input.operands.size()) {
    return Fail(input, fmt::format("has a comparator of {}, expected {}",
                                   Counted(compare->parameters.size(), "parameter"),
                                   2 * input.operands.size()));
  }
  for (size_t i = 0; i < compare->parameters.size(); ++i) {
    const Shape& parameter = input.module[compare->parameters[i]];
    ElementType type = input.operands[i / 2]->element_type();
    if (CompatibleIgnoringPrecision(parameter, Shape::Scalar(type))) continue;
    return Fail(input, fmt::format("has a comparator with parameter {} of shape {}, expected {}[]",
                                   i, Text(parameter), ToString(type)));
  }
  return {};
}

}  // namespace

Result<Shape> InferSort(const InferenceInput& input) {
  if (input.operands.empty()) return Fail(input, "has no operands, expected at least 1");
  HLOSCOPE_TRY(CheckArrays(input));
  const Shape& keys = *input.operands[0];
  HLOSCOPE_TRY(NeedDimension(input, AttributeKey::kDimensions, keys.rank()));
  for (const Shape* values : input.operands.subspan(1)) {
    if (SameDimensions(keys, *values)) continue;
    return Fail(input, fmt::format("has operands {} and {}, expected equal dimensions", Text(keys),
                                   Text(*values)));
  }
  HLOSCOPE_TRY(CheckComparator(input));
  return OperandOrTuple(input);
}

Result<Shape> InferTopK(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArray(input, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(int64_t k, NeedInt(input, AttributeKey::kK));
  const Shape& operand = *input.operands[0];
  if (operand.rank() == 0) {
    return Fail(input, fmt::format("has operand {}, expected rank ≥ 1", Text(operand)));
  }
  size_t last = operand.rank() - 1;
  if (k < 0 || (!IsUnbounded(operand.dimension(last)) && k > operand.dimension(last))) {
    return Fail(input, fmt::format("has k={}, last dimension of {} is {}", k, Text(operand),
                                   operand.dimension(last)));
  }
  Shape values = operand;
  values.clear_layout();
  SetDimension(values, last, k, false);
  Shape indices = WithElementType(values, ElementType::kS32);
  return Shape::Tuple({std::move(values), std::move(indices)});
}

}  // namespace hloscope::hlo
