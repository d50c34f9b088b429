// Machine code for this machine, and calls of libraries.
#include "core/backends/compiled/backend.h"
#include "core/backends/compiled/codegen_entry.h"
#include "core/base/own_library.h"
#include "core/linking/kernel_objects.h"
#include "core/linking/processor.h"

namespace hloscope::replay {
namespace {

using hlo::InstructionId;

class CpuBackend : public Backend {
 public:
  Recorder recorder() const override { return Recorder::kPlan; }

  std::string CacheTarget(const RunOptions&) const override {
    const std::string codegen = BuildIdOfOwnLibrary(kCodegenLibrary),
                      calls = BuildIdOfOwnLibrary(kCallsLibrary);
    if (codegen.empty() || (calls.empty() && HasLibraryCalls())) return {};
    const std::string processor = linking::ProcessorName();
    return processor.empty() ? processor : codegen + calls + processor;
  }

  Result<CompiledCode> Compile(const compile::Compilation& compilation, const RunOptions& options,
                               std::string* image) const override {
    CompiledCode code;
    std::vector<InstructionId> kernels =
        compilation.plan == nullptr
            ? compilation.kernels
            : compile::KernelsBesideLoops(*compilation.plan, compilation.kernels);
    HLOSCOPE_ASSIGN_OR_RETURN(code.libraries.emplace_back(),
                              MakeLibraryCalls(compilation, kernels));
    HLOSCOPE_ASSIGN_OR_RETURN(const auto generate, CodegenEntry<compile::GenerateKernelsFunction>(
                                                       compile::kGenerateKernels));
    HLOSCOPE_ASSIGN_OR_RETURN(
        code.libraries.emplace_back(),
        generate(
            compilation.module, kernels,
            {.threads = options.budget.threads, .plan = compilation.plan.get(), .image = image}));
    return code;
  }

  Result<CompiledCode> LoadFromCache(const compile::Compilation& compilation,
                                     const std::string& image, const RunOptions&) const override {
    CompiledCode code;
    HLOSCOPE_ASSIGN_OR_RETURN(auto kernels, linking::LoadKernels(std::as_bytes(std::span(image))));
    std::vector<InstructionId> refused;  // have code in the other library
    HLOSCOPE_ASSIGN_OR_RETURN(code.libraries.emplace_back(),
                              MakeLibraryCalls(compilation, refused));
    code.libraries.push_back(std::move(kernels));
    return code;
  }
};

}  // namespace

std::unique_ptr<Backend> MakeCpuBackend() { return std::make_unique<CpuBackend>(); }

}  // namespace hloscope::replay
