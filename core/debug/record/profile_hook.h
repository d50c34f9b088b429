// A hook that Python loads at its start, which profiles JAX, TensorFlow or PyTorch/XLA while the
// program runs.
#pragma once

#include <string>

#include "core/base/result.h"

namespace hloscope::debug {

// Writes the hook into a folder of `dump`, to be put before PYTHONPATH; the folder. Where to write
// the profile it is told by HLOSCOPE_PROFILE_TO.
Result<std::string> WriteProfileHook(const std::string& dump);

}  // namespace hloscope::debug
