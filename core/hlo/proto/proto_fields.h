// The field numbers of proto_fields.def as enums, and where the attributes of each opcode are kept.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "core/hlo/opcode.h"

namespace hloscope::hlo {

#define MESSAGE_BEGIN(type, message) namespace type {
#define FIELD(name, text, number, kind) inline constexpr uint32_t name = number;
#define MESSAGE_END() }
#include "core/hlo/proto/proto_fields.def"
#undef MESSAGE_BEGIN
#undef FIELD
#undef MESSAGE_END

// What a field holds, as proto_fields.def says.
enum class FieldKind : uint8_t {
  kInt,
  kBool,
  kEnum,
  kFloat,
  kDouble,
  kString,
  kBytes,
  kMessage,
  kInts,
  kBools,
  kEnums,
  kFloats,
  kDoubles,
  kStrings,
  kBytess,
  kMessages
};
struct FieldRow {
  std::string_view message;
  std::string_view name;
  uint32_t number;
  FieldKind kind;
};
// Every row of proto_fields.def; a row without a number begins a message.
std::span<const FieldRow> FieldRows();

// An attribute of an opcode and its field: the path of field numbers from the instruction, 0 where
// it is shorter.
struct AttributeField {
  static constexpr int64_t kPresence = std::numeric_limits<int64_t>::min();

  AttributeKey key;
  bool required;   // the text always has it
  int64_t absent;  // the value that stands for an absent attribute; kPresence: none does
  std::array<uint8_t, 3> path;
};
// The attributes of `opcode` that have a field, ordered by path.
std::span<const AttributeField> AttributeFields(Opcode opcode);

}  // namespace hloscope::hlo
