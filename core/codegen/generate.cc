// GenerateKernels: kernels to LLVM IR to machine code.
#include "core/codegen/generate.h"

#include <unordered_map>

namespace hloscope::codegen {
namespace {

class Library : public compile::KernelLibrary {
 public:
  const compile::KernelCode* Find(hlo::InstructionId) const override { return nullptr; }
  int64_t function_count() const override { return 0; }
};

}  // namespace

Result<std::unique_ptr<compile::KernelLibrary>> GenerateKernels(std::shared_ptr<const hlo::Module>,
                                                                std::span<const hlo::InstructionId>,
                                                                const compile::CodegenOptions&) {
  return std::make_unique<Library>();
}

}  // namespace hloscope::codegen
