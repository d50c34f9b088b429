// The transform for the widest vectors that this processor has.
#include "core/linking/runtime/fft.h"

extern "C" {

bool hloscope_fft_plain(const HloscopeFft* fft, const std::byte* in, std::byte* out, int64_t count);
#ifdef HLOSCOPE_HAS_FFT_AVX2
bool hloscope_fft_avx2(const HloscopeFft* fft, const std::byte* in, std::byte* out, int64_t count);
#endif

bool hloscope_fft(const HloscopeFft* fft, const std::byte* in, std::byte* out, int64_t count) {
#ifdef HLOSCOPE_HAS_FFT_AVX2
  static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx2) return hloscope_fft_avx2(fft, in, out, count);
#endif
  return hloscope_fft_plain(fft, in, out, count);
}

}  // extern "C"
