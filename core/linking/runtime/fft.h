// Fourier transforms for compiled code, by ducc0, in the precision of their arrays.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

enum HloscopeFftKind : int32_t {
  kHloscopeFft,   // complex, Σ x[j]·e^(-2πi·jk/n)
  kHloscopeIfft,  // complex, the inverse
  kHloscopeRfft,  // of a real signal: the first half of the last dimension
  kHloscopeIrfft  // the real signal of such a half
};

struct HloscopeFft {
  HloscopeFftKind kind;
  bool is_double;
  int32_t rank;        // 1 to 3 dimensions are transformed
  int64_t lengths[3];  // of the signal
};

// Transforms `count` arrays that lie one behind the other, on this thread alone; how they are
// grouped into calls may change last bits. False where there is no memory for it.
bool hloscope_fft(const HloscopeFft* fft, const std::byte* in, std::byte* out, int64_t count);

}  // extern "C"
