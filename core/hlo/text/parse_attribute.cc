// Attributes: which one it is, and one reader per kind of value.
#include <charconv>
#include <limits>
#include <string>

#include "core/base/closest_text.h"
#include "core/base/counted.h"
#include "core/base/work_count.h"
#include "core/hlo/text/body_names.h"
#include "core/hlo/text/text_parser.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {

// In the order of ValueKind.
const TextParser::Reader TextParser::kReaders[] = {
    &TextParser::ReadBool,
    &TextParser::ReadInt,
    &TextParser::ReadFloat,
    &TextParser::ReadEnum,
    &TextParser::ReadStringValue,
    &TextParser::ReadInts,
    &TextParser::ReadBoolList,
    &TextParser::ReadEnums,
    &TextParser::ReadPairs,
    &TextParser::ReadPadding,
    &TextParser::ReadSlices,
    &TextParser::ReadComputationValue,
    &TextParser::ReadComputations,
    &TextParser::ReadInstructions,
    &TextParser::ReadShapeValue,
    &TextParser::ReadShapes,
    &TextParser::ReadLiteralValue,
    &TextParser::ReadWindow,
    &TextParser::ReadDimLabels,
    &TextParser::ReadDevices,
    &TextParser::ReadShardingValue,
    &TextParser::ReadDomain,
    &TextParser::ReadFrontendAttributes,
    &TextParser::ReadAliasing,
    &TextParser::ReadStatistics,
    &TextParser::ReadOriginalValue,
    &TextParser::ReadResultAccuracy,
    &TextParser::ReadMetadata,
    &TextParser::ReadBackendConfig,
    &TextParser::ReadRaw,
};

bool TextParser::ReadAttributes(Draft& draft) {
  while (cursor_.Consume(',')) {
    if (!ReadAttribute(draft)) return false;
  }
  constexpr size_t kMax = 4096;
  if (attribute_stack_.size() - draft.first_attribute > kMax) {
    return Error("limit", "the instruction has more than 4096 attributes", draft.offset);
  }
  return true;
}

bool TextParser::ReadAttribute(Draft& draft) {
  cursor_.SkipSpace();
  uint64_t offset = cursor_.offset();
  std::string_view name = cursor_.ReadIdentifier();
  if (name.empty() || cursor_.position() == cursor_.end() || *cursor_.position() != '=') {
    cursor_.set_position(cursor_.text().data() + offset);
    return Expected("an attribute, `name=value`");
  }
  cursor_.Consume('=');
  std::optional<AttributeKey> key;
  if (draft.wrapped) key = AttributeFromText(*draft.wrapped, name);
  if (!key && name == "metadata") key = AttributeKey::kMetadata;
  if (!key) key = AttributeFromText(draft.opcode, name);
  if (!key && name == "calls" && PrintsBodyAsCalls(draft.wrapped.value_or(draft.opcode))) {
    key = AttributeKey::kToApply;
  }
  if (!key) return KeepUnknown(draft, name, offset);
  if (!MarkSeen(draft, *key, name, offset)) return false;
  return (this->*kReaders[static_cast<size_t>(Info(*key).kind)])(draft, *key);
}

bool TextParser::MarkSeen(Draft& draft, AttributeKey key, std::string_view name, uint64_t offset) {
  auto k = static_cast<size_t>(key);
  if (HasAttribute(draft, key)) {
    return Error("duplicate-attribute",
                 "attribute " + std::string(name) + " appears twice, expected once", offset);
  }
  draft.seen[k / 64] |= uint64_t{1} << (k % 64);
  return true;
}

namespace {

bool IsKnownAnywhere(std::string_view name) {
  for (int k = 0; k < kAttributeKeyCount; ++k) {
    if (Info(static_cast<AttributeKey>(k)).text == name) return true;
  }
  return false;
}

std::string Allowed(Opcode opcode) {
  std::string list;
  for (const AttributeUse& use : Info(opcode).attributes) {
    list += (list.empty() ? "" : ", ") + std::string(Info(use.key).text);
  }
  return list.empty() ? "it has no attributes of its own" : "it takes " + list;
}

}  // namespace

