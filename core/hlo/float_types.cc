// Conversion of whole arrays between narrow floats and f32 or f64.
#include "core/hlo/float_types.h"

#include <algorithm>

namespace hloscope::hlo {
namespace {

template <typename Number>
void Decode(ElementType type, std::span<const std::byte> from, std::span<Number> to) {
  WithFloatType(type, [&]<typename T>(std::type_identity<T>) {
    const T* source = reinterpret_cast<const T*>(from.data());
    const size_t count = std::min(to.size(), from.size() / sizeof(T));
    for (size_t i = 0; i < count; ++i) to[i] = static_cast<Number>(source[i]);
  });
}

template <typename Number>
void Encode(ElementType type, std::span<const Number> from, std::span<std::byte> to) {
  WithFloatType(type, [&]<typename T>(std::type_identity<T>) {
    T* target = reinterpret_cast<T*>(to.data());
    const size_t count = std::min(from.size(), to.size() / sizeof(T));
    for (size_t i = 0; i < count; ++i) target[i] = static_cast<T>(from[i]);
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
