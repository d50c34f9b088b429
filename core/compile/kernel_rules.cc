// The rules of what a kernel is made of.
#include "core/compile/kernel_rules.h"

namespace hloscope::compile {

using hlo::InstructionId;
using hlo::Module;

bool IsElemental(const Module&, InstructionId) { return false; }

bool IsKernelRoot(const Module& module, InstructionId id) { return IsElemental(module, id); }

bool IsKernel(const Module& module, InstructionId id) { return IsKernelRoot(module, id); }

}  // namespace hloscope::compile
