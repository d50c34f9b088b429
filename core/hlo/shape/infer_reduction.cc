// Shape rules of reductions (XLA: ShapeInference::InferReduceShape, InferReduceWindowShape,
// InferSelectAndScatterShape, InferMapShape).
#include "core/base/counted.h"
#include "core/hlo/shape/infer.h"
#include "core/hlo/window.h"
#include "fmt/format.h"

namespace hloscope::hlo {
namespace {

// The 2n operands of a variadic reduction: n inputs of equal dimensions, n initial values.
struct Reduced {
  std::span<const Shape* const> inputs;
  std::vector<ElementType> types;
  std::vector<Shape> init_values;
};

Result<Reduced> SplitOperands(const InferenceInput& input) {
  size_t count = input.operands.size();
  if (count == 0 || count % 2 != 0) {
    return Fail(input, fmt::format("has {}, expected inputs and as many initial values",
                                   Counted(count, "operand")));
  }
  HLOSCOPE_TRY(CheckArrays(input));
  Reduced reduced{.inputs = input.operands.first(count / 2), .types = {}, .init_values = {}};
  for (size_t i = 0; i < count / 2; ++i) {
    if (!SameDimensions(*reduced.inputs[0], *reduced.inputs[i])) {
      return Fail(input, fmt::format("has inputs {} and {}, expected equal dimensions",
                                     Text(*reduced.inputs[0]), Text(*reduced.inputs[i])));
    }
    reduced.types.push_back(reduced.inputs[i]->element_type());
    reduced.init_values.push_back(*input.operands[count / 2 + i]);
  }
  return reduced;
}

const Window* FindWindow(const InferenceInput& input) {
  const Attribute* a = FindAttribute(input, AttributeKey::kWindow);
  return a == nullptr ? nullptr : &input.module.Of<Window>(*a);
}

// XLA: InferWindowOutputShape.
Result<Shape> WindowShape(const InferenceInput& input, const Shape& base, ElementType type) {
  const Window* window = FindWindow(input);
  static const Window kNone;
  if (window == nullptr) window = &kNone;
  if (window->dimensions.size() != base.rank()) {
    return Fail(input, fmt::format("has a window of {}, but operand {}",
                                   Counted(window->dimensions.size(), "dimension"), Text(base)));
  }
  Shape result = Shape::Array(type, {});
  for (size_t i = 0; i < base.rank(); ++i) {
    bool unbounded = base.is_unbounded_dimension(i);
    Result<int64_t> places = WindowPlaces(window->dimensions[i], unbounded ? 0 : base.dimension(i));
    // What does not fit an empty dimension may fit an unknown one.
    if (!places.has_value() && !unbounded) {
      return Fail(input, fmt::format("dimension {}: {}", i, places.error().message));
    }
    result.add_dimension(unbounded ? Shape::kUnboundedSize : *places, base.is_dynamic_dimension(i));
  }
  return result;
}

// The select computation of select-and-scatter: (T, T) -> pred[].
Status CheckSelect(const InferenceInput& input, const ProgramShape& select, ElementType type) {
  if (select.parameters.size() != 2) {
    return Fail(input, fmt::format("has a select computation of {}, expected 2",
                                   Counted(select.parameters.size(), "parameter")));
  }
  if (!IsPredScalar(input.module[select.result])) {
    return Fail(input, fmt::format("has a select computation with result {}, expected pred[]",
                                   Text(input.module[select.result])));
  }
  for (ShapeId id : select.parameters) {
    if (CompatibleIgnoringPrecision(input.module[id], Shape::Scalar(type))) continue;
    return Fail(input, fmt::format("has a select computation with parameter {}, expected {}[]",
                                   Text(input.module[id]), ToString(type)));
  }
  return {};
}

// The operand whose dimensions a map takes; scalars go with any shape.
Result<const Shape*> MapShape(const InferenceInput& input) {
  const Shape* whole = input.operands[0];
  for (const Shape* next : input.operands.subspan(1)) {
    if (SameDimensions(*next, *whole)) continue;
    bool same_type = SameTypeIgnoringPrecision(next->element_type(), whole->element_type());
    if (!same_type || !(next->IsScalar() || whole->IsScalar())) {
      return Fail(input, fmt::format("has operands {} and {}, expected equal shapes", Text(*whole),
                                     Text(*next)));
    }
    if (whole->IsScalar()) whole = next;
  }
  return whole;
}

Status CheckMapComputation(const InferenceInput& input, const ProgramShape& program) {
  if (program.parameters.size() != input.operands.size()) {
    return Fail(input, fmt::format("has {}, but a computation with {}",
                                   Counted(input.operands.size(), "operand"),
                                   Counted(program.parameters.size(), "parameter")));
  }
  if (!input.module[program.result].IsScalar()) {
    return Fail(input, fmt::format("has a computation with result {}, expected a scalar",
                                   Text(input.module[program.result])));
  }
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const Shape& parameter = input.module[program.parameters[i]];
    ElementType type = input.operands[i]->element_type();
    if (CompatibleIgnoringPrecision(parameter, Shape::Scalar(type))) continue;
    return Fail(input, fmt::format("has a computation with parameter {} of shape {}, expected {}[]",
                                   i, Text(parameter), ToString(type)));
  }
  return {};
}

}  // namespace

