#include "core/codegen/library/library_calls.h"

#include <utility>

#include "core/codegen/library/convolution_call.h"
#include "core/codegen/library/dot_call.h"
#include "core/codegen/library/fft_call.h"
#include "core/codegen/library/made_calls.h"

namespace hloscope::codegen {
namespace {

Result<compile::KernelCode> Make(const hlo::Module& module, hlo::InstructionId id) {
  if (module[id].opcode == hlo::Opcode::kDot) return MakeDotCall(module, id);
  if (module[id].opcode == hlo::Opcode::kFft) return MakeFftCall(module, id);
  return MakeConvolutionCall(module, id);
}

}  // namespace

Result<std::unique_ptr<compile::KernelLibrary>> MakeLibraryCalls(
    std::shared_ptr<const hlo::Module> module, std::span<const hlo::InstructionId> calls) {
  return MakeCalls(std::move(module), calls, &Make);
}

}  // namespace hloscope::codegen
