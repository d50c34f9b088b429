// Numbers of the second implementation: floats of all widths by the processor's own rounding modes,
// integers as 128 bits.
#pragma once

#include <cstdint>

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

// The integer that the low bits of a register are in that type.
__int128 IntegerOf(Type type, uint64_t bits);

// The number that bits of a float type stand for.
double NumberOf(Type type, uint64_t bits);

enum class Sum : uint8_t { kAdd, kSub, kMul, kFma };

// One operation rounded once into f32, f64, f16 or bf16; the last two to nearest or towards zero.
uint64_t RoundedOnce(Sum operation, Type type, double a, double b, double c, Round round);

// A number rounded into a float type, NaN as arithmetic gives it. `saturates`: to the largest
// instead of to infinity, for the eight-bit types.
uint64_t BitsOf(Type type, double value, Round round, bool saturates = false);

}  // namespace hloscope::ptx
