// Asynchronous operations: async-start, -update and -done, and their short form negate-start.
#include <algorithm>
#include <string>

#include "core/base/counted.h"
#include "core/hlo/analysis/async_chain.h"
#include "core/hlo/text/text_parser.h"

namespace hloscope::hlo {
namespace {

// Attributes of async-start itself; in negate-start and the like all others are of the wrapped
// instruction, as is the aliasing where that has one of its own.
bool IsOwn(AttributeKey key, Opcode wrapped) {
  if (key == AttributeKey::kAsyncExecutionThread) return true;
  return key == AttributeKey::kOutputToOperandAliasing && wrapped != Opcode::kCustomCall &&
         wrapped != Opcode::kFusion;
}

bool IsAsyncShape(const Shape& shape) {
  return shape.IsTuple() && shape.elements().size() >= 2 && shape.elements()[0].IsTuple();
}

}  // namespace

bool TextParser::CheckAsync(Draft& draft) {
  bool ok = draft.opcode == Opcode::kAsyncStart ? CheckAsyncStart(draft) : CheckAsyncChain(draft);
  auto index = static_cast<uint32_t>(scope().instructions.size());
  // Known even if wrong, so that what follows on it is judged by itself.
  scope().async_starts.try_emplace(index, index);
  return ok;
}

bool TextParser::CheckAsyncStart(Draft& draft) {
  if (draft.broken) return true;
  if (!IsAsyncShape(ShapeOf(draft.shape))) {
    return Error("async",
                 "async-start is " + ToString(ShapeOf(draft.shape), false) +
                     ", expected ((operands), outputs, state)",
                 draft.offset);
  }
  return !draft.wrapped || WrapAsync(draft);
}

// async-update and async-done name the instruction before them in the chain, or in newer texts
// something that hands its state on; an async-update may bind further operands.
bool TextParser::CheckAsyncChain(Draft& draft) {
  Scope& s = scope();
  uint32_t before = OperandsOf(draft)[0];
  if (before == kNone) return true;
  auto known = s.async_starts.find(before);
  if (known == s.async_starts.end() && HandsAsyncStateOn(s.instructions[before])) {
    return draft.opcode == Opcode::kAsyncDone || CheckAsyncUpdate(draft, ShapeOf(before));
  }
  if (known == s.async_starts.end() || s.instructions[before].opcode == Opcode::kAsyncDone) {
    return Error("async",
                 std::string(ToString(draft.opcode)) + " has the operand %" +
                     std::string(builder_.module()[s.instructions[before].name]) +
                     ", expected an async-start or async-update",
                 draft.offset);
  }
  uint32_t start = known->second;
  s.async_starts[static_cast<uint32_t>(s.instructions.size())] = start;
  if (draft.wrapped && WrappedOpcodeOf(start) && WrappedOpcodeOf(start) != draft.wrapped) {
    return Error("async",
                 "this ends a " + std::string(ToString(*draft.wrapped)) + ", but its start is a " +
                     std::string(ToString(*WrappedOpcodeOf(start))),
                 draft.offset);
  }
  const Pending& origin = s.instructions[start];
  std::span<const Attribute> theirs =
      std::span(s.attributes).subspan(origin.first_attribute, origin.attribute_count);
  for (AttributeKey key : {AttributeKey::kCalls, AttributeKey::kAsyncExecutionThread}) {
    const Attribute* mine = FindAttribute(draft, key);
    if (mine == nullptr || draft.broken) continue;
    bool same = std::any_of(theirs.begin(), theirs.end(), [&](const Attribute& a) {
      return a.key == key && a.value == mine->value;
    });
    if (!same &&
        (key == AttributeKey::kCalls || builder_.module()[StringId(mine->value)] != "main")) {
      return Error("async", std::string(Info(key).text) + " differs from that of the async-start",
                   draft.offset);
    }
  }
  // Inherited from the start, so not kept twice.
  auto first = attribute_stack_.begin() + static_cast<std::ptrdiff_t>(draft.first_attribute);
  attribute_stack_.erase(std::remove_if(first, attribute_stack_.end(),
                                        [](const Attribute& a) {
                                          return a.key == AttributeKey::kCalls ||
                                                 a.key == AttributeKey::kAsyncExecutionThread;
                                        }),
                         attribute_stack_.end());
  if (draft.opcode == Opcode::kAsyncDone) return true;
  return CheckAsyncUpdate(draft, ShapeOf(before));
}

// What `previous` has bound, and what this async-update binds, make up the operands in its shape.
bool TextParser::CheckAsyncUpdate(const Draft& draft, const Shape* previous) {
  if (!IsAsyncShape(ShapeOf(draft.shape))) {
    return Error("async",
                 "async-update is " + ToString(ShapeOf(draft.shape), false) +
                     ", expected ((operands), outputs, …)",
                 draft.offset);
  }
  if (previous == nullptr || !IsAsyncShape(*previous)) return true;
  size_t bound = previous->elements()[0].elements().size() + OperandsOf(draft).size() - 1;
  size_t now = ShapeOf(draft.shape).elements()[0].elements().size();
  return bound == now || Error("async",
                               "async-update binds " + Counted(bound, "operand") +
                                   ", but its shape has " + std::to_string(now),
                               draft.offset);
}

bool TextParser::HandsAsyncStateOn(const Pending& i) {
  return MayCarryAsyncState(i.opcode) && i.shape.valid() && IsAsyncShape(ShapeOf(i.shape));
}

std::optional<Opcode> TextParser::WrappedOpcodeOf(uint32_t start) {
  const Pending& i = scope().instructions[start];
  const Module& m = builder_.module();
  for (size_t k = 0; k < i.attribute_count; ++k) {
    const Attribute& a = scope().attributes[i.first_attribute + k];
    if (a.key != AttributeKey::kCalls || a.value == kNone) continue;
    return m[m[ComputationId(a.value)].root].opcode;
  }
  return std::nullopt;
}

// Puts the instruction of negate-start into a computation of its own.
bool TextParser::WrapAsync(Draft& draft) {
  std::vector<Attribute> inner;
  SplitWrappedAttributes(draft, inner);
  Scope& wrapper = OpenScope();
  // A call whose operands are bound later has the parameters of its callee.
  const Module& m = builder_.module();
  ShapeId result = builder_.InternShape(Shape(ShapeOf(draft.shape).elements()[1]));
  std::vector<ShapeId> shapes;
  Scope& outer = *scopes_[depth_ - 2];
  for (uint32_t operand : OperandsOf(draft)) shapes.push_back(outer.instructions[operand].shape);
  auto callee = std::find_if(inner.begin(), inner.end(),
                             [](const Attribute& a) { return a.key == AttributeKey::kToApply; });
  if (draft.wrapped == Opcode::kCall && callee != inner.end()) {
    ComputationId id(callee->value);
    std::vector<InstructionId> parameters = m.Parameters(id);
    if (parameters.size() > shapes.size()) {
      shapes.clear();
      for (InstructionId p : parameters) shapes.push_back(m[p].shape);
      result = m[m[id].root].shape;
    }
  }
  bool fits = Info(*draft.wrapped).arity < 0 ||
              static_cast<size_t>(Info(*draft.wrapped).arity) == shapes.size();
  if (!fits) {
    LeaveScope();
    return Error("operand-count",
                 std::string(ToString(*draft.wrapped)) + "-start has " +
                     Counted(shapes.size(), "operand") + ", expected " +
                     std::to_string(Info(*draft.wrapped).arity),
                 draft.offset);
  }
  StringId parameter = builder_.Intern("async_param");
  Pending i;
  i.offset = draft.offset;
  for (ShapeId shape : shapes) {
    i.name = parameter;
    i.shape = shape;
    i.first_attribute = static_cast<uint32_t>(wrapper.attributes.size());
    i.attribute_count = 1;
    wrapper.operands.push_back(InstructionId(wrapper.instructions.size()));
    wrapper.attributes.push_back(builder_.MakeInt(
        AttributeKey::kParameterNumber, static_cast<int64_t>(wrapper.instructions.size())));
    wrapper.instructions.push_back(i);
  }
  i.name = builder_.Intern(ToString(*draft.wrapped));  // as XLA names what has no name
  i.shape = result;
  i.opcode = *draft.wrapped;
  i.operand_count = static_cast<uint32_t>(shapes.size());
  i.first_attribute = static_cast<uint32_t>(wrapper.attributes.size());
  i.attribute_count = static_cast<uint16_t>(inner.size());
  wrapper.attributes.insert(wrapper.attributes.end(), inner.begin(), inner.end());
  wrapper.instructions.push_back(i);
  names_clash_ = true;
  ComputationId id = CloseScope(builder_.Intern("async_wrapped"));
  Push(builder_.MakeComputation(AttributeKey::kCalls, id));
  return true;
}

// What is common to all instructions stays outside, and is (but for sharding and control
// predecessors) said of the wrapped one too.
void TextParser::SplitWrappedAttributes(Draft& draft, std::vector<Attribute>& inner) {
  std::vector<Attribute> outer;
  for (const Attribute& a : AttributesOf(draft)) {
    bool own = IsOwn(a.key, *draft.wrapped);
    bool common = IsCommon(a.key);
    if (own || common) outer.push_back(a);
    bool shared = common && a.key != AttributeKey::kSharding &&
                  a.key != AttributeKey::kControlPredecessors && a.key != AttributeKey::kUnknown;
    if (!own && (!common || shared)) inner.push_back(a);
  }
  attribute_stack_.resize(draft.first_attribute);
  attribute_stack_.insert(attribute_stack_.end(), outer.begin(), outer.end());
}

}  // namespace hloscope::hlo
