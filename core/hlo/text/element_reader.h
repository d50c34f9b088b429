// ElementReader: single numbers of literals, range-checked and stored as XLA does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/hlo/float_types.h"
#include "core/hlo/text/text_cursor.h"

namespace hloscope::hlo {

inline Diagnostic BadLiteral(uint64_t offset, std::string message, std::string hint = {}) {
  return TextCursor::Fail("constant", std::move(message), offset, std::move(hint));
}

// Reads single elements of one array type into bytes.
class ElementReader {
 public:
  ElementReader(TextCursor& cursor, ElementType type)
      : cursor_(cursor), type_(type), info_(Info(type)), format_(FindFloatFormat(type)) {}

  // Reads one element to `to`, which has room for it.
  Parsed<void> Read(std::byte* to);

 private:
  Parsed<int64_t> Integer();
  Parsed<void> ReadPred(std::byte* to);
  Parsed<void> ReadInteger(std::byte* to);
  Parsed<void> ReadFloat(std::byte* to);
  Parsed<void> ReadComplex(std::byte* to);
  Parsed<void> StoreF32(std::byte* to, double value, uint64_t start);
  Parsed<void> StoreNarrow(std::byte* to, double value, uint64_t start);
  // The payload for a NaN with a mantissa of `mantissa_bits`.
  Parsed<uint64_t> Payload(double nan, int mantissa_bits, uint64_t start) const;
  Parsed<void> OutOfRange(double value, float most, uint64_t start) const;

  TextCursor& cursor_;
  ElementType type_;
  const ElementTypeInfo& info_;
  const FloatFormat* format_;
};

}  // namespace hloscope::hlo
