// Shape rules of batch normalization (XLA: ShapeInference::InferBatchNorm…Shape).
#include "core/hlo/shape/infer.h"
#include "fmt/format.h"

namespace hloscope::hlo {
namespace {

// Operand 0 is an array of floats, the operands in `vectors` have one element for each of its
// features. Answers the feature dimension as a vector.
Result<Shape> CheckFeatures(const InferenceInput& input, std::initializer_list<size_t> vectors) {
  HLOSCOPE_TRY(CheckArrays(input));
  const Shape& operand = *input.operands[0];
  HLOSCOPE_ASSIGN_OR_RETURN(int64_t index, NeedInt(input, AttributeKey::kFeatureIndex));
  if (index < 0 || std::cmp_greater_equal(index, operand.rank())) {
    return Fail(input, fmt::format("has feature_index={}, but operand {}", index, Text(operand)));
  }
  if (!IsFloat(operand.element_type())) {
    return Fail(input, fmt::format("has operand {}, expected floats", Text(operand)));
  }
  auto feature = static_cast<size_t>(index);
  for (size_t i : vectors) {
    const Shape& vector = *input.operands[i];
    if (vector.rank() == 1 && IsFloat(vector.element_type()) &&
        SizesAgree(vector.dimension(0), operand.dimension(feature))) {
      continue;
    }
    return Fail(input, fmt::format("has operand {} of shape {}, expected {}[{}] (one element for "
                                   "each feature)",
                                   i, Text(vector), ToString(operand.element_type()),
                                   operand.dimension(feature)));
  }
  Shape features = Shape::Array(operand.element_type(), {});
  AppendDimension(features, operand, feature);
  return features;
}

}  // namespace

Result<Shape> InferBatchNormTraining(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(Shape features, CheckFeatures(input, {1, 2}));
  return Shape::Tuple({*input.operands[0], features, features});
}

Result<Shape> InferBatchNormInference(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckFeatures(input, {1, 2, 3, 4}));
  return *input.operands[0];
}

Result<Shape> InferBatchNormGrad(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(Shape features, CheckFeatures(input, {1, 2, 3}));
  const Shape& operand = *input.operands[0];
  const Shape& gradient = *input.operands[4];
  if (!IsFloat(gradient.element_type()) || !SameDimensions(operand, gradient)) {
    return Fail(input, fmt::format("has operand {} and gradient {}, expected equal dimensions of "
                                   "floats",
                                   Text(operand), Text(gradient)));
  }
  return Shape::Tuple({operand, features, features});
}

}  // namespace hloscope::hlo
