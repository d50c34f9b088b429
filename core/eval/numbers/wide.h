// Elements of any type read into, and written from, the widest type of their kind: uint64_t,
// double or complex<double>. One place where every conversion between element types is defined.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "core/hlo/element_type.h"

namespace hloscope::eval {

using Complex = std::complex<double>;

// Reads `count` elements of `type` as W = int64_t (unsigned 64-bit values keep their bits), double
// or Complex. Integers become the nearest double; of complex numbers the real part is taken.
template <typename W>
void LoadAs(hlo::ElementType type, const std::byte* in, W* out, int64_t count);

// Writes W = int64_t, uint64_t, double or Complex as elements of `type`. Integers into integers
// wrap; floats into integers round towards zero and saturate, NaN becomes 0; everything into a
// float is rounded once, to nearest even; anything but zero is a true pred.
template <typename W>
void StoreFrom(hlo::ElementType type, const W* in, std::byte* out, int64_t count);

// Converts elements between any two types.
void ConvertElements(hlo::ElementType from, const std::byte* in, hlo::ElementType to,
                     std::byte* out, int64_t count);

// The value of an integer of `bits` bits whose low bits are in `value`.
constexpr int64_t SignExtend(int64_t value, int bits) {
  const int shift = 64 - bits;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
}
constexpr uint64_t ZeroExtend(uint64_t value, int bits) {
  return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

}  // namespace hloscope::eval
