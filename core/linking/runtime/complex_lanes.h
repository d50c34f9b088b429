// Functions of arrays of complex numbers, which files define by rows of symbols.def.
#pragma once

#include <complex>
#include <cstdint>

#include "core/base/complex/complex_functions.h"

namespace hloscope::linking {

// y is null for functions of one number.
template <typename F, typename T>
void ComplexLanes(const std::complex<T>* x, const std::complex<T>* y, std::complex<T>* out,
                  int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (requires { F::Of(x[i], x[i]); }) {
      out[i] = F::Of(x[i], y[i]);
    } else {
      out[i] = F::Of(x[i]);
    }
  }
}

}  // namespace hloscope::linking

#define HLOSCOPE_COMPLEX_LANES(name, part, function)                             \
  void hloscope_##name(const std::complex<part>* x, const std::complex<part>* y, \
                       std::complex<part>* out, int64_t count) {                 \
    hloscope::linking::ComplexLanes<function>(x, y, out, count);                 \
  }
#define HLOSCOPE_COMPLEX(opcode, function)              \
  HLOSCOPE_COMPLEX_LANES(opcode##_c64, float, function) \
  HLOSCOPE_COMPLEX_LANES(opcode##_c128, double, function)
