// A log of the driver's calls, for a machine that nobody can look at: what it answered there can be
// held against the fake driver of the tests.
#pragma once

#include "core/backends/cuda/driver_api.h"

namespace hloscope::replay::cuda {

// Where HLOSCOPE_CUDA_LOG names a file, every call is appended to it as a line from then on: its
// symbol, the answer, microseconds, and each argument: a number, a text, or * for a pointer or an
// address. Without, nothing changes.
void LogCalls(Functions& functions);

}  // namespace hloscope::replay::cuda
