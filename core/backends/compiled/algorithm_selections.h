// AlgorithmSelections: which of a module's kernels a library of the device computes instead, and
// why not.
#pragma once

#include <optional>
#include <string>

#include "core/hlo/module.h"
#include "core/replay/capture/algorithm_record.h"

namespace hloscope::replay {

struct AlgorithmSelection {
  std::string library;  // "cuBLASLt 13.0.2"; without a version where it was not loaded
  std::string reason;   // why our own kernel runs; empty: the library does
  AlgorithmRecord way = {};
  std::string row = {};  // of a table of choices; empty: there was no choice
};

class AlgorithmSelections {
 public:
  virtual ~AlgorithmSelections() = default;
  // As it stands by now; nullopt where there is no library for such an instruction.
  virtual std::optional<AlgorithmSelection> Of(hlo::InstructionId id) const = 0;
};

}  // namespace hloscope::replay
