// The transforms, compiled for every processor.
#define HLOSCOPE_FFT hloscope_fft_plain
#include "core/linking/runtime/fft_transform.h"