// An attribute nobody knows, or that this opcode does not take, is kept as it is written.
bool TextParser::KeepUnknown(Draft& draft, std::string_view name, uint64_t offset) {
  StringId id = builder_.Intern(name);
  if (attribute_epochs_.size() <= id.index)
    attribute_epochs_.resize(symbols_.size() + id.index + 1);
  if (attribute_epochs_[id.index] == draft_count_) {
    return Error("duplicate-attribute",
                 "attribute " + std::string(name) + " appears twice, expected once", offset);
  }
  attribute_epochs_[id.index] = draft_count_;
  std::string_view text = cursor_.ReadRawValue();
  if (text.empty()) return Expected("a value for attribute " + std::string(name));
  bool misplaced = IsKnownAnywhere(name);
  Opcode opcode = draft.wrapped.value_or(draft.opcode);
  std::string message = "attribute " + std::string(name);
  message += misplaced ? " does not belong to " + std::string(ToString(opcode)) : " is unknown";
  ClosestText closest(name);
  for (const AttributeUse& use : Info(opcode).attributes) closest.Offer(Info(use.key).text);
  for (int k = static_cast<int>(AttributeKey::kSharding); k < kAttributeKeyCount; ++k) {
    closest.Offer(Info(static_cast<AttributeKey>(k)).text);
  }
  std::string hint = closest.Hint();
  Warn(misplaced ? "misplaced-attribute" : "unknown-attribute", message + " and is kept as written",
       offset, hint.empty() ? Allowed(opcode) : hint);
  RawAttribute raw{id, builder_.Intern(text), static_cast<uint32_t>(offset), misplaced};
  Push(builder_.Make(AttributeKey::kUnknown, raw));
  return true;
}

bool TextParser::Need(char c) {
  if (cursor_.Consume(c)) return true;
  const char text[] = {'`', c, '`', '\0'};
  return Expected(text);
}

bool TextParser::ReadIntValue(int64_t& value) {
  std::optional<int64_t> read = cursor_.ReadInt();
  if (!read) return Expected("an integer of 64 bits");
  value = *read;
  return true;
}

bool TextParser::ReadInt32(int32_t& value) {
  cursor_.SkipSpace();
  uint64_t offset = cursor_.offset();
  int64_t wide = 0;
  if (!ReadIntValue(wide)) return false;
  value = static_cast<int32_t>(wide);
  if (value == wide) return true;
  return Error("syntax", std::to_string(wide) + " does not fit 32 bits", offset);
}

bool TextParser::ReadDoubleValue(double& value) {
  char c = cursor_.Peek();
  auto [after, error] = std::from_chars(cursor_.position(), cursor_.end(), value);
  if (error == std::errc::result_out_of_range) return Expected("a number that fits a double");
  if (error != std::errc() ||
      !(c == '-' || c == '.' || c == 'i' || c == 'n' || TextCursor::IsDigit(c))) {
    return Expected("a number");
  }
  cursor_.set_position(after);
  return true;
}

bool TextParser::ReadIntList(char open, char close, char separator, std::vector<int64_t>& values) {
  if (!Need(open)) return false;
  if (cursor_.Consume(close)) return true;
  do {
    int64_t value = 0;
    if (!ReadIntValue(value)) return false;
    values.push_back(value);
  } while (cursor_.Consume(separator));
  return Need(close);
}

bool TextParser::ReadStringId(StringId& id) {
  cursor_.SkipSpace();
  uint64_t offset = cursor_.offset();
  std::optional<TextCursor::RawString> raw = cursor_.ReadRawString();
  if (!raw) return Expected("a quoted string");
  if (raw->text.size() > static_cast<size_t>(limits_.token_bytes)) {
    return OverLimit("bytes in a string", limits_.token_bytes, "token", offset);
  }
  if (!raw->has_escapes) {
    id = builder_.Intern(raw->text);
    return true;
  }
  std::optional<std::string> text = Unescape(raw->text);
  if (!text) return Error("syntax", "the string has a malformed escape", offset);
  id = builder_.Intern(*text);
  return true;
}

