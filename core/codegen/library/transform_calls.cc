// Apart from the other calls, so that what takes these alone needs no oneDNN.
#include "core/codegen/library/fft_call.h"
#include "core/codegen/library/library_calls.h"
#include "core/codegen/library/made_calls.h"

namespace hloscope::codegen {
namespace {

Result<compile::KernelCode> Make(const hlo::Module& module, hlo::InstructionId id) {
  if (module[id].opcode == hlo::Opcode::kFft) return MakeFftCall(module, id);
  return UnsupportedError("no library for it");
}

}  // namespace

Result<std::unique_ptr<compile::KernelLibrary>> MakeTransformCalls(
    std::shared_ptr<const hlo::Module> module, std::span<const hlo::InstructionId> calls) {
  return MakeCalls(std::move(module), calls, &Make);
}

}  // namespace hloscope::codegen
