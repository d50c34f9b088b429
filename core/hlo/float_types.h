// The float types narrower than f32: their formats in one table, bit-exact decoding, and encoding
// as XLA and ml_dtypes do it (round to nearest even).
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "core/hlo/element_type.h"

namespace hloscope::hlo {

// What a format has beside finite numbers.
enum class FloatSpecials : uint8_t {
  kIeee,    // infinities; NaNs with payloads
  kFn,      // no infinity; the NaN has all bits set below the sign. Overflow gives NaN
  kFnuz,    // no infinity, no -0; the one NaN is the bit pattern of -0. Overflow gives NaN
  kFinite,  // neither infinity nor NaN. Overflow gives the largest number, NaN gives -0
  kScale,   // unsigned powers of two without zero; the NaN is 0xff. Too small gives the smallest,
            // between the two smallest the larger
};

struct FloatFormat {
  ElementType type;
  int bits;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  FloatSpecials specials;
  int max_digits10;  // decimal digits that tell all its numbers apart

  constexpr bool has_infinity() const { return specials == FloatSpecials::kIeee; }
  constexpr bool has_nan() const { return specials != FloatSpecials::kFinite; }
  // Bits of a NaN that can hold a payload; 0 if there is only one NaN per sign.
  constexpr int nan_payload_bits() const { return has_infinity() ? mantissa_bits : 0; }
  constexpr uint32_t sign_mask() const {
    return specials == FloatSpecials::kScale ? 0u : 1u << (bits - 1);
  }
  constexpr uint32_t magnitude_mask() const { return (1u << bits) - 1 - sign_mask(); }
  constexpr uint32_t infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
  // The positive quiet NaN; the bit pattern of -0 for kFinite, as ml_dtypes has it.
  constexpr uint32_t nan() const {
    if (has_infinity()) return infinity() | 1u << (mantissa_bits - 1);
    bool is_magnitude = specials == FloatSpecials::kFn || specials == FloatSpecials::kScale;
    return is_magnitude ? magnitude_mask() : sign_mask();
  }
  constexpr uint32_t max_finite() const {
    if (has_infinity()) return infinity() - 1;
    bool nan_is_magnitude = specials == FloatSpecials::kFn || specials == FloatSpecials::kScale;
    return magnitude_mask() - (nan_is_magnitude ? 1 : 0);
  }
  constexpr bool IsNan(uint32_t value) const {
    switch (specials) {
      case FloatSpecials::kIeee:
        return (value & magnitude_mask()) > infinity();
      case FloatSpecials::kFn:
      case FloatSpecials::kScale:
        return (value & magnitude_mask()) == magnitude_mask();
      case FloatSpecials::kFnuz:
        return value == sign_mask();
      case FloatSpecials::kFinite:
        return false;
    }
    return false;
  }
};

inline constexpr FloatFormat kFloatFormats[] = {
    {ElementType::kF16, 16, 5, 10, 15, FloatSpecials::kIeee, 5},
    {ElementType::kBF16, 16, 8, 7, 127, FloatSpecials::kIeee, 4},
    {ElementType::kF8E5M2, 8, 5, 2, 15, FloatSpecials::kIeee, 2},
    {ElementType::kF8E4M3, 8, 4, 3, 7, FloatSpecials::kIeee, 3},
    {ElementType::kF8E3M4, 8, 3, 4, 3, FloatSpecials::kIeee, 3},
    {ElementType::kF8E4M3FN, 8, 4, 3, 7, FloatSpecials::kFn, 3},
    {ElementType::kF8E4M3B11FNUZ, 8, 4, 3, 11, FloatSpecials::kFnuz, 3},
    {ElementType::kF8E5M2FNUZ, 8, 5, 2, 16, FloatSpecials::kFnuz, 2},
    {ElementType::kF8E4M3FNUZ, 8, 4, 3, 8, FloatSpecials::kFnuz, 3},
    {ElementType::kF8E8M0FNU, 8, 8, 0, 127, FloatSpecials::kScale, 2},
    {ElementType::kF6E2M3FN, 6, 2, 3, 1, FloatSpecials::kFinite, 3},
    {ElementType::kF6E3M2FN, 6, 3, 2, 3, FloatSpecials::kFinite, 2},
    {ElementType::kF4E2M1FN, 4, 2, 1, 1, FloatSpecials::kFinite, 2},
};

inline constexpr int kMaxMantissaBits = 10;  // of these

// The format of `type`; null for f32, f64 and types that are no floats.
constexpr const FloatFormat* FindFloatFormat(ElementType type) {
  for (const FloatFormat& format : kFloatFormats) {
    if (format.type == type) return &format;
  }
  return nullptr;
}

// Whether every finite number of `from`, which is narrower than f32, is one of the float `to`.
constexpr bool HoldsNumbersOf(ElementType to, ElementType from) {
  const FloatFormat *f = FindFloatFormat(from), *t = FindFloatFormat(to);
  if (t == nullptr) return IsFloat(to);
  const auto most = [](const FloatFormat& format) {
    const auto bits = static_cast<int>(format.max_finite());
    const int steps = bits & ((1 << format.mantissa_bits) - 1);
    return std::pair((bits >> format.mantissa_bits) - format.bias,
                     steps << (kMaxMantissaBits - format.mantissa_bits));
  };
  return t->mantissa_bits >= f->mantissa_bits && most(*t) >= most(*f) &&
         t->bias + t->mantissa_bits >= f->bias + f->mantissa_bits;
}

// The type to which XLA rounds the products of two narrow floats of a type, where it does before it
// converts them to `result`: their own, which `result` cannot hold.
constexpr std::optional<ElementType> RoundedProduct(ElementType operands, ElementType result) {
  if (FindFloatFormat(operands) == nullptr || IsComplex(result) || operands == result ||
      HoldsNumbersOf(result, operands)) {
    return std::nullopt;
  }
  return operands;
}

// The number that `value` stands for, exactly. A NaN keeps its sign and, in f16 and bf16, its
// payload; those of the 8-bit types become quiet ones, as in XLA.
constexpr float DecodeFloat(const FloatFormat& f, uint32_t value) {
  const uint32_t magnitude = value & f.magnitude_mask();
  const uint32_t sign = (value & f.sign_mask()) != 0 ? 0x80000000u : 0u;
  if (f.IsNan(value)) {
    const bool keeps_payload = f.bits == 16;
    uint32_t payload = !keeps_payload ? 0x400000u
                                      : (magnitude & (f.infinity() ^ f.magnitude_mask()))
                                            << (23 - f.mantissa_bits);
    return std::bit_cast<float>(sign | 0x7f800000u | payload);
  }
  if (f.has_infinity() && magnitude == f.infinity())
    return std::bit_cast<float>(sign | 0x7f800000u);
  const uint32_t exponent = magnitude >> f.mantissa_bits;
  if (exponent != 0 && f.bias <= 126) {
    uint32_t rebased = exponent + 127 - static_cast<uint32_t>(f.bias);
    uint32_t mantissa = magnitude - (exponent << f.mantissa_bits);
    return std::bit_cast<float>(sign | rebased << 23 | mantissa << (23 - f.mantissa_bits));
  }
  if (f.specials == FloatSpecials::kScale) {
    return std::bit_cast<float>(exponent == 0 ? 0x400000u : exponent << 23);
  }
  if (f.bias == 127) return std::bit_cast<float>(sign | magnitude << (23 - f.mantissa_bits));
  // Subnormal: a small integer times a power of two, both exact.
  uint32_t unit = static_cast<uint32_t>(127 + 1 - f.bias - f.mantissa_bits) << 23;
  float result = static_cast<float>(magnitude) * std::bit_cast<float>(unit);
  return sign != 0 ? -result : result;
}

namespace float_types_internal {

// The magnitude of a finite positive double, rounded to nearest even; may lie beyond max_finite().
constexpr uint64_t RoundMagnitude(const FloatFormat& f, uint64_t bits) {
  const int64_t exponent = static_cast<int64_t>(bits >> 52) - 1023 + f.bias;
  const uint64_t significand = (bits & 0xfffffffffffffu) | 0x10000000000000u;
  int64_t shift = 52 - f.mantissa_bits;
  const bool is_normal = exponent >= 1;
  if (!is_normal && f.specials == FloatSpecials::kScale) {
    return exponent == 0 && (bits & 0xfffffffffffffu) != 0 ? 1 : 0;
  }
  if (!is_normal) shift += 1 - exponent;
  if (shift > 54) return 0;
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t rounded = (significand + half - 1 + ((significand >> shift) & 1)) >> shift;
  if (!is_normal) return rounded;
  return (static_cast<uint64_t>(exponent - 1) << f.mantissa_bits) + rounded;
}

constexpr uint32_t EncodeNan(const FloatFormat& f, bool negative) {
  if (f.specials == FloatSpecials::kFinite) return negative ? 0 : f.sign_mask();
  if (f.specials == FloatSpecials::kFnuz || !negative) return f.nan();
  return f.nan() | f.sign_mask();
}

constexpr uint32_t EncodeOverflow(const FloatFormat& f, bool negative) {
  if (f.specials == FloatSpecials::kFinite || f.has_infinity()) {
    return (f.has_infinity() ? f.infinity() : f.max_finite()) | (negative ? f.sign_mask() : 0);
  }
  return EncodeNan(f, negative);
}

}  // namespace float_types_internal

// The nearest number of the format, ties to even; see FloatSpecials for what lies outside.
constexpr uint32_t EncodeFloat(const FloatFormat& f, double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const bool negative = bits >> 63 != 0;
  const uint64_t magnitude = bits & 0x7fffffffffffffffu;
  if (magnitude > 0x7ff0000000000000u) return float_types_internal::EncodeNan(f, negative);
  if (f.specials == FloatSpecials::kScale && (negative || magnitude == 0)) return f.nan();
  if (magnitude == 0x7ff0000000000000u) return float_types_internal::EncodeOverflow(f, negative);
  const uint64_t rounded = float_types_internal::RoundMagnitude(f, magnitude);
  if (rounded > f.max_finite()) return float_types_internal::EncodeOverflow(f, negative);
  if (rounded == 0 && f.specials == FloatSpecials::kFnuz) return 0;
  return static_cast<uint32_t>(rounded) | (negative ? f.sign_mask() : 0);
}

// A number of the type as a value in its own right: SmallFloat<ElementType::kBF16>(1.5f). Casts
// from double to f16 and bf16 go by way of float and so round twice, as XLA's do.
template <ElementType kType>
struct SmallFloat {
  static constexpr ElementType kElementType = kType;
  static constexpr const FloatFormat& kFormat = *FindFloatFormat(kType);
  using Bits = std::conditional_t<kFormat.bits == 16, uint16_t, uint8_t>;

