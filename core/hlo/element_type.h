// ElementType: XLA's PrimitiveType, and the facts of element_types.def about each.
#pragma once

#include <cstdint>
#include <string_view>

namespace hloscope::hlo {

enum class ElementType : uint8_t {
#define ELEMENT_TYPE(name, text, proto, bits, kind, storage) name = proto,
#include "core/hlo/element_types.def"
#undef ELEMENT_TYPE
};
inline constexpr int kElementTypeCount = 37;

enum class ElementKind : uint8_t { kNone, kPred, kSigned, kUnsigned, kFloat, kComplex };

struct ElementTypeInfo {
  std::string_view text;
  ElementType type;
  int bits;  // 0 for tuple, token, opaque, buffer
  ElementKind kind;
  int storage_bytes;  // of one element in a Literal
};

inline constexpr ElementTypeInfo kElementTypes[kElementTypeCount] = {
#define ELEMENT_TYPE(name, text, proto, bits, kind, storage) \
  {text, ElementType::name, bits, ElementKind::kind, storage},
#include "core/hlo/element_types.def"
#undef ELEMENT_TYPE
};

constexpr const ElementTypeInfo& Info(ElementType t) { return kElementTypes[static_cast<int>(t)]; }
constexpr std::string_view ToString(ElementType t) { return Info(t).text; }
constexpr int BitWidth(ElementType t) { return Info(t).bits; }
constexpr int StorageBytes(ElementType t) { return Info(t).storage_bytes; }
constexpr bool IsArrayType(ElementType t) { return Info(t).kind != ElementKind::kNone; }
constexpr bool IsSigned(ElementType t) { return Info(t).kind == ElementKind::kSigned; }
constexpr bool IsUnsigned(ElementType t) { return Info(t).kind == ElementKind::kUnsigned; }
constexpr bool IsInteger(ElementType t) { return IsSigned(t) || IsUnsigned(t); }
constexpr bool IsFloat(ElementType t) { return Info(t).kind == ElementKind::kFloat; }
constexpr bool IsComplex(ElementType t) { return Info(t).kind == ElementKind::kComplex; }

// The type called `text` ("f32", "token", …); kInvalid where there is none. "tuple" and "buffer"
// are found too.
ElementType ElementTypeFromText(std::string_view text);

// c64 -> f32, c128 -> f64; others unchanged.
constexpr ElementType RealPart(ElementType t) {
  if (t == ElementType::kC64) return ElementType::kF32;
  if (t == ElementType::kC128) return ElementType::kF64;
  return t;
}

}  // namespace hloscope::hlo