Result<Shape> InferReduce(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(Reduced reduced, SplitOperands(input));
  const Shape& first = *reduced.inputs[0];
  HLOSCOPE_ASSIGN_OR_RETURN(auto dimensions, NeedInts(input, AttributeKey::kDimensions));
  HLOSCOPE_TRY(CheckInRange(input, AttributeKey::kDimensions, dimensions, first.rank()));
  HLOSCOPE_TRY(CheckUnique(input, AttributeKey::kDimensions, dimensions));
  HLOSCOPE_ASSIGN_OR_RETURN(const ProgramShape* reducer,
                            NeedProgram(input, AttributeKey::kToApply));
  HLOSCOPE_TRY(CheckReducer(input, *reducer, reduced.types, reduced.init_values));
  Shape kept = Shape::Array(ElementType::kPred, {});
  for (size_t i = 0; i < first.rank(); ++i) {
    if (!Contains(dimensions, static_cast<int64_t>(i))) AppendDimension(kept, first, i);
  }
  const Shape& answer = input.module[reducer->result];
  if (!answer.IsTuple()) return WithElementType(kept, answer.element_type());
  std::vector<Shape> results;
  for (const Shape& scalar : answer.elements()) {
    results.push_back(WithElementType(kept, scalar.element_type()));
  }
  return Shape::Tuple(std::move(results));
}

Result<Shape> InferReduceWindow(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(Reduced reduced, SplitOperands(input));
  HLOSCOPE_ASSIGN_OR_RETURN(const ProgramShape* reducer,
                            NeedProgram(input, AttributeKey::kToApply));
  HLOSCOPE_TRY(CheckReducer(input, *reducer, reduced.types, reduced.init_values));
  std::vector<Shape> results;
  for (size_t i = 0; i < reduced.inputs.size(); ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(Shape result, WindowShape(input, *reduced.inputs[i],
                                                        reduced.init_values[i].element_type()));
    results.push_back(std::move(result));
  }
  if (!input.module[reducer->result].IsTuple()) return std::move(results[0]);
  return Shape::Tuple(std::move(results));
}

Result<Shape> InferSelectAndScatter(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArrays(input));
  const Shape& operand = *input.operands[0];
  const Shape& source = *input.operands[1];
  HLOSCOPE_ASSIGN_OR_RETURN(const ProgramShape* select,
                            NeedProgram(input, AttributeKey::kSelectComputation));
  HLOSCOPE_TRY(CheckSelect(input, *select, operand.element_type()));
  HLOSCOPE_ASSIGN_OR_RETURN(const ProgramShape* scatter,
                            NeedProgram(input, AttributeKey::kScatterComputation));
  ElementType type = source.element_type();
  HLOSCOPE_TRY(CheckReducer(input, *scatter, std::span(&type, 1), std::span(input.operands[2], 1)));
  HLOSCOPE_ASSIGN_OR_RETURN(Shape places, WindowShape(input, operand, operand.element_type()));
  if (!CompatibleIgnoringPrecision(source, places)) {
    return Fail(input, fmt::format("has source {}, but the window over {} has {}", Text(source),
                                   Text(operand), Text(places)));
  }
  return operand;
}

Result<Shape> InferMap(const InferenceInput& input) {
  if (input.operands.empty()) return Fail(input, "has no operands, expected at least 1");
  HLOSCOPE_TRY(CheckArrays(input));
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* whole, MapShape(input));
  // Every dimension is mapped, in order; XLA looks at the list only where it has to infer.
  if (input.declared == nullptr) {
    std::span<const int64_t> dimensions = IntsOr(input, AttributeKey::kDimensions);
    HLOSCOPE_TRY(CheckAscending(input, AttributeKey::kDimensions, dimensions, whole->rank()));
    if (dimensions.size() != whole->rank()) {
      return Fail(input, fmt::format("has dimensions={}, expected all {} of {}", Text(dimensions),
                                     whole->rank(), Text(*whole)));
    }
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const ProgramShape* program,
                            NeedProgram(input, AttributeKey::kToApply));
  HLOSCOPE_TRY(CheckMapComputation(input, *program));
  Shape result = WithElementType(*whole, input.module[program->result].element_type());
  result.clear_layout();
  return result;
}

}  // namespace hloscope::hlo
