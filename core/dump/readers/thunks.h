// The thunks of one module: what the runtime of XLA:GPU does, in order and nested.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/readers/launch_dimensions.h"

namespace hloscope::dump {

struct Thunk {
  int64_t id = -1;          // of the dump; -1: this XLA wrote none
  std::string kind;         // "kKernel", "kGemm", …
  int32_t depth = 0;        // 0 is the outermost sequence
  int32_t parent = -1;      // the thunk that holds its sequence
  std::string description;  // the rest of its line
  std::string kernel;       // the symbol it launches, or empty
  std::string
      library;  // "cuBLASLt", "cuDNN", "NCCL", "driver", …; "runtime" for bodies; empty for kernels
  std::string instruction;           // of the final stage; empty if none was found
  bool tied_by_metadata = false;     // the thunk metadata name `instruction`
  int64_t previous = -1, next = -1;  // ids of the thunks it conflicts with
  LaunchDimensions launch;
  std::optional<int64_t> shared_bytes;
  int32_t line = 0;  // in the file, counts from 1; 0: only in the metadata
};

struct ThunkSequence {
  std::vector<Thunk> thunks;        // in the order of the file
  int32_t file = -1;                // of DumpModel::files(); -1: this module has none
  std::vector<Thunk> after_passes;  // the same after the passes over thunks (command buffers, …)
  int32_t after_passes_file = -1;   // -1: this XLA wrote none
  std::vector<std::string> warnings;
};

// True for kinds that only hold other thunks (while, conditional, command buffer, …).
bool HoldsThunks(std::string_view kind);

}  // namespace hloscope::dump
