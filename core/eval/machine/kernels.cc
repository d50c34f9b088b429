// The dispatch table: opcodes.def's evaluator column joined with kernels.def.
#include "core/eval/machine/kernels.h"

namespace hloscope::eval {
namespace {

// One constant per kernel name, so that a name in opcodes.def that kernels.def lacks does not
// compile.
constexpr bool kTakes = true, kNeedsAll = false;  // missing operands
constexpr bool kAny = true, kSame = false;        // types of floats
#define KERNEL(name, missing, floats, live) \
  constexpr KernelRow kRow##name = {name##Kernel, k##missing, k##floats, kLive##live};
#include "core/eval/machine/kernels.def"
#undef KERNEL

constexpr KernelRow kRows[hlo::kOpcodeCount] = {
#define OPCODE(name, text, arity, shape, kernel, category, flags, ...) kRow##kernel,
#include "core/hlo/opcodes.def"
#undef OPCODE
};

}  // namespace

const KernelRow& KernelOf(hlo::Opcode opcode) { return kRows[static_cast<size_t>(opcode)]; }

}  // namespace hloscope::eval
