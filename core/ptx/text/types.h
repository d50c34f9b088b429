// The types of PTX registers, variables and instructions, from types.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hloscope::ptx {

enum class Type : uint8_t {
#define TYPE(enumerator, text, bits, kind) enumerator,
#include "core/ptx/text/types.def"
#undef TYPE
};

enum class TypeKind : uint8_t {
  kBits,
  kUnsigned,
  kSigned,
  kFloat,
  kPacked,
  kPackedIntegers,
  kPredicate
};

struct TypeRow {
  std::string_view text;
  uint32_t bits;
  TypeKind kind;
};

// The row of a type in types.def.
const TypeRow& RowOf(Type type);
// The type that is written `text` (without its dot); nullopt for no type.
std::optional<Type> TypeOf(std::string_view text);
// Bytes of one value; a predicate has 0, it lives in a mask of its warp.
inline uint32_t BytesOf(Type type) { return RowOf(type).bits / 8; }

}  // namespace hloscope::ptx
