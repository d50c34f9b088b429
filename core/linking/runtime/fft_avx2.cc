// The transforms, compiled for AVX2.
#define HLOSCOPE_FFT hloscope_fft_avx2
#include "core/linking/runtime/fft_transform.h"
