// LibraryChoices: which of a module's kernels a library of the device computes instead, and why
// not.
#pragma once

#include <optional>
#include <string>

#include "core/hlo/module.h"
#include "core/replay/capture/library_way.h"

namespace hloscope::replay {

struct LibraryChoice {
  std::string library;  // "cuBLASLt 13.0.2"; without a version where it was not loaded
  std::string reason;   // why our own kernel runs; empty: the library does
  LibraryWay way = {};
  std::string row = {};  // of a table of choices; empty: there was no choice
};

class LibraryChoices {
 public:
  virtual ~LibraryChoices() = default;
  // As it stands by now; nullopt where there is no library for such an instruction.
  virtual std::optional<LibraryChoice> Of(hlo::InstructionId id) const = 0;
};

}  // namespace hloscope::replay
