// Shape rules of asynchronous pairs and host transfers (XLA: ShapeVerifier::HandleAsyncStart,
// HandleCopyStart, HandleSend, HandleRecv, HandleInfeed, HandleOutfeed).
#include "core/hlo/infer.h"
#include "fmt/format.h"

namespace hloscope::hlo {
namespace {

Status CheckToken(const InferenceInput& input, size_t operand) {
  if (input.operands[operand]->IsToken()) return {};
  return Fail(input, fmt::format("has operand {} of shape {}, expected token[]", operand,
                                 Text(*input.operands[operand])));
}

// Element `i` of the tuple `shape`, which has at least `count` elements.
Result<const Shape*> TupleElement(const InferenceInput& input, std::string_view what,
                                  const Shape& shape, size_t i, size_t count) {
  if (shape.IsTuple() && shape.elements().size() >= count) return &shape.elements()[i];
  return Fail(input, fmt::format("has {} {}, expected a tuple of at least {} elements", what,
                                 Text(shape), count));
}

// ((operands…), result, state…)
Status CheckAsyncShape(const InferenceInput& input, const Shape& shape) {
  if (shape.IsTuple() && shape.elements().size() >= 2 && shape.elements()[0].IsTuple()) return {};
  return Fail(input, fmt::format("has shape {}, expected ((operands), result, …)", Text(shape)));
}

// The computation takes what `shape` says goes in, and answers what it says comes out.
Status CheckWrapped(const InferenceInput& input, const Shape& shape) {
  if (FindAttribute(input, AttributeKey::kCalls) == nullptr) return {};
  HLOSCOPE_ASSIGN_OR_RETURN(const ProgramShape* program, NeedProgram(input, AttributeKey::kCalls));
  std::span<const Shape> operands = shape.elements()[0].elements();
  bool fits = operands.size() == program->parameters.size();
  for (size_t i = 0; fits && i < operands.size(); ++i) {
    fits = CompatibleShapes(operands[i], input.module[program->parameters[i]]);
  }
  const Shape& result = input.module[program->result];
  if (fits && CompatibleShapes(result, shape.elements()[1])) return {};
  return Fail(input, fmt::format("has shape {}, the computation has {} parameters and result {}",
                                 Text(shape), program->parameters.size(), Text(result)));
}

Shape TransferShape(Shape data) {
  return Shape::Tuple({std::move(data), Shape::Scalar(ElementType::kU32), Shape::Token()});
}

}  // namespace

Result<Shape> InferAsyncStart(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* declared, NeedDeclared(input));
  HLOSCOPE_TRY(CheckAsyncShape(input, *declared));
  std::span<const Shape> operands = declared->elements()[0].elements();
  HLOSCOPE_TRY(CheckCount(input, operands.size()));
  for (size_t i = 0; i < operands.size(); ++i) {
    if (CompatibleShapes(operands[i], *input.operands[i])) continue;
    return Fail(input, fmt::format("has operand {} of shape {}, its shape says {}", i,
                                   Text(*input.operands[i]), Text(operands[i])));
  }
  HLOSCOPE_TRY(CheckWrapped(input, *declared));
  return *declared;
}

Result<Shape> InferAsyncUpdate(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckAsyncShape(input, *input.operands[0]));
  HLOSCOPE_TRY(CheckWrapped(input, *input.operands[0]));
  return *input.operands[0];
}

Result<Shape> InferAsyncDone(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckAsyncShape(input, *input.operands[0]));
  HLOSCOPE_TRY(CheckWrapped(input, *input.operands[0]));
  return input.operands[0]->elements()[1];
}

// (destination, source, context)
Result<Shape> InferCopyStart(const InferenceInput& input) {
  const Shape& source = *input.operands[0];
  return Shape::Tuple({source, source, Shape::Scalar(ElementType::kU32)});
}

Result<Shape> InferCopyDone(const InferenceInput& input) {
  const Shape& start = *input.operands[0];
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* destination, TupleElement(input, "operand", start, 0, 2));
  if (!CompatibleShapes(*destination, start.elements()[1])) {
    return Fail(input,
                fmt::format("has operand {}, expected equal destination and source", Text(start)));
  }
  return *destination;
}

Result<Shape> InferInfeed(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckToken(input, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* declared, NeedDeclared(input));
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* data, TupleElement(input, "result", *declared, 0, 2));
  return Shape::Tuple({*data, Shape::Token()});
}

Result<Shape> InferOutfeed(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckToken(input, 1));
  const Attribute* a = FindAttribute(input, AttributeKey::kOutfeedShape);
  if (a != nullptr) {
    const Shape& shape = input.module[ShapeId(a->value)];
    if (!CompatibleShapes(shape, *input.operands[0])) {
      return Fail(input, fmt::format("has operand {}, outfeed_shape={}", Text(*input.operands[0]),
                                     Text(shape)));
    }
  }
  return Shape::Token();
}

Result<Shape> InferSend(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckToken(input, 1));
  return TransferShape(*input.operands[0]);
}

Result<Shape> InferSendDone(const InferenceInput&) { return Shape::Token(); }

Result<Shape> InferRecv(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckToken(input, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* declared, NeedDeclared(input));
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* data, TupleElement(input, "result", *declared, 0, 3));
  return TransferShape(*data);
}

Result<Shape> InferRecvDone(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* data,
                            TupleElement(input, "operand", *input.operands[0], 0, 1));
  return Shape::Tuple({*data, Shape::Token()});
}

}  // namespace hloscope::hlo
