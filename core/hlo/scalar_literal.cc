// Encodes one number as any element type.
#include "core/hlo/scalar_literal.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/hlo/float_types.h"

namespace hloscope::hlo {
namespace {

// The low bits of the nearest integer of the type towards zero.
uint64_t IntegerBits(ElementType type, double value) {
  if (std::isnan(value)) return 0;
  const int bits = BitWidth(type) - (IsSigned(type) ? 1 : 0);
  const uint64_t largest = bits == 0 ? 0 : std::numeric_limits<uint64_t>::max() >> (64 - bits);
  if (value >= std::ldexp(1.0, bits)) return largest;
  if (value >= 0) return static_cast<uint64_t>(value);
  if (!IsSigned(type)) return 0;
  return value <= -std::ldexp(1.0, bits) ? ~largest
                                         : static_cast<uint64_t>(static_cast<int64_t>(value));
}

void EncodeReal(ElementType type, double value, std::byte* out) {
  if (const FloatFormat* const format = FindFloatFormat(type)) {
    const uint32_t bits = EncodeFloat(*format, value);
    std::memcpy(out, &bits, static_cast<size_t>(StorageBytes(type)));  // little endian
  } else if (type == ElementType::kF32) {
    const auto single = static_cast<float>(value);
    std::memcpy(out, &single, sizeof(single));
  } else {
    std::memcpy(out, &value, sizeof(value));
  }
}

}  // namespace

Literal ScalarLiteral(ElementType type, double value) {
  std::vector<std::byte> bytes(static_cast<size_t>(StorageBytes(type)));
  if (IsFloat(type) || IsComplex(type)) {
    EncodeReal(RealPart(type), value, bytes.data());
  } else {
    const uint64_t bits =
        type == ElementType::kPred ? (value != 0 ? 1 : 0) : IntegerBits(type, value);
    std::memcpy(bytes.data(), &bits, bytes.size());  // little endian
  }
  return Literal::Dense(Shape::Scalar(type), std::move(bytes));
}

}  // namespace hloscope::hlo
