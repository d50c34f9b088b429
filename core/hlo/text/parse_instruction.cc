// One instruction: name, shape, opcode; and its place in the computation.
#include <algorithm>
#include <string>

#include "core/base/closest_text.h"
#include "core/hlo/text/name_uniquer.h"
#include "core/hlo/text/text_parser.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

constexpr uint64_t kShapeTag = 0x100;  // in SliceCache; attribute keys are less

// The text of a tuple shape at `start`, comments inside included; empty where it has no end.
std::string_view TupleSlice(const char* start, const char* end) {
  TextCursor cursor(std::string_view(start, static_cast<size_t>(end - start)));
  return cursor.ReadGroup().value_or(std::string_view());
}

// The text of a shape at `start` if its end is plain to see; empty else. Equal answers are equal
// shapes.
std::string_view ShapeSlice(const char* start, const char* end) {
  const char* p = start;
  auto slice = [&] { return std::string_view(start, static_cast<size_t>(p - start)); };
  if (*p == '(') return TupleSlice(start, end);
  while (p != end && TextCursor::IsIdentifierPart(*p)) ++p;
  if (p == end || *p != '[') return {};
  while (p != end && *p != ']' && *p != '\n') ++p;
  if (p == end || *p != ']') return {};
  ++p;
  if (end - p >= 2 && *p == '{' && (TextCursor::IsDigit(p[1]) || p[1] == ':')) {
    while (p != end && *p != '}' && *p != '\n') ++p;
    if (p == end || *p != '}') return {};
    ++p;
    return slice();
  }
  // Behind white space or a comment a layout may follow.
  const char* next = p;
  while (next != end && TextCursor::IsSpace(*next)) ++next;
  if (next != end && (*next == '{' || *next == '/')) return {};
  return slice();
}

}  // namespace

bool TextParser::IsKeyword(std::string_view word) {
  switch (word.size()) {
    case 3:
      return word == "inf" || word == "nan";
    case 4:
      return word == "true" || word == "ROOT";
    case 5:
      return word == "false" || word == "ENTRY";
    case 6:
      return word == "manual";
    case 7:
      return word == "unknown" || word == "maximal";
    case 8:
      return word == "shard_as";
    case 9:
      return word == "HloModule" || word == "FileNames" || word == "unreduced";
    case 10:
      return word == "replicated" || word == "shard_like";
    case 11:
      return word == "StackFrames";
    case 13:
      return word == "FunctionNames" || word == "FileLocations";
    default:
      return word == "last_tile_dim_replicate";
  }
}

bool TextParser::AtShape() {
  char c = cursor_.Peek();
  if (c == '(') return true;
  if (!TextCursor::IsIdentifierStart(c)) return false;
  const char* start = cursor_.position();
  const char* p = start;
  while (p != cursor_.end() && TextCursor::IsIdentifierPart(*p)) ++p;
  if (p == cursor_.end()) return false;
  if (*p == '[') return true;
  if (*p == '(') return p == start + 1 && *start == 'b';
  if (!TextCursor::IsSpace(*p)) return false;
  std::string_view word(start, static_cast<size_t>(p - start));
  ElementType type = ElementTypeFromText(word);
  return type != ElementType::kInvalid && type != ElementType::kTuple &&
         type != ElementType::kBuffer;
}

bool TextParser::ReadShapeId(ShapeId& shape) {
  cursor_.SkipSpace();
  const char* start = cursor_.position();
  if (start == cursor_.end()) return Expected("a shape");
  std::string_view slice = ShapeSlice(start, cursor_.end());
  uint64_t hash = SliceCache::Hash(kShapeTag, slice);
  if (const uint32_t* known = cache_.Find(hash, kShapeTag, slice)) {
    cursor_.set_position(start + slice.size());
    shape = ShapeId(*known);
    return true;
  }
  Shape value;
  if (!Take(ReadShape(cursor_, limits_), value)) return false;
  shape = builder_.InternShape(value.WithDefaultLayouts());
  std::string_view read = cursor_.Since(start);
  if (read.size() == slice.size()) cache_.Insert(hash, kShapeTag, slice, shape.index);
  return true;
}

bool TextParser::ReadOpcode(Draft& draft) {
  cursor_.SkipSpace();
  uint64_t offset = cursor_.offset();
  std::string_view text = cursor_.ReadIdentifier();
  if (text.empty()) return Expected("an opcode");
  if (std::optional<Opcode> opcode = OpcodeFromText(text)) {
    draft.opcode = *opcode;
    return true;
  }
  constexpr std::pair<std::string_view, Opcode> kSuffixes[] = {{"-start", Opcode::kAsyncStart},
                                                               {"-update", Opcode::kAsyncUpdate},
                                                               {"-done", Opcode::kAsyncDone}};
  for (auto [suffix, opcode] : kSuffixes) {
    if (!text.ends_with(suffix)) continue;
    draft.wrapped = OpcodeFromText(text.substr(0, text.size() - suffix.size()));
    draft.opcode = opcode;
    if (draft.wrapped) return true;
  }
  ClosestText closest(text);
  for (int k = 0; k < kOpcodeCount; ++k) closest.Offer(ToString(static_cast<Opcode>(k)));
  return Error("unknown-opcode", "`" + std::string(text) + "` is not an opcode, expected one",
               offset, closest.Hint());
}

