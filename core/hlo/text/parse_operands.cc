// Operands: names, with or without shapes, elements like %t#0, and nested instructions.
#include <algorithm>
#include <string>
#include <utility>

#include "core/base/closest_text.h"
#include "core/base/work_count.h"
#include "core/hlo/text/text_parser.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

constexpr uint64_t kLiteralTag = uint64_t{1} << 32;  // with the shape id, in SliceCache

}  // namespace

bool TextParser::ReadOperandList(Draft& draft) {
  if (!Need('(')) return false;
  if (cursor_.Consume(')')) return true;
  do {
    if (std::cmp_greater_equal(operand_stack_.size() - draft.first_operand, limits_.operands)) {
      return OverLimit("operands", limits_.operands, "operands", draft.offset);
    }
    if (!ReadOperand(draft)) return false;
  } while (cursor_.Consume(','));
  return Need(')');
}

bool TextParser::ReadOperand(Draft& draft) {
  char c = cursor_.Peek();
  const char* start = cursor_.position();
  ShapeId declared;
  if (c != '%' && AtShape()) {
    if (!ReadShapeId(declared)) return false;
    c = cursor_.Peek();
  }
  uint64_t offset = cursor_.offset();
  std::string_view name = cursor_.ReadName();
  if (name.empty()) {
    if (!declared.valid() || !scope().makes_parameters) return Expected("an operand");
    operand_stack_.push_back(MakeParameter(StringId(), declared, offset));
    return true;
  }
  if (c != '%' && cursor_.Peek() == '(') return ReadNestedOperand(draft, start);
  return ReadNamedOperand(draft, declared, name, offset);
}

bool TextParser::ReadNamedOperand(Draft& draft, ShapeId declared, std::string_view name,
                                  uint64_t offset) {
  StringId id = builder_.Intern(name);
  Symbol symbol = SymbolOf(id);
  uint32_t index = kNone;
  if (symbol.scope == scope().id) {
    index = symbol.index;
  } else if (scope().makes_parameters) {
    if (!declared.valid()) {
      return Error(
          "undefined-operand", "operand %" + std::string(name) + " has no shape", offset,
          "without a module around it, every operand of an instruction is written with its shape");
    }
    index = MakeParameter(id, declared, offset);
  } else {
    UndefinedOperand(name, offset);
  }
  if (cursor_.position() != cursor_.end() && *cursor_.position() == '#') {
    bool ok = true;
    index = ReadCompactElements(index, name, offset, ok);
    if (!ok) return false;
  }
  const bool known = index != kNone && scope().instructions[index].shape.valid();
  if (!known || (declared.valid() && !CheckOperandShape(index, declared, offset))) {
    draft.broken = true;
  }
  operand_stack_.push_back(index);
  return true;
}

bool TextParser::CheckOperandShape(uint32_t index, ShapeId declared, uint64_t offset) {
  ShapeId actual = scope().instructions[index].shape;
  if (!actual.valid() || actual == declared) return true;
  constexpr ShapeComparison kHow = {.dynamic_dimensions = false};
  if (Compatible(ShapeOf(actual), ShapeOf(declared), kHow)) return true;
  if (Full()) return Error("operand-shape", {}, offset);
  return Error("operand-shape",
               "operand is written as " + ToString(ShapeOf(declared), false) + ", but it is " +
                   ToString(ShapeOf(actual), false),
               offset);
}

bool TextParser::UndefinedOperand(std::string_view name, uint64_t offset) {
  // Nobody will see the message: no search for what could have been meant.
  if (Full()) return Error("undefined-operand", {}, offset);
  constexpr size_t kMaxCandidates = 4000;
  const Scope& s = scope();
  ClosestText closest(name);
  size_t first = s.instructions.size() - std::min(s.instructions.size(), kMaxCandidates);
  for (size_t k = first; k < s.instructions.size(); ++k) {
    closest.Offer(builder_.module()[s.instructions[k].name]);
  }
  std::string hint = closest.Hint("%");
  // Perhaps it is there, but too late.
  std::string_view rest = cursor_.text().substr(cursor_.offset());
  rest = rest.substr(0, rest.find("\n}"));
  CountWork(rest.size() + s.instructions.size() - first);
  size_t at = rest.find(std::string(name) + " = ");
  if (at != std::string_view::npos && at > 0 && !TextCursor::IsIdentifierPart(rest[at - 1])) {
    hint = "it is defined later, on line " + LineOf(cursor_.offset() + at);
  }
  return Error("undefined-operand",
               "operand %" + std::string(name) +
                   " is not defined in this computation, expected an earlier instruction",
               offset, std::move(hint));
}

// add(negate(a), b): the inner instruction joins the computation before the outer one.
bool TextParser::ReadNestedOperand(Draft& draft, const char* start) {
  cursor_.set_position(start);
  auto offset = static_cast<uint32_t>(std::min<uint64_t>(cursor_.offset(), kNone));
  if (++nesting_ > limits_.nesting) {
    --nesting_;
    return Error("nesting",
                 "operands are nested too deeply, expected at most " +
                     std::to_string(limits_.nesting) + " levels",
                 offset, "raise it with --limit nesting=N");
  }
  uint32_t index = ParseRhs({}, offset, false);
  --nesting_;
  if (index == kNone) return false;
  if (!scope().instructions[index].shape.valid()) draft.broken = true;
  operand_stack_.push_back(index);
  return true;
}

