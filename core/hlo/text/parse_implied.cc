// What XLA's instructions know beyond their text, filled in as they are read.
#include "core/hlo/opcode_table.h"
#include "core/hlo/text/text_parser.h"

namespace hloscope::hlo {
namespace {

// An async instruction hands these on to the instruction it wraps.
bool IsForwarded(AttributeKey key) {
  return key == AttributeKey::kFrontendAttributes || key == AttributeKey::kStatistics ||
         key == AttributeKey::kOrigin || key == AttributeKey::kMetadata ||
         key == AttributeKey::kBackendConfig;
}

// Without dynamic dimensions and the element size of a packed layout; false if it has neither.
bool MakePlain(Shape& shape) {
  bool changed = false;
  for (Shape& element : shape.mutable_elements()) changed |= MakePlain(element);
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (!shape.is_dynamic_dimension(d) || shape.is_unbounded_dimension(d)) continue;
    shape.set_dynamic_dimension(d, false);
    changed = true;
  }
  if (!shape.has_layout() || shape.layout().element_size_in_bits() == 0) return changed;
  Layout layout = shape.layout();
  LayoutExtras extras = *layout.extras;
  extras.element_size_in_bits = 0;
  layout.extras = extras == LayoutExtras() ? nullptr : std::make_shared<const LayoutExtras>(extras);
  shape.set_layout(std::move(layout));
  return true;
}

}  // namespace

void TextParser::AddImplied(Draft& draft) {
  if (draft.broken) return;
  static constexpr OpcodeSet kAsync = {Opcode::kAsyncStart, Opcode::kAsyncUpdate,
                                       Opcode::kAsyncDone};
  if (draft.opcode == Opcode::kGetTupleElement) InheritOrigin(draft);
  if (kAsync.Has(draft.opcode)) ForwardToWrapped(draft);
}

// The shape of a literal, which is never packed or dynamic.
ShapeId TextParser::LiteralShape(ShapeId id) {
  const Shape& given = ShapeOf(id);
  bool plain = !given.has_layout() || given.layout().extras == nullptr;
  if (!given.IsTuple() && plain && !given.has_dynamic_dimension()) return id;
  Shape shape = given;
  return MakePlain(shape) ? builder_.InternShape(std::move(shape)) : id;
}

// An element taken from a tuple instruction is what was put there.
void TextParser::InheritOrigin(Draft& draft) {
  const Attribute* index = FindAttribute(draft, AttributeKey::kIndex);
  uint32_t operand = OperandsOf(draft)[0];
  if (operand == kNone || index == nullptr || HasAttribute(draft, AttributeKey::kOrigin)) return;
  const Scope& s = scope();
  const Pending& tuple = s.instructions[operand];
  if (tuple.opcode != Opcode::kTuple || index->value >= tuple.operand_count) return;
  uint32_t inside = s.operands[tuple.first_operand + index->value].index;
  if (inside >= s.instructions.size()) return;  // an operand that was reported as missing
  const Pending& element = s.instructions[inside];
  for (size_t k = 0; k < element.attribute_count; ++k) {
    Attribute a = s.attributes[element.first_attribute + k];
    if (a.key == AttributeKey::kOrigin) return Push(a);
  }
}

// The last one of the chain that says something has its way.
void TextParser::ForwardToWrapped(Draft& draft) {
  const Attribute* calls = FindAttribute(draft, AttributeKey::kCalls);
  uint32_t computation = calls == nullptr ? kNone : calls->value;
  if (draft.opcode != Opcode::kAsyncStart) {
    auto known = scope().async_starts.find(static_cast<uint32_t>(scope().instructions.size()));
    if (known == scope().async_starts.end() || known->second >= scope().instructions.size()) return;
    computation = WrappedComputationOf(known->second);
  }
  if (computation == kNone) return;
  InstructionId root = builder_.module()[ComputationId(computation)].root;
  if (!root.valid()) return;
  for (const Attribute& a : AttributesOf(draft)) {
    if (IsForwarded(a.key)) builder_.SetAttribute(root, a);
  }
}

uint32_t TextParser::WrappedComputationOf(uint32_t start) {
  const Pending& i = scope().instructions[start];
  for (size_t k = 0; k < i.attribute_count; ++k) {
    const Attribute& a = scope().attributes[i.first_attribute + k];
    if (a.key == AttributeKey::kCalls) return a.value;
  }
  return kNone;
}

}  // namespace hloscope::hlo
