// A hook that Python loads at its start: gives each process a folder of its own in the dump, and
// profiles JAX, TensorFlow or PyTorch/XLA while the program runs.
#pragma once

#include <string>

#include "core/base/result.h"

namespace hloscope::debug {

// Variables that the hook reads: the folder of the dump, and where to write a profile. Unset: that
// part of it does nothing.
inline constexpr const char* kDumpVariable = "HLOSCOPE_DUMP_TO";
inline constexpr const char* kProfileVariable = "HLOSCOPE_PROFILE_TO";

// Writes the hook into a folder of `dump`, to be put before PYTHONPATH; the folder.
Result<std::string> WritePythonHook(const std::string& dump);

// Removes it and the folders of processes that left nothing. Gives what failed in the hook, a line
// each; empty: nothing did.
std::string RemovePythonHook(const std::string& dump, const std::string& hook);

}  // namespace hloscope::debug