bool TextParser::ReadJsonOrString(StringId& id, bool& json) {
  json = cursor_.Peek() == '{';
  if (!json) {
    if (!ReadStringId(id)) return false;
    json = IsJsonDict(builder_.module()[id]);
    return true;
  }
  std::optional<std::string_view> dict = cursor_.ReadJsonDict();
  if (!dict) return Expected("a balanced {…}");
  id = builder_.Intern(*dict);
  return true;
}

bool TextParser::ReadBool(Draft&, AttributeKey key) {
  bool value = cursor_.ConsumeWord("true");
  if (!value && !cursor_.ConsumeWord("false")) return Expected("true or false");
  Push(builder_.MakeBool(key, value));
  return true;
}

bool TextParser::ReadInt(Draft&, AttributeKey key) {
  int64_t value = 0;
  if (!ReadIntValue(value)) return false;
  Push(builder_.MakeInt(key, value));
  return true;
}

bool TextParser::ReadFloat(Draft&, AttributeKey key) {
  cursor_.SkipSpace();
  uint64_t offset = cursor_.offset();
  double value = 0;
  if (!ReadDoubleValue(value)) return false;
  constexpr double kMax = std::numeric_limits<float>::max();
  if (value > kMax || value < -kMax) {
    return Error("syntax", "the number does not fit a float", offset);
  }
  Push(builder_.MakeFloat(key, static_cast<float>(value)));
  return true;
}

namespace {

// XLA takes the values of these attributes in either case.
bool IgnoresCase(AttributeKey key) {
  using enum AttributeKey;
  return key == kOperandPrecision || key == kAlgorithm || key == kRngAlgorithm ||
         key == kDistribution || key == kCustomCallSchedule || key == kApiVersion;
}

std::optional<int32_t> EnumNumberIgnoringCase(AttributeKey key, std::string_view text) {
  for (const EnumValue& value : EnumTable(key)) {
    if (EqualIgnoringCase(value.text, text)) return value.number;
  }
  return std::nullopt;
}

}  // namespace

bool TextParser::ReadEnum(Draft&, AttributeKey key) {
  cursor_.SkipSpace();
  uint64_t offset = cursor_.offset();
  std::string_view text = cursor_.ReadIdentifier();
  std::optional<int32_t> number = EnumNumber(key, text);
  if (!number && IgnoresCase(key)) number = EnumNumberIgnoringCase(key, text);
  if (number) {
    Push(builder_.MakeEnum(key, *number));
    return true;
  }
  std::string list;
  for (const EnumValue& value : EnumTable(key)) {
    list += (list.empty() ? "" : ", ") + std::string(value.text);
  }
  return Error(
      "syntax",
      "`" + std::string(text) + "` is not a value of attribute " + std::string(Info(key).text),
      offset, "it is one of " + list);
}

bool TextParser::ReadStringValue(Draft&, AttributeKey key) {
  StringId id;
  char c = cursor_.Peek();
  if (key == AttributeKey::kMode && c != '"') {
    id = builder_.Intern(cursor_.ReadIdentifier());
  } else if (!ReadStringId(id)) {
    return false;
  }
  Push({key, false, id.index});
  return true;
}

bool TextParser::ReadInts(Draft&, AttributeKey key) {
  ints_.clear();
  if (!ReadIntList('{', '}', ',', ints_)) return false;
  Push(builder_.MakeInts(key, ints_));
  return true;
}

