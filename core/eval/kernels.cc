// The dispatch table: opcodes.def's evaluator column joined with kernels.def.
#include "core/eval/kernels.h"

namespace hloscope::eval {
namespace {

Result<Value> NoKernel(KernelCall& call) {
  return Unsupported(call, "the evaluator does not know this opcode yet");
}

// One constant per kernel name, so that a name in opcodes.def that kernels.def lacks does not
// compile.
#define KERNEL(name, takes_missing, live) \
  constexpr KernelRow kRow##name = {name##Kernel, takes_missing, kLive##live};
#define MISSING_KERNEL(name) constexpr KernelRow kRow##name = {NoKernel, false, {}};
#include "core/eval/kernels.def"
#undef KERNEL
#undef MISSING_KERNEL

constexpr KernelRow kRows[hlo::kOpcodeCount] = {
#define OPCODE(name, text, arity, shape, kernel, category, flags, ...) kRow##kernel,
#include "core/hlo/opcodes.def"
#undef OPCODE
};

}  // namespace

const KernelRow& KernelOf(hlo::Opcode opcode) { return kRows[static_cast<size_t>(opcode)]; }

bool HasKernel(hlo::Opcode opcode) { return KernelOf(opcode).kernel != NoKernel; }

}  // namespace hloscope::eval
