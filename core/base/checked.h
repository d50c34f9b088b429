// Arithmetic on numbers that come from files: every function answers nullopt instead of
// overflowing.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace hloscope {

template <std::integral T>
constexpr std::optional<T> CheckedAdd(T a, T b) {
  T r;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

template <std::integral T>
constexpr std::optional<T> CheckedSub(T a, T b) {
  T r;
  if (__builtin_sub_overflow(a, b, &r)) return std::nullopt;
  return r;
}

template <std::integral T>
constexpr std::optional<T> CheckedMul(T a, T b) {
  T r;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

// The product of all values (1 for none); nullopt on overflow or a negative factor. A zero factor
// gives zero even where the others would overflow.
constexpr std::optional<int64_t> CheckedProduct(std::span<const int64_t> values) {
  int64_t product = 1;
  bool overflow = false;
  for (int64_t v : values) {
    if (v < 0) return std::nullopt;
    if (v == 0) return 0;
    overflow |= __builtin_mul_overflow(product, v, &product);
  }
  if (overflow) return std::nullopt;
  return product;
}

// `value` as another integer type, or nullopt where it does not fit.
template <std::integral To, std::integral From>
constexpr std::optional<To> CheckedCast(From value) {
  if (!std::in_range<To>(value)) return std::nullopt;
  return static_cast<To>(value);
}

}  // namespace hloscope