bool TextParser::ReadBoolList(Draft&, AttributeKey key) {
  std::vector<bool> values;
  if (cursor_.Peek() != '{') return Expected("`{`");
  if (!ReadBools(values)) return false;
  ints_.assign(values.begin(), values.end());
  Push(builder_.MakeInts(key, ints_));
  return true;
}

bool TextParser::ReadEnums(Draft& draft, AttributeKey key) {
  ints_.clear();
  if (!Need('{')) return false;
  if (!cursor_.Consume('}')) {
    do {
      if (!ReadEnum(draft, key)) return false;
      ints_.push_back(attribute_stack_.back().value);
      attribute_stack_.pop_back();
    } while (cursor_.Consume(','));
    if (!Need('}')) return false;
  }
  Push(builder_.MakeInts(key, ints_));
  return true;
}

bool TextParser::ReadPairs(Draft&, AttributeKey key) {
  ints_.clear();
  if (!Need('{')) return false;
  if (!cursor_.Consume('}')) {
    do {
      size_t before = ints_.size();
      cursor_.SkipSpace();
      uint64_t offset = cursor_.offset();
      if (!ReadIntList('{', '}', ',', ints_)) return false;
      if (ints_.size() != before + 2) {
        return Error("syntax",
                     "a list of " + Counted(ints_.size() - before, "number") + ", expected a pair",
                     offset);
      }
    } while (cursor_.Consume(','));
    if (!Need('}')) return false;
  }
  Push(builder_.MakeInts(key, ints_));
  return true;
}

// 0_1x2_3_1: low, high and perhaps interior padding of every dimension.
bool TextParser::ReadPadding(Draft&, AttributeKey key) {
  ints_.clear();
  do {
    int64_t value = 0;
    for (int k = 0; k < 3; ++k) {
      bool more = k == 0 || (cursor_.position() != cursor_.end() && *cursor_.position() == '_');
      if (!more && k == 1) return Expected("low_high or low_high_interior");
      if (more && k > 0) cursor_.Consume('_');
      value = 0;
      if (more && !ReadIntValue(value)) return false;
      ints_.push_back(value);
    }
  } while (cursor_.position() != cursor_.end() && *cursor_.position() == 'x' &&
           cursor_.Consume('x'));
  Push(builder_.MakeInts(key, ints_));
  return true;
}

// {[start:limit:stride], …}
bool TextParser::ReadSlices(Draft&, AttributeKey key) {
  ints_.clear();
  if (!Need('{')) return false;
  if (!cursor_.Consume('}')) {
    do {
      size_t before = ints_.size();
      if (!ReadIntList('[', ']', ':', ints_)) return false;
      if (ints_.size() == before + 2) ints_.push_back(1);
      if (ints_.size() != before + 3) return Expected("[start:limit] or [start:limit:stride]");
    } while (cursor_.Consume(','));
    if (!Need('}')) return false;
  }
  Push(builder_.MakeInts(key, ints_));
  return true;
}

// The name of an earlier computation, or one written in place.
bool TextParser::ReadCallee(AttributeKey key, Callee& callee) {
  if (cursor_.Peek() == '{') return ParseBody(builder_.Intern("_"), callee);
  uint64_t offset = cursor_.offset();
  std::string_view name = cursor_.ReadName();
  if (name.empty()) return Expected("the name of a computation");
  StringId id = builder_.Intern(name);
  if (id.index < computations_.size() && computations_[id.index].known) {
    callee = computations_[id.index];
    return true;
  }
  callee.known = true;
  if (Full()) {  // nobody will see the message
    Error("undefined-computation", {}, offset);
    return true;
  }
  ClosestText closest(name);
  for (const Computation& c : builder_.module().computations()) {
    closest.Offer(builder_.module()[c.name]);
  }
  CountWork(builder_.module().computations().size());
  Error("undefined-computation",
        std::string(Info(key).text) + " names computation " + std::string(name) +
            ", which is not defined before it",
        offset, closest.Hint());
  return true;
}

