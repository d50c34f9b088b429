// The tables of opcodes, attributes and enum values, and look-up by text.
#include "core/hlo/opcode.h"

#include <array>

#include "core/hlo/element_type.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::hlo {
namespace {

constexpr AttributeUse R(AttributeKey key) { return {key, true}; }
constexpr AttributeUse O(AttributeKey key) { return {key, false}; }
constexpr AttributeUse A(AttributeKey key) { return {key, false, true}; }
constexpr AttributeUse kEnd = {AttributeKey::kUnknown, false};

using enum AttributeKey;
#define OPCODE(name, text, arity, shape, kernel, category, flags, ...) \
  constexpr AttributeUse kUses_##name[] = {__VA_ARGS__ __VA_OPT__(, ) kEnd};
#include "core/hlo/opcodes.def"
#undef OPCODE

template <size_t N>
constexpr std::span<const AttributeUse> WithoutEnd(const AttributeUse (&uses)[N]) {
  return {uses, N - 1};
}

constexpr OpcodeInfo kOpcodes[kOpcodeCount] = {
#define OPCODE(name, text, arity, shape, kernel, category, flags, ...) \
  {text,                                                               \
   arity,                                                              \
   ShapeRule::k##shape,                                                \
   Category::k##category,                                              \
   static_cast<uint16_t>((flags) & 0xffff),                            \
   WithoutEnd(kUses_##name)},
#include "core/hlo/opcodes.def"
#undef OPCODE
};

constexpr AttributeInfo kAttributes[kAttributeKeyCount] = {
#define ATTRIBUTE(key, text, kind) {text, ValueKind::kind},
#include "core/hlo/attributes.def"
#undef ATTRIBUTE
};

#define ENUM_BEGIN(type) constexpr EnumValue k##type##Values[] = {
#define ENUM_VALUE(name, text, number) {text, number},
#define ENUM_END() \
  }                \
  ;
#include "core/hlo/enums.def"
#undef ENUM_BEGIN
#undef ENUM_VALUE
#undef ENUM_END

// Of the length and four characters: the tables are small, and every instruction asks them.
constexpr uint32_t Hash(std::string_view text) {
  size_t n = text.size();
  if (n == 0) return 0;
  auto at = [text](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[i])); };
  uint32_t h = static_cast<uint32_t>(n) + at(0) * 31 + at(n / 3) * 1009 +
               at(n / 2 + n / 4) * 65599 + at(n - 1) * 2654435761u;
  return h ^ (h >> 15);
}

// Open-addressing table from text to row number, built at compile time.
template <size_t kSize, size_t kRows, typename Rows>
constexpr std::array<uint8_t, kSize> BuildTable(const Rows& rows) {
  std::array<uint8_t, kSize> table{};
  for (size_t i = 0; i < kRows; ++i) {
    size_t slot = Hash(rows[i].text) % kSize;
    while (table[slot] != 0) slot = (slot + 1) % kSize;
    table[slot] = static_cast<uint8_t>(i + 1);
  }
  return table;
}

template <typename Rows, size_t kSize>
int FindRow(const Rows& rows, const std::array<uint8_t, kSize>& table, std::string_view text) {
  for (size_t slot = Hash(text) % kSize; table[slot] != 0; slot = (slot + 1) % kSize) {
    if (rows[table[slot] - 1].text == text) return table[slot] - 1;
  }
  return -1;
}

constexpr auto kOpcodeTable = BuildTable<512, kOpcodeCount>(kOpcodes);
constexpr auto kTypeTable = BuildTable<128, kElementTypeCount>(kElementTypes);

}  // namespace

const OpcodeInfo& Info(Opcode opcode) { return kOpcodes[static_cast<size_t>(opcode)]; }

std::optional<Opcode> OpcodeFromText(std::string_view text) {
  int row = FindRow(kOpcodes, kOpcodeTable, text);
  if (row < 0) return std::nullopt;
  return static_cast<Opcode>(row);
}

ElementType ElementTypeFromText(std::string_view text) {
  int row = FindRow(kElementTypes, kTypeTable, text);
  return row < 0 ? ElementType::kInvalid : kElementTypes[row].type;
}

const AttributeInfo& Info(AttributeKey key) { return kAttributes[static_cast<size_t>(key)]; }

std::optional<AttributeKey> AttributeFromText(Opcode opcode, std::string_view text) {
  for (const AttributeUse& use : Info(opcode).attributes) {
    if (Info(use.key).text == text) return use.key;
  }
  for (auto k = static_cast<size_t>(AttributeKey::kSharding);
       k < static_cast<size_t>(AttributeKey::kUnknown); ++k) {
    if (kAttributes[k].text == text) return static_cast<AttributeKey>(k);
  }
  return std::nullopt;
}

std::span<const EnumValue> EnumTable(AttributeKey key) {
  switch (key) {
    case AttributeKey::kAlgorithm:
      return kDotAlgorithmValues;
    case AttributeKey::kApiVersion:
      return kCustomCallApiVersionValues;
    case AttributeKey::kComparisonType:
      return kComparisonTypeValues;
    case AttributeKey::kConvolutionKind:
      return kConvolutionKindValues;
    case AttributeKey::kCustomCallSchedule:
      return kCustomCallScheduleValues;
    case AttributeKey::kDirection:
      return kComparisonDirectionValues;
    case AttributeKey::kDistribution:
      return kRandomDistributionValues;
    case AttributeKey::kFftType:
      return kFftTypeValues;
    case AttributeKey::kFusionKind:
      return kFusionKindValues;
    case AttributeKey::kOperandPrecision:
      return kPrecisionValues;
    case AttributeKey::kOrder:
      return kComparisonOrderValues;
    case AttributeKey::kPaddingType:
      return kPaddingTypeValues;
    case AttributeKey::kRngAlgorithm:
      return kRandomAlgorithmValues;
    case AttributeKey::kTransposeA:
      return kTransposeAValues;
    default:
      return {};
  }
}

std::string_view EnumText(AttributeKey key, int64_t number) {
  for (const EnumValue& value : EnumTable(key)) {
    if (value.number == number) return value.text;
  }
  return {};
}

std::optional<int32_t> EnumNumber(AttributeKey key, std::string_view text) {
  for (const EnumValue& value : EnumTable(key)) {
    if (value.text == text) return value.number;
  }
  return std::nullopt;
}

}  // namespace hloscope::hlo
