// A hook that Python loads at its start: gives each process a folder of its own in the dump,
// saves the arguments of compiled functions, and profiles JAX, TensorFlow or PyTorch/XLA while the
// program runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/dump/errors/keras_steps.h"

namespace hloscope::debug {

// Variables that the hook reads: the folder of the dump, and where to write a profile and inputs.
// Unset: that part of it does nothing.
inline constexpr const char* kDumpVariable = "HLOSCOPE_DUMP_TO";
inline constexpr const char* kProfileVariable = "HLOSCOPE_PROFILE_TO";
inline constexpr const char* kInputsVariable = "HLOSCOPE_INPUTS_TO";

// Writes the hook into a folder of `dump`, to be put before PYTHONPATH; the folder.
Result<std::string> WritePythonHook(const std::string& dump);

struct HookReport {
  std::string failures;                      // a line each; empty: nothing failed
  std::map<std::string, int64_t> fallbacks;  // what PyTorch/XLA ran on the host: "aten::histc", 2
  std::vector<dump::KerasStep> keras_steps;  // each once, at most 50
  size_t more_keras_steps = 0;               // that are left out
  std::map<std::string, std::string> xla;    // versions and commits: "xla_client", "467"
};
// Removes it and the folders of processes that left nothing.
HookReport RemovePythonHook(const std::string& dump, const std::string& hook);

}  // namespace hloscope::debug