bool TextParser::ParseInstruction() {
  size_t operands = operand_stack_.size();
  size_t attributes = attribute_stack_.size();
  bool root = cursor_.Peek() == 'R' && cursor_.ConsumeWord("ROOT");
  bool percent = cursor_.Peek() == '%';
  activity_.Done(static_cast<int64_t>(cursor_.offset()));
  auto offset = static_cast<uint32_t>(std::min<uint64_t>(cursor_.offset(), kNone));
  std::string_view text = cursor_.ReadName();
  if (text.empty() || (!percent && IsKeyword(text))) {
    cursor_.set_position(cursor_.text().data() + offset);
    return Expected("an instruction, `name = shape opcode(…)`");
  }
  Scope& s = scope();
  uint32_t index = kNone;
  if (!cursor_.Consume('=')) {
    Expected("`=` after the name of an instruction");
  } else {
    index = ParseRhs(text, offset, true);
  }
  operand_stack_.resize(operands);
  attribute_stack_.resize(attributes);
  if (index == kNone) {
    StringId name = builder_.Intern(text);
    if (SymbolOf(name).scope != s.id) SetSymbol(name, {s.id, kNone});
    return false;
  }
  if (!root) return true;
  if (s.root != kNone) {
    Error("root", "the computation has two ROOT instructions, expected one", offset,
          "the first is on line " + LineOf(s.instructions[s.root].offset));
    return true;
  }
  s.root = index;
  return true;
}

// Everything behind `name =`. Nested instructions have no name and may have no attributes.
uint32_t TextParser::ParseRhs(std::string_view name, uint32_t offset, bool attributes_allowed) {
  Draft draft;
  draft.name_hash = builder_.strings().Prepare(name);
  draft.offset = offset;
  draft.first_operand = operand_stack_.size();
  draft.first_attribute = attribute_stack_.size();
  ++draft_count_;
  if (!ReadDraft(draft, attributes_allowed)) return kNone;
  // A rule broken by a well-formed instruction: it is kept, so that reading goes on behind it.
  if (!CheckDraft(draft)) draft.broken = true;
  InferIfOmitted(draft);
  if (!draft.broken) NormalizeSharding(draft);
  AddImplied(draft);
  draft.name =
      name.empty() ? AnonymousName(draft.opcode) : builder_.strings().Intern(name, draft.name_hash);
  uint32_t index = Append(draft);
  Define(draft.name, index, offset);
  return index;
}

bool TextParser::ReadDraft(Draft& draft, bool attributes_allowed) {
  draft.has_shape = AtShape();
  if (draft.has_shape && !ReadShapeId(draft.shape)) return false;
  if (!ReadOpcode(draft)) return false;
  if (!draft.has_shape && !CanInferShape(draft.opcode)) {
    return Error("shape",
                 "the shape of this " + std::string(ToString(draft.opcode)) +
                     " is missing, expected it before the opcode",
                 draft.offset);
  }
  bool ok = draft.opcode == Opcode::kParameter  ? ReadParameterNumber(draft)
            : draft.opcode == Opcode::kConstant ? ReadConstant(draft)
                                                : ReadOperandList(draft);
  return ok && (!attributes_allowed || ReadAttributes(draft));
}

uint32_t TextParser::Append(Draft& draft) {
  Scope& s = scope();
  auto index = static_cast<uint32_t>(s.instructions.size());
  uint64_t count = uint64_t{index} + builder_.NextInstruction().index;
  if (count >= static_cast<uint64_t>(limits_.instructions)) {
    OverLimit("instructions", limits_.instructions, "instructions", draft.offset);
    return index == 0 ? kNone : index - 1;
  }
  std::span<const uint32_t> operands = OperandsOf(draft);
  std::span<const Attribute> attributes = AttributesOf(draft);
  Pending& i = s.instructions.emplace_back();
  i.name = draft.name;
  i.shape = draft.shape;
  i.opcode = draft.opcode;
  i.offset = draft.offset;
  i.first_operand = static_cast<uint32_t>(s.operands.size());
  i.operand_count = static_cast<uint32_t>(operands.size());
  i.first_attribute = static_cast<uint32_t>(s.attributes.size());
  i.attribute_count = static_cast<uint16_t>(attributes.size());
  for (uint32_t operand : operands) s.operands.push_back(InstructionId(operand));
  for (const Attribute& attribute : attributes) s.attributes.push_back(attribute);
  if (draft.has_predecessors) {
    auto at = std::find_if(attributes.begin(), attributes.end(), [](const Attribute& a) {
      return a.key == AttributeKey::kControlPredecessors;
    });
    s.predecessors.push_back({i.first_attribute + static_cast<uint32_t>(at - attributes.begin()),
                              draft.predecessors_first, draft.predecessors_count});
  }
  operand_stack_.resize(draft.first_operand);
  attribute_stack_.resize(draft.first_attribute);
  return index;
}

