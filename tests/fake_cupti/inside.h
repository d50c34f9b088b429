// What the parts of the libcupti for tests share.
#pragma once

#include <cstdint>

#include "tests/fake_cuda/fake_cuda.h"

namespace hloscope::fake_cupti {

// What CUDA_FAKE_CUPTI has for the next call of a function, and its properties.
int NextFault(const char* function);
int64_t PropertyOf(const char* name, int64_t otherwise);

// Counters want to hear of kernels, or no longer.
void HearOfKernels(bool hear);
// A kernel ran, for the counters and for the samples.
void Count(const FakeCudaActivity& kernel);
void Sample(const FakeCudaActivity& kernel);

}  // namespace hloscope::fake_cupti