// %t#1#0 is element 0 of element 1 of %t: get-tuple-elements called t_1 and t_1_0.
uint32_t TextParser::ReadCompactElements(uint32_t index, std::string_view name, uint64_t offset,
                                         bool& ok) {
  std::string element_name(name);
  while (ok && cursor_.position() != cursor_.end() && *cursor_.position() == '#') {
    cursor_.Consume('#');
    std::optional<int64_t> element = cursor_.ReadInt();
    if (!element || *element < 0) {
      ok = Expected("the index of a tuple element");
      return kNone;
    }
    element_name += "_" + std::to_string(*element);
    if (element_name.size() > static_cast<size_t>(limits_.token_bytes)) {
      ok = OverLimit("bytes in a name", limits_.token_bytes, "token", offset);
      return kNone;
    }
    if (index != kNone) index = ElementOf(index, *element, element_name, offset, ok);
  }
  return index;
}

uint32_t TextParser::ElementOf(uint32_t tuple, int64_t element, std::string& name, uint64_t offset,
                               bool& ok) {
  StringId id = builder_.Intern(name);
  Symbol symbol = SymbolOf(id);
  Scope& s = scope();
  if (symbol.scope == s.id && symbol.index != kNone) {
    if (s.instructions[symbol.index].compact) return symbol.index;
    ok = Error("duplicate-name",
               "the compact operand needs the name %" + name + ", which is already in use", offset,
               "write a get-tuple-element instead, or rename %" + name);
    return kNone;
  }
  const Shape* shape = ShapeOf(tuple);
  if (shape == nullptr) return kNone;
  if (!shape->IsTuple() || static_cast<size_t>(element) >= shape->elements().size()) {
    ok = Error("operand-shape",
               "there is no element " + std::to_string(element) + " in " + ToString(*shape, false),
               offset);
    return kNone;
  }
  Draft draft;
  draft.name = id;
  draft.offset = static_cast<uint32_t>(offset);
  draft.opcode = Opcode::kGetTupleElement;
  draft.shape = *ElementShape(s.instructions[tuple].shape, element);
  draft.first_operand = operand_stack_.size();
  draft.first_attribute = attribute_stack_.size();
  operand_stack_.push_back(tuple);
  Push(builder_.MakeInt(AttributeKey::kIndex, element));
  uint32_t index = Append(draft);
  s.instructions[index].compact = true;
  Define(id, index, offset);
  return index;
}

uint32_t TextParser::MakeParameter(StringId name, ShapeId shape, uint64_t offset) {
  auto number = static_cast<int64_t>(scope().parameters.size());
  if (!name.valid()) name = builder_.Intern("_" + std::to_string(number));
  Draft draft;
  draft.name = name;
  draft.offset = static_cast<uint32_t>(offset);
  draft.shape = shape;
  draft.first_operand = operand_stack_.size();
  draft.first_attribute = attribute_stack_.size();
  Push(builder_.MakeInt(AttributeKey::kParameterNumber, number));
  uint32_t index = Append(draft);
  scope().parameters.emplace_back(number, index);
  Define(name, index, offset);
  return index;
}

bool TextParser::ReadParameterNumber(Draft& draft) {
  int64_t number = 0;
  if (!Need('(') || !ReadIntValue(number)) return false;
  if (number < 0) {
    return Error("parameter-number",
                 "parameter number is " + std::to_string(number) + ", expected 0 or more",
                 draft.offset);
  }
  if (!Need(')')) return false;
  Push(builder_.MakeInt(AttributeKey::kParameterNumber, number));
  scope().parameters.emplace_back(number, static_cast<uint32_t>(scope().instructions.size()));
  return true;
}

// Short values are read once for every shape.
bool TextParser::ReadConstant(Draft& draft) {
  if (!Need('(')) return false;
  draft.shape = LiteralShape(draft.shape);
  cursor_.SkipSpace();
  const char* start = cursor_.position();
  const char* stop = start;
  constexpr ptrdiff_t kLongest = 40;
  while (stop != cursor_.end() && *stop != ')' && *stop != '(' && stop - start < kLongest) ++stop;
  std::string_view slice;
  if (stop != cursor_.end() && *stop == ')') {
    slice = std::string_view(start, static_cast<size_t>(stop - start));
  }
  uint64_t tag = kLiteralTag | draft.shape.index;
  uint64_t hash = SliceCache::Hash(tag, slice);
  if (const uint32_t* known = cache_.Find(hash, tag, slice)) {
    Push({AttributeKey::kConstantValue, false, *known});
    cursor_.set_position(stop + 1);
    return true;
  }
  Literal literal;
  if (!Take(ReadLiteral(cursor_, ShapeOf(draft.shape), limits_), literal)) return false;
  Attribute value = builder_.Make(AttributeKey::kConstantValue, std::move(literal));
  cursor_.SkipSpace();
  if (cursor_.position() == stop) cache_.Insert(hash, tag, slice, value.value);
  Push(value);
  return Need(')');
}

}  // namespace hloscope::hlo
