// The kernels named in the evaluator column of opcodes.def, and the table from opcode to kernel.
#pragma once

#include "core/eval/machine/live_call.h"
#include "core/eval/machine/machine.h"

namespace hloscope::eval {

struct KernelRow {
  Kernel kernel;
  // True: it handles missing operands itself, passing on what is there. False: any missing operand
  // makes the result missing.
  bool takes_missing;
  bool mixes_precision;  // takes floats of several types
  DynamicShapeRule live;
};
const KernelRow& KernelOf(hlo::Opcode opcode);

// Every kernel there is; a name in opcodes.def that is not there does not compile.
#define KERNEL(name, missing, floats, live) Result<Value> name##Kernel(KernelCall& call);
#include "core/eval/machine/kernels.def"
#undef KERNEL

}  // namespace hloscope::eval
