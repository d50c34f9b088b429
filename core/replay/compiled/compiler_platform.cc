// The row of our own compiler: kernels where there are any, the evaluator around them.
#include <algorithm>
#include <array>

#include "core/base/own_library.h"
#include "core/compile/compile.h"
#include "core/linking/processor.h"
#include "core/replay/codegen_entry.h"
#include "core/replay/compiled/compilation_cache.h"
#include "core/replay/compiled/how_to_compile.h"
#include "core/replay/compiled/kernel_runner.h"
#include "core/replay/evaluating.h"

namespace hloscope::replay {
namespace {

using hlo::InstructionId;

class CompilerExecutable : public EvaluatorExecutable {
 public:
  CompilerExecutable(std::shared_ptr<const hlo::Module> module, const RunOptions& options,
                     const compile::Compilation& compilation,
                     std::vector<std::unique_ptr<compile::KernelLibrary>> libraries)
      : EvaluatorExecutable(std::move(module), options, compilation.module),
        compiled_(compilation.module),
        libraries_(std::move(libraries)) {
    const size_t count = compiled_->instructions().size();
    code_.plan = compilation.plan;
    code_.kernels.resize(count);
    code_.loops.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      for (const auto& library : libraries_) Take(*library, InstructionId(i));
    }
  }

  Result<RunResult> Run(std::span<const std::vector<hlo::Literal>> inputs,
                        const RunOptions& options, RunStream& stream) override {
    const KernelRunner kernels(*compiled_, code_);
    set_compiled(&kernels);
    auto result = EvaluatorExecutable::Run(inputs, options, stream);
    set_compiled(nullptr);
    kernels.Tell(stream);
    return result;
  }

 private:
  void Take(const compile::KernelLibrary& library, InstructionId id) {
    if (const compile::KernelCode* kernel = library.Find(id); kernel != nullptr) {
      code_.kernels[id.index] = kernel;
      code_.scratch_bytes = std::max(code_.scratch_bytes, kernel->scratch_bytes);
    }
    if (const compile::LoopCode* loop = library.FindLoop(id); loop != nullptr) {
      code_.loops[id.index] = loop;
      code_.scratch_bytes = std::max(code_.scratch_bytes, loop->scratch_bytes);
    }
  }

  std::shared_ptr<const hlo::Module> compiled_;
  std::vector<std::unique_ptr<compile::KernelLibrary>> libraries_;
  ModuleCode code_;
};

// What a run is to show of the module.
enum class Form : uint8_t {
  kResults,  // nothing else: small loops are one function
  kSteps,    // when each kernel ran
  kValues,   // the value of every instruction
};
constexpr size_t kForms = 3;

Form FormFor(const RunOptions& options) {
  if (options.capture.wants_more_than_results()) return Form::kValues;
  return options.record_steps > 0 ? Form::kSteps : Form::kResults;
}

using Libraries = std::vector<std::unique_ptr<compile::KernelLibrary>>;

// A form that shows steps is made for one recording: it is not kept.
bool IsKept(const RunOptions& options) {
  return options.object_cache && FormFor(options) != Form::kSteps;
}

// Which processor code is for, and what writes it; empty where that is unknown.
std::string TargetHere() {
  const std::string codegen = BuildIdOfOwnLibrary(kCodegenLibrary),
                    calls = BuildIdOfOwnLibrary(kCallsLibrary);
  if (codegen.empty() || calls.empty()) return {};
  const std::string processor = linking::ProcessorName();
  return processor.empty() ? processor : codegen + calls + processor;
}

// Compiles, puts the libraries behind `libraries` and what came of it into the cache.
Result<compile::Compilation> CompileAnew(const std::shared_ptr<const hlo::Module>& module,
                                         const compile::CompileOptions& how,
                                         const RunOptions& options, const CompilationCache& cache,
                                         Libraries& libraries) {
  HLOSCOPE_ASSIGN_OR_RETURN(compile::Compilation compilation, compile::Compile(module, how));
  if (FormFor(options) == Form::kSteps) compilation.plan = nullptr;
  std::vector<InstructionId> kernels =
      compilation.plan == nullptr
          ? compilation.kernels
          : compile::KernelsBesideLoops(*compilation.plan, compilation.kernels);
  HLOSCOPE_ASSIGN_OR_RETURN(libraries.emplace_back(), MakeLibraryCalls(compilation, kernels));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto generate, CodegenEntry<compile::GenerateKernelsFunction>(
                                                     compile::kGenerateKernels));
  std::string image;
  HLOSCOPE_ASSIGN_OR_RETURN(libraries.emplace_back(),
                            generate(compilation.module, kernels,
                                     {.threads = options.threads,
                                      .plan = compilation.plan.get(),
                                      .image = IsKept(options) ? &image : nullptr}));
  cache.Store(compilation, image);
  return compilation;
}

Result<std::unique_ptr<Executable>> CompileAndLink(std::shared_ptr<const hlo::Module> module,
                                                   const RunOptions& options) {
  const compile::CompileOptions how =
      HowToCompile(*module, options, FormFor(options) == Form::kValues);
  const CompilationCache cache(*module, how, IsKept(options) ? TargetHere() : "", options);
  Libraries libraries;
  compile::Compilation compilation;
  if (auto kept = cache.Load()) {
    compilation = std::move(kept->compilation);
    std::vector<InstructionId> refused;  // have code in the other library
    HLOSCOPE_ASSIGN_OR_RETURN(libraries.emplace_back(), MakeLibraryCalls(compilation, refused));
    libraries.push_back(std::move(kept->kernels));
  } else {
    HLOSCOPE_ASSIGN_OR_RETURN(compilation, CompileAnew(module, how, options, cache, libraries));
  }
  return std::make_unique<CompilerExecutable>(std::move(module), options, compilation,
                                              std::move(libraries));
}

// A module in the forms that its runs ask for, each made when it is first asked for.
class ModuleForms : public Executable {
 public:
  explicit ModuleForms(std::shared_ptr<const hlo::Module> module) : module_(std::move(module)) {}

  Result<Executable*> Make(const RunOptions& options) {
    std::unique_ptr<Executable>& form = forms_[static_cast<size_t>(FormFor(options))];
    if (form == nullptr) {
      HLOSCOPE_ASSIGN_OR_RETURN(form, CompileAndLink(module_, options));
    }
    return form.get();
  }
  Result<RunResult> Run(std::span<const std::vector<hlo::Literal>> inputs,
                        const RunOptions& options, RunStream& stream) override {
    HLOSCOPE_ASSIGN_OR_RETURN(Executable* const form, Make(options));
    return form->Run(inputs, options, stream);
  }

 private:
  std::shared_ptr<const hlo::Module> module_;
  std::array<std::unique_ptr<Executable>, kForms> forms_;
};

class CompilerPlatform : public Platform {
 public:
  explicit CompilerPlatform(const PlatformRow& row) : row_(row) {}
  std::string_view name() const override { return row_.name; }

  Result<std::unique_ptr<Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                           const RunOptions& options) override {
    auto executable = std::make_unique<ModuleForms>(std::move(module));
    HLOSCOPE_TRY(executable->Make(options));
    return executable;
  }

 private:
  const PlatformRow& row_;
};

}  // namespace

std::unique_ptr<Platform> MakeCompilerPlatform(const PlatformRow& row, std::string_view) {
  return std::make_unique<CompilerPlatform>(row);
}

}  // namespace hloscope::replay
