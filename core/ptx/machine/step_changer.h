// What executes instructions otherwise than usual: other arithmetic, or a fault for a test.
#pragma once

#include "core/ptx/machine/state.h"

namespace hloscope::ptx {

class StepChanger {
 public:
  virtual ~StepChanger() = default;
  // The step that executes `instruction` in place of `usual`; that one where nothing is changed.
  virtual Step Changed(const Instruction& instruction, Step usual) const = 0;
};

}  // namespace hloscope::ptx
