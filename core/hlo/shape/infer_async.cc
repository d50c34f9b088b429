// Shape rules of asynchronous pairs and host transfers (XLA: ShapeVerifier::HandleAsyncStart,
// HandleCopyStart, HandleSend, HandleRecv, HandleInfeed, HandleOutfeed).
#include "core/base/counted.h"
#include "core/hlo/shape/infer.h"
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
  return Fail(input, fmt::format("has {} {}, expected a tuple of at least {}", what, Text(shape),
                                 Counted(count, "element")));
}

// ((operands…), result, state…)
Status CheckAsyncShape(const InferenceInput& input, const Shape& shape) {
  if (shape.IsTuple() && shape.elements().size() >= 2 && shape.elements()[0].IsTuple()) return {};
  return Fail(input, fmt::format("has shape {}, expected ((operands), result, …)", Text(shape)));
}

// True if `part` is `whole`, or a tuple whose elements are the first ones of the tuple `whole`:
// what an asynchronous call has bound so far (XLA: ShapeVerifier::IsShapePrefix).
bool IsPrefix(const Shape& part, const Shape& whole) {
  std::vector<std::pair<const Shape*, const Shape*>> open = {{&part, &whole}};
  while (!open.empty()) {
    auto [a, b] = open.back();
    open.pop_back();
    if (a->IsTuple() && a->elements().empty()) continue;
    if (CompatibleShapes(*a, *b)) continue;
    if (!a->IsTuple() || !b->IsTuple() || a->elements().size() > b->elements().size()) return false;
    for (size_t i = 0; i < a->elements().size(); ++i) {
      open.emplace_back(&a->elements()[i], &b->elements()[i]);
    }
  }
  return true;
}

// What `shape` says goes in and comes out are the first of what the computation takes and answers.
Status CheckWrapped(const InferenceInput& input, const Shape& shape) {
  if (FindAttribute(input, AttributeKey::kCalls) == nullptr) return {};
  HLOSCOPE_ASSIGN_OR_RETURN(const ProgramShape* program, NeedProgram(input, AttributeKey::kCalls));
  std::span<const Shape> operands = shape.elements()[0].elements();
  bool fits = operands.size() <= program->parameters.size();
  for (size_t i = 0; fits && i < operands.size(); ++i) {
    fits = IsPrefix(operands[i], input.module[program->parameters[i]]);
  }
  const Shape& result = input.module[program->result];
  if (fits && IsPrefix(shape.elements()[1], result)) return {};
  return Fail(input,
              fmt::format("has shape {}, but the computation has {} and result {}", Text(shape),
                          Counted(program->parameters.size(), "parameter"), Text(result)));
}

// Operands from `first` on are what `bound` lists from `already` on.
Status CheckBound(const InferenceInput& input, size_t first, std::span<const Shape> bound,
                  size_t already) {
  HLOSCOPE_TRY(CheckCount(input, first + bound.size() - already));
  for (size_t i = already; i < bound.size(); ++i) {
    const Shape& operand = *input.operands[first + i - already];
    if (CompatibleShapes(bound[i], operand)) continue;
    return Fail(input, fmt::format("has operand {} of shape {}, but its shape says {}",
                                   first + i - already, Text(operand), Text(bound[i])));
  }
  return {};
}

Shape TransferShape(Shape data) {
  return Shape::Tuple({std::move(data), Shape::Scalar(ElementType::kU32), Shape::Token()});
}

}  // namespace

Result<Shape> InferAsyncStart(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* declared, NeedDeclared(input));
  HLOSCOPE_TRY(CheckAsyncShape(input, *declared));
  HLOSCOPE_TRY(CheckBound(input, 0, declared->elements()[0].elements(), 0));
  HLOSCOPE_TRY(CheckWrapped(input, *declared));
  return *declared;
}

// An update may bind more operands and more of the result than the start or update before it.
Result<Shape> InferAsyncUpdate(const InferenceInput& input) {
  if (input.operands.empty()) return Fail(input, "has no operands, expected at least 1");
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* declared, NeedDeclared(input));
  const Shape& before = *input.operands[0];
  HLOSCOPE_TRY(CheckAsyncShape(input, before));
  HLOSCOPE_TRY(CheckAsyncShape(input, *declared));
  for (size_t i = 0; i < 2; ++i) {
    if (IsPrefix(before.elements()[i], declared->elements()[i])) continue;
    return Fail(input, fmt::format("has shape {}, expected it to extend {}", Text(*declared),
                                   Text(before)));
  }
  HLOSCOPE_TRY(CheckBound(input, 1, declared->elements()[0].elements(),
                          before.elements()[0].elements().size()));
  HLOSCOPE_TRY(CheckWrapped(input, *declared));
  return *declared;
}

Result<Shape> InferAsyncDone(const InferenceInput& input) {
  const Shape& before = *input.operands[0];
  HLOSCOPE_TRY(CheckAsyncShape(input, before));
  HLOSCOPE_TRY(CheckWrapped(input, before));
  // The result may be bound only here.
  bool binds = input.declared != nullptr && IsPrefix(before.elements()[1], *input.declared);
  return binds ? *input.declared : before.elements()[1];
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
    return Fail(input, fmt::format("has operand {}, expected the same destination and source",
                                   Text(start)));
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
      return Fail(input, fmt::format("has operand {}, but outfeed_shape={}",
                                     Text(*input.operands[0]), Text(shape)));
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
