// Conversion of whole arrays between narrow floats and f32 or f64.
#include "core/hlo/float_types.h"

#include <algorithm>

namespace hloscope::hlo {
namespace {

// f16 and bf16 without branches, so that loops become vector code.

float DecodeF16(uint16_t value) {
  // The exponent and mantissa in place, the bias fixed by a multiplication that is exact for
  // subnormal numbers too.
  const float magnitude = std::bit_cast<float>((value & 0x7fffu) << 13) * 0x1p112f;
  const uint32_t special = (value & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | special |
                              (value & 0x8000u) << 16);
}

float DecodeBF16(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

uint16_t EncodeBF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = (bits >> 16 & 0x8000u) | 0x7fc0u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

uint16_t EncodeF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
  // Adding 0.5 lines up the mantissa of what is subnormal in f16, and the addition rounds it.
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  uint32_t half = magnitude < 0x38800000u ? subnormal : normal;
  half = magnitude >= 0x47800000u ? 0x7c00u : half;
  half = magnitude > 0x7f800000u ? 0x7e00u : half;
  return static_cast<uint16_t>(half | sign);
}

template <typename T, typename Number>
Number DecodeOne(T value) {
  if constexpr (std::is_same_v<T, F16>) {
    return static_cast<Number>(DecodeF16(value.bits));
  } else if constexpr (std::is_same_v<T, BF16>) {
    return static_cast<Number>(DecodeBF16(value.bits));
  } else {
    return static_cast<Number>(value);
  }
}

template <typename T, typename Number>
T EncodeOne(Number value) {
  if constexpr (std::is_same_v<T, F16>) {
    return F16::FromBits(EncodeF16(static_cast<float>(value)));
  } else if constexpr (std::is_same_v<T, BF16>) {
    return BF16::FromBits(EncodeBF16(static_cast<float>(value)));
  } else {
    return static_cast<T>(value);
  }
}

template <typename Number>
void Decode(ElementType type, std::span<const std::byte> from, std::span<Number> to) {
  WithFloatType(type, [&]<typename T>(std::type_identity<T>) {
    const T* source = reinterpret_cast<const T*>(from.data());
    const size_t count = std::min(to.size(), from.size() / sizeof(T));
    for (size_t i = 0; i < count; ++i) to[i] = DecodeOne<T, Number>(source[i]);
  });
}

template <typename Number>
void Encode(ElementType type, std::span<const Number> from, std::span<std::byte> to) {
  WithFloatType(type, [&]<typename T>(std::type_identity<T>) {
    T* target = reinterpret_cast<T*>(to.data());
    const size_t count = std::min(from.size(), to.size() / sizeof(T));
    for (size_t i = 0; i < count; ++i) target[i] = EncodeOne<T>(from[i]);
  });
}

}  // namespace

void DecodeFloats(ElementType type, std::span<const std::byte> from, std::span<float> to) {
  Decode(type, from, to);
}

void DecodeFloats(ElementType type, std::span<const std::byte> from, std::span<double> to) {
  Decode(type, from, to);
}

void EncodeFloats(ElementType type, std::span<const float> from, std::span<std::byte> to) {
  Encode(type, from, to);
}

void EncodeFloats(ElementType type, std::span<const double> from, std::span<std::byte> to) {
  Encode(type, from, to);
}

}  // namespace hloscope::hlo