  Bits bits = 0;

  SmallFloat() = default;
  constexpr explicit SmallFloat(float value) : bits(Encode(value)) {}
  constexpr explicit SmallFloat(double value)
      : bits(kFormat.bits == 16 ? Encode(static_cast<float>(value)) : Encode(value)) {}
  static constexpr SmallFloat FromBits(Bits bits) {
    SmallFloat result;
    result.bits = bits;
    return result;
  }
  constexpr explicit operator float() const {
    if constexpr (kFormat.bits == 16) {
      return DecodeFloat(kFormat, bits);
    } else {
      return kDecoded[bits & ((1u << kFormat.bits) - 1)];
    }
  }
  constexpr explicit operator double() const { return static_cast<double>(float(*this)); }

 private:
  static constexpr Bits Encode(double value) {
    return static_cast<Bits>(EncodeFloat(kFormat, value));
  }
  static constexpr auto MakeDecoded() {
    std::array<float, kFormat.bits == 16 ? 1 : 1u << kFormat.bits> decoded{};
    for (uint32_t i = 0; i < decoded.size(); ++i) decoded[i] = DecodeFloat(kFormat, i);
    return decoded;
  }
  static const inline auto kDecoded = MakeDecoded();
};

using F16 = SmallFloat<ElementType::kF16>;
using BF16 = SmallFloat<ElementType::kBF16>;
using F8E5M2 = SmallFloat<ElementType::kF8E5M2>;
using F8E4M3 = SmallFloat<ElementType::kF8E4M3>;
using F8E3M4 = SmallFloat<ElementType::kF8E3M4>;
using F8E4M3FN = SmallFloat<ElementType::kF8E4M3FN>;
using F8E4M3B11FNUZ = SmallFloat<ElementType::kF8E4M3B11FNUZ>;
using F8E5M2FNUZ = SmallFloat<ElementType::kF8E5M2FNUZ>;
using F8E4M3FNUZ = SmallFloat<ElementType::kF8E4M3FNUZ>;
using F8E8M0FNU = SmallFloat<ElementType::kF8E8M0FNU>;
using F6E2M3FN = SmallFloat<ElementType::kF6E2M3FN>;
using F6E3M2FN = SmallFloat<ElementType::kF6E3M2FN>;
using F4E2M1FN = SmallFloat<ElementType::kF4E2M1FN>;

// Calls f(std::type_identity<T>()) with the C++ type of the elements of float type `type`: float,
// double or a SmallFloat. `type` must be a float type.
template <typename F>
decltype(auto) WithFloatType(ElementType type, F&& f) {
  switch (type) {
    case ElementType::kF16:
      return f(std::type_identity<F16>());
    case ElementType::kBF16:
      return f(std::type_identity<BF16>());
    case ElementType::kF8E5M2:
      return f(std::type_identity<F8E5M2>());
    case ElementType::kF8E4M3:
      return f(std::type_identity<F8E4M3>());
    case ElementType::kF8E3M4:
      return f(std::type_identity<F8E3M4>());
    case ElementType::kF8E4M3FN:
      return f(std::type_identity<F8E4M3FN>());
    case ElementType::kF8E4M3B11FNUZ:
      return f(std::type_identity<F8E4M3B11FNUZ>());
    case ElementType::kF8E5M2FNUZ:
      return f(std::type_identity<F8E5M2FNUZ>());
    case ElementType::kF8E4M3FNUZ:
      return f(std::type_identity<F8E4M3FNUZ>());
    case ElementType::kF8E8M0FNU:
      return f(std::type_identity<F8E8M0FNU>());
    case ElementType::kF6E2M3FN:
      return f(std::type_identity<F6E2M3FN>());
    case ElementType::kF6E3M2FN:
      return f(std::type_identity<F6E3M2FN>());
    case ElementType::kF4E2M1FN:
      return f(std::type_identity<F4E2M1FN>());
    case ElementType::kF64:
      return f(std::type_identity<double>());
    default:
      return f(std::type_identity<float>());
  }
}

// Whole arrays; `from` and `to` have as many elements. `type` may be any float type.
void DecodeFloats(ElementType type, std::span<const std::byte> from, std::span<float> to);
void DecodeFloats(ElementType type, std::span<const std::byte> from, std::span<double> to);
void EncodeFloats(ElementType type, std::span<const float> from, std::span<std::byte> to);
void EncodeFloats(ElementType type, std::span<const double> from, std::span<std::byte> to);

}  // namespace hloscope::hlo