bool TextParser::ReadComputationValue(Draft& draft, AttributeKey key) {
  Callee callee;
  if (!ReadCallee(key, callee)) return false;
  if (callee.computation == kNone) draft.broken = true;
  Push(builder_.MakeComputation(key, ComputationId(callee.computation)));
  return true;
}

bool TextParser::ReadComputations(Draft& draft, AttributeKey key) {
  std::vector<uint32_t> ids;  // not the scratch list: an inline computation may use that
  if (!Need('{')) return false;
  if (!cursor_.Consume('}')) {
    do {
      Callee callee;
      if (!ReadCallee(key, callee)) return false;
      if (callee.computation == kNone) draft.broken = true;
      ids.push_back(callee.computation);
    } while (cursor_.Consume(','));
    if (!Need('}')) return false;
  }
  Push(builder_.MakeIds(key, ids));
  return true;
}

bool TextParser::ReadInstructions(Draft& draft, AttributeKey key) {
  Scope& s = scope();
  draft.has_predecessors = true;
  draft.predecessors_first = static_cast<uint32_t>(s.predecessor_ids.size());
  if (!Need('{')) return false;
  if (!cursor_.Consume('}')) {
    do {
      cursor_.SkipSpace();
      uint64_t offset = cursor_.offset();
      std::string_view name = cursor_.ReadName();
      if (name.empty()) return Expected("the name of an instruction");
      Symbol symbol = SymbolOf(builder_.Intern(name));
      if (symbol.scope != s.id) UndefinedOperand(name, offset);
      s.predecessor_ids.push_back(symbol.index);
    } while (cursor_.Consume(','));
    if (!Need('}')) return false;
  }
  draft.predecessors_count =
      static_cast<uint32_t>(s.predecessor_ids.size()) - draft.predecessors_first;
  Push({key, false, 0});
  return true;
}

bool TextParser::ReadShapeValue(Draft&, AttributeKey key) {
  ShapeId shape;
  if (!ReadShapeId(shape)) return false;
  Push(builder_.MakeShape(key, shape));
  return true;
}

bool TextParser::ReadShapes(Draft&, AttributeKey key) {
  ids_.clear();
  if (!Need('{')) return false;
  if (!cursor_.Consume('}')) {
    do {
      ShapeId shape;
      if (!ReadShapeId(shape)) return false;
      ids_.push_back(shape.index);
    } while (cursor_.Consume(','));
    if (!Need('}')) return false;
  }
  Push(builder_.MakeIds(key, ids_));
  return true;
}

// {{1,2},{3}}
bool TextParser::ReadSliceSizes(AttributeKey key) {
  auto offset = static_cast<uint32_t>(cursor_.offset());
  std::string text = "{";
  if (!Need('{')) return false;
  if (!cursor_.Consume('}')) {
    do {
      ints_.clear();
      if (!ReadIntList('{', '}', ',', ints_)) return false;
      text += text.size() == 1 ? "{" : ",{";
      for (size_t k = 0; k < ints_.size(); ++k)
        text += (k == 0 ? "" : ",") + std::to_string(ints_[k]);
      text += '}';
    } while (cursor_.Consume(','));
    if (!Need('}')) return false;
  }
  RawAttribute raw{builder_.Intern(Info(key).text), builder_.Intern(text + '}'), offset, false};
  Push(builder_.Make(key, raw));
  return true;
}

bool TextParser::ReadRaw(Draft&, AttributeKey key) {
  if (key == AttributeKey::kPermuteSliceSizes) return ReadSliceSizes(key);
  cursor_.SkipSpace();
  auto offset = static_cast<uint32_t>(cursor_.offset());
  std::string_view text = cursor_.ReadRawValue();
  if (text.empty()) return Expected("a value for attribute " + std::string(Info(key).text));
  RawAttribute raw{builder_.Intern(Info(key).text), builder_.Intern(text), offset, false};
  Push(builder_.Make(key, raw));
  return true;
}

}  // namespace hloscope::hlo