TextParser::Symbol& TextParser::SymbolOf(StringId name) {
  if (name.index >= symbols_.size()) symbols_.resize(name.index * size_t{2} + 64);
  return symbols_[name.index];
}

// Gives a name its meaning in this scope; what it means in a scope around it is put back later.
void TextParser::SetSymbol(StringId name, Symbol symbol) {
  Symbol& known = SymbolOf(name);
  for (size_t d = 0; known.scope != 0 && d + 1 < depth_; ++d) {
    if (scopes_[d]->id == known.scope) scope().shadowed.emplace_back(name, known);
  }
  known = symbol;
}

bool TextParser::Define(StringId name, uint32_t index, uint64_t offset) {
  Symbol& known = SymbolOf(name);
  Scope& s = scope();
  if (known.scope == 0) {
    known = {s.id, index};
    return CheckName(name, offset);
  }
  if (known.scope != s.id) {
    names_clash_ = true;
    SetSymbol(name, {s.id, index});
    return true;
  }
  std::string hint = "give one of the two another name";
  if (known.index != kNone) {
    hint = "the first is on line " + LineOf(s.instructions[known.index].offset);
  }
  return Error("duplicate-name",
               "instruction %" + std::string(builder_.module()[name]) +
                   " is defined twice in this computation",
               offset, std::move(hint));
}

// Names XLA would have to change to print them are errors there.
bool TextParser::CheckName(StringId id, uint64_t offset) {
  NoteSuffix(id);
  std::string_view name = builder_.module()[id];
  constexpr size_t kLongestType = 12;
  bool may_be_type = name.size() <= kLongestType && name.find('.') == std::string_view::npos;
  if (!may_be_type && TextCursor::IsIdentifierStart(name[0]) && !name.starts_with("__")) {
    return true;
  }
  std::string allowed = SanitizedName(name);
  if (allowed == name) return true;
  return Error("name", "`" + std::string(name) + "` cannot be the name of an instruction", offset,
               "rename it to `" + allowed + "`");
}

StringId TextParser::AnonymousName(Opcode opcode) {
  anonymous_counts_.resize(kOpcodeCount, 0);
  uint32_t& count = anonymous_counts_[static_cast<size_t>(opcode)];
  std::string base = std::string(ToString(opcode)) + ".anon";
  for (;; ++count) {
    StringId name = builder_.Intern(count == 0 ? base : base + "." + std::to_string(count));
    if (SymbolOf(name).scope == 0) return name;
  }
}

const Shape* TextParser::ShapeOf(uint32_t index) {
  if (index == kNone) return nullptr;
  ShapeId shape = scope().instructions[index].shape;
  return shape.valid() ? &ShapeOf(shape) : nullptr;
}

// Opcodes whose shape XLA's parser makes from the operands whatever the text says (after-all,
// add-dependency, transfers) follow it too.
bool TextParser::InferIfOmitted(Draft& draft) {
  if (draft.broken || (draft.has_shape && !ShapeFollowsOperands(draft.opcode))) return true;
  if (std::optional<bool> settled = TakeKnownShape(draft)) return *settled;
  std::vector<const Shape*> shapes;
  for (uint32_t operand : OperandsOf(draft)) {
    shapes.push_back(ShapeOf(operand));
    if (shapes.back() == nullptr) {
      draft.broken = true;
      return true;
    }
  }
  InferenceInput input{builder_.module(), draft.opcode, shapes, AttributesOf(draft)};
  input.programs = &programs_;
  input.keep_layouts = true;
  if (draft.has_shape) input.declared = &ShapeOf(draft.shape);
  Result<Shape> shape = InferShape(input);
  if (!shape && draft.has_shape) return true;  // the verifier says what is wrong
  if (!shape) {
    draft.broken = true;
    return Error("shape-inference", std::move(shape.error().message), draft.offset,
                 std::move(shape.error().hint));
  }
  draft.shape = builder_.InternShape(shape->WithDefaultLayouts());
  return true;
}

// A sharding of a tuple that is not one per leaf holds for every leaf.
bool TextParser::NormalizeSharding(Draft& draft) {
  if (!HasAttribute(draft, AttributeKey::kSharding) || !ShapeOf(draft.shape).IsTuple()) return true;
  std::span<Attribute> attributes = AttributesOf(draft);
  auto a = std::find_if(attributes.begin(), attributes.end(),
                        [](const Attribute& x) { return x.key == AttributeKey::kSharding; });
  const auto& one = builder_.module().Of<Sharding>(*a);
  if (one.kind == ShardingKind::kTuple) return true;
  size_t leaves = std::max<size_t>(1, ShapeOf(draft.shape).LeafCount());
  constexpr size_t kMaxEntries = size_t{1} << 24;
  if (leaves > kMaxEntries / (one.tiles.devices.size() + 1)) {
    return Error("limit", "the sharding repeated for every leaf is too large", draft.offset,
                 "give it as an iota, devices=[…]<=[…]");
  }
  Sharding tuple;
  tuple.kind = ShardingKind::kTuple;
  tuple.elements.assign(leaves, one);
  *a = builder_.Make(AttributeKey::kSharding, std::move(tuple));
  return true;
}

}  // namespace hloscope::hlo
