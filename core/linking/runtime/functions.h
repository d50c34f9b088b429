// The functions of numbers of symbols.def, as plain functions of arrays: y is null for those of one
// number. They need libm. Each kind is a file of its own, so that a program links what it uses.
#pragma once

#include <complex>
#include <cstdint>

extern "C" {

#define LANES(name, type) \
  void hloscope_##name(const type* x, const type* y, type* out, int64_t count);
#define UNARY(opcode, function) LANES(opcode##_f32, float) LANES(opcode##_f64, double)
#define BINARY UNARY
#define COMPLEX(opcode, function) \
  LANES(opcode##_c64, std::complex<float>) LANES(opcode##_c128, std::complex<double>)
#define RUNTIME(name, type, function)
#include "core/linking/runtime/symbols.def"
// x to the power of y modulo 2^64.
#undef LANES
#undef UNARY
#undef BINARY
#undef COMPLEX
#undef RUNTIME

}  // extern "C"
