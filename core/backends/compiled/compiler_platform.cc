// The row of our own compiler: kernels where there are any, the evaluator around them.
#include <algorithm>
#include <array>
#include <optional>

#include "core/backends/compiled/backend.h"
#include "core/backends/compiled/compilation_cache.h"
#include "core/backends/compiled/how_to_compile.h"
#include "core/backends/compiled/kernel_runner.h"
#include "core/backends/compiled/plan_code.h"
#include "core/backends/interpreter/module_runs.h"
#include "core/compile/compile.h"

namespace hloscope::replay {
namespace {

using hlo::InstructionId;

// Lets a listener add to the steps that go by.
class TracingStream : public RunStream {
 public:
  TracingStream(RunListener& listener, RunStream& next) : listener_(listener), next_(next) {}
  void Take(RunEvent event) override {
    if (auto* steps = std::get_if<TraceSteps>(&event)) listener_.AddTo(*steps);
    next_.Take(std::move(event));
  }

 private:
  RunListener& listener_;
  RunStream& next_;
};

// Says of the steps that go by which loops were one function.
class WholeLoopsStream : public RunStream {
 public:
  WholeLoopsStream(std::vector<InstructionId> loops, RunStream& next)
      : loops_(std::move(loops)), next_(next) {}
  void Take(RunEvent event) override {
    if (auto* steps = std::get_if<TraceSteps>(&event)) {
      steps->whole_loops = loops_;
      // A plan that could not go on was evaluated, with all that is in its loops.
      for (const runtime::CallPath& path : steps->steps.paths) {
        std::erase(steps->whole_loops, path.caller);
      }
    }
    next_.Take(std::move(event));
  }

 private:
  std::vector<InstructionId> loops_;
  RunStream& next_;
};

class NullStream : public RunStream {
 public:
  void Take(RunEvent) override {}
};

// Code for what one kind of run is to show of a module.
class CompiledForm {
 public:
  CompiledForm(std::shared_ptr<const hlo::Module> module, const RunOptions& options,
               const compile::Compilation& compilation, CompiledCode written)
      : runs_(std::move(module), options, compilation.module),
        compiled_(compilation.module),
        libraries_(std::move(written.libraries)),
        listener_(std::move(written.listener)) {
    code_.missing = std::move(written.missing);
    const size_t count = compiled_->instructions().size();
    code_.plan = compilation.plan;
    code_.device = std::move(written.device);
    code_.keeps_values = options.capture.wants_more_than_results();
    code_.choices = std::move(written.choices);
    code_.kernels.resize(count);
    for (const auto& library : libraries_) {
      for (uint32_t i = 0; i < count; ++i) TakeKernel(*library, InstructionId(i));
      TakeLoops(*library);
    }
  }

  // `asked`: with the search that the listener answers.
  Result<RunResult> Run(std::span<const std::vector<hlo::Literal>> inputs,
                        const RunOptions& options, const RunOptions& asked, RunStream& stream) {
    if (listener_ != nullptr) listener_->Begin(asked);
    const bool records =
        options.record.steps > 0 && listener_ != nullptr && listener_->records_by_itself();
    const KernelRunner kernels(*compiled_, code_,
                               records ? KernelRunner::OnHost([&](InstructionId id, int64_t ns) {
                                 listener_->OnHost(id, ns);
                               })
                                       : nullptr);
    std::optional<TracingStream> traced;
    if (listener_ != nullptr) traced.emplace(*listener_, stream);
    RunStream& next = traced ? *traced : stream;
    WholeLoopsStream told(whole_loops_, next);
    auto result = records ? RunUnrecorded(kernels, inputs, options, told)
                          : runs_.Run(inputs, options, told, CodeOf(kernels));
    while (records && result.has_value() && listener_->BeginAgain()) {
      listener_->EndAgain(RunAgain(inputs, options));
    }
    if (listener_ != nullptr) listener_->End(stream);
    kernels.Tell(stream);
    return result;
  }

 private:
  static ModuleRuns::Code CodeOf(const KernelRunner& kernels) {
    return {&kernels, [&](eval::Machine& machine, std::vector<runtime::Value> arguments) {
              return kernels.RunEntry(machine, std::move(arguments));
            }};
  }

  // The run as a whole, and whose instructions it was, are told.
  Result<RunResult> RunUnrecorded(const KernelRunner& kernels,
                                  std::span<const std::vector<hlo::Literal>> inputs,
                                  RunOptions options, RunStream& stream) {
    options.record.steps = 0;
    const int64_t start_ns = runtime::SteadyNanoseconds();
    auto result = runs_.Run(inputs, options, stream, CodeOf(kernels));
    const int64_t run_ns = result.has_value() ? static_cast<int64_t>(result->run_us * 1e3)
                                              : runtime::SteadyNanoseconds() - start_ns;
    std::vector<TraceSteps> none(1);
    none[0].steps.paths.resize(1);  // the entry
    runs_.EmitTraceSteps(std::move(none), {}, start_ns, run_ns, stream);
    return result;
  }

  // The same once more, for the listener alone: nobody else sees it.
  Status RunAgain(std::span<const std::vector<hlo::Literal>> inputs, RunOptions options) {
    options.record.steps = 0;
    options.capture = {};
    options.feeds.take_infeed = nullptr;
    options.feeds.give_outfeed = nullptr;
    const KernelRunner kernels(*compiled_, code_, nullptr);
    NullStream discarded;
    const auto result = runs_.Run(inputs, options, discarded, CodeOf(kernels));
    if (!result.has_value()) return std::unexpected(result.error());
    return {};
  }

  void TakeKernel(const compile::KernelLibrary& library, InstructionId id) {
    if (const compile::KernelCode* kernel = library.Find(id); kernel != nullptr) {
      code_.kernels[id.index] = kernel;
      code_.scratch_bytes = std::max(code_.scratch_bytes, kernel->scratch_bytes);
    }
  }

  void TakeLoops(const compile::KernelLibrary& library) {
    if (code_.plan == nullptr) return;
    for (const compile::PlannedStep* const step : OneFunctionLoopsOf(*code_.plan)) {
      const compile::LoopCode* loop = library.FindLoop(step->number);
      if (loop == nullptr) continue;
      code_.loops[step->number] = loop;
      whole_loops_.push_back(step->id);
      code_.scratch_bytes = std::max(code_.scratch_bytes, loop->scratch_bytes);
    }
  }

  ModuleRuns runs_;
  std::shared_ptr<const hlo::Module> compiled_;
  std::vector<std::unique_ptr<compile::KernelLibrary>> libraries_;
  std::shared_ptr<RunListener> listener_;
  std::vector<InstructionId> whole_loops_;
  ModuleCode code_;
};

// What a run is to show of the module.
enum class Form : uint8_t {
  kResults,  // nothing else: small loops are one function
  kSteps,    // when each kernel ran
  kValues,   // the value of every instruction
};
constexpr size_t kForms = 3;

Form FormFor(const RunOptions& options, const Backend& backend) {
  if (options.capture.wants_more_than_results()) return Form::kValues;
  if (options.record.steps <= 0) return Form::kResults;
  const bool as_it_runs =
      backend.recorder() == Backend::Recorder::kPlan && !options.record.loop_steps;
  return as_it_runs ? Form::kResults : Form::kSteps;
}

// A form that shows steps is made for one recording: it is not kept.
bool IsKept(const RunOptions& options, const Backend& backend) {
  return options.load.object_cache && FormFor(options, backend) != Form::kSteps;
}

// The plan by which steps are told; null: instruction by instruction.
std::shared_ptr<const compile::Plan> PlanOfSteps(std::shared_ptr<const compile::Plan> plan,
                                                 const Backend& backend) {
  if (backend.recorder() == Backend::Recorder::kListener || plan == nullptr) return plan;
  if (backend.recorder() == Backend::Recorder::kEvaluator) return nullptr;
  compile::Plan open = *plan;
  for (compile::Sequence& sequence : open.sequences) {
    for (compile::PlannedStep& step : sequence) step.is_one_function = false;
  }
  return std::make_shared<const compile::Plan>(std::move(open));
}

// Whether devices meet in steps of the plan.
bool HasCollectives(const compile::Compilation& compilation) {
  bool has_some = false;
  if (compilation.plan == nullptr) return false;
  compile::ForEachStep(*compilation.plan, 0, [&](const compile::PlannedStep& step) {
    has_some |= hlo::HasFlag((*compilation.module)[step.id].opcode, hlo::kFlagCollective);
  });
  return has_some;
}

// What the file holds is what runs, whatever is asked for; nothing is compiled.
Result<std::unique_ptr<CompiledForm>> LinkPlanFile(std::shared_ptr<const hlo::Module> module,
                                                   const Backend& backend,
                                                   const RunOptions& options) {
  if (FormFor(options, backend) == Form::kValues) {
    return UnsupportedError("a .hloplan has no code for values between its kernels",
                            "run the module that it was compiled from");
  }
  compile::CompileOptions how = HowToCompile(*module, options, false);
  backend.AdjustOptions(how);  // takes out what is no pass
  if (!how.disabled_passes.empty()) {
    return UnsupportedError("a .hloplan is compiled already: passes cannot be disabled",
                            "run the module that it was compiled from");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(PlanCode planned,
                            ReadPlanFile(options.load.module_file, module, options.limits));
  if (FormFor(options, backend) == Form::kSteps) {
    planned.compilation.plan = PlanOfSteps(planned.compilation.plan, backend);
  }
  if (!how.plan_collectives && HasCollectives(planned.compilation)) {
    planned.compilation.plan = nullptr;
  }
  const compile::Compilation compilation = planned.compilation;
  HLOSCOPE_ASSIGN_OR_RETURN(CompiledCode written, backend.Link(std::move(planned), options));
  return std::make_unique<CompiledForm>(std::move(module), options, compilation,
                                        std::move(written));
}

Result<std::unique_ptr<CompiledForm>> CompileAndLink(std::shared_ptr<const hlo::Module> module,
                                                     const Backend& backend,
                                                     const RunOptions& options) {
  if (backend.TakesPlanFiles() && IsPlanFile(options.load.module_file)) {
    return LinkPlanFile(std::move(module), backend, options);
  }
  const Form form = FormFor(options, backend);
  const bool is_kept = IsKept(options, backend);
  compile::CompileOptions how = HowToCompile(*module, options, form == Form::kValues);
  backend.AdjustOptions(how);
  const CompilationCache cache(*module, how, is_kept ? backend.CacheTarget(options) : "", options);
  compile::Compilation compilation;
  Result<CompiledCode> written = InternalError("nothing is kept");
  if (auto kept = cache.Load()) {
    compilation = std::move(kept->compilation);
    written = backend.LoadFromCache(compilation, kept->kernels, options);
  }
  if (!written.has_value()) {
    HLOSCOPE_ASSIGN_OR_RETURN(compilation, compile::Compile(module, how));
    if (form == Form::kSteps) compilation.plan = PlanOfSteps(compilation.plan, backend);
    std::string image;
    written = backend.Compile(compilation, options, is_kept ? &image : nullptr);
    if (!written.has_value()) return std::unexpected(std::move(written).error());
    cache.Store(compilation, image);
  }
  return std::make_unique<CompiledForm>(std::move(module), options, compilation,
                                        *std::move(written));
}

// A module in the forms that its runs ask for, each made when it is first asked for.
class PlanExecutable : public Executable {
 public:
  PlanExecutable(std::shared_ptr<const hlo::Module> module, std::shared_ptr<const Backend> backend)
      : module_(std::move(module)), backend_(std::move(backend)) {}

  Result<CompiledForm*> Make(const RunOptions& asked) {
    const RunOptions options = WithoutAnswered(asked);
    std::unique_ptr<CompiledForm>& form = forms_[static_cast<size_t>(FormFor(options, *backend_))];
    if (form == nullptr) {
      HLOSCOPE_ASSIGN_OR_RETURN(form, CompileAndLink(module_, *backend_, options));
    }
    return form.get();
  }
  Result<RunResult> Run(std::span<const std::vector<hlo::Literal>> inputs,
                        const RunOptions& options, RunStream& stream) override {
    HLOSCOPE_ASSIGN_OR_RETURN(CompiledForm* const form, Make(options));
    return form->Run(inputs, WithoutAnswered(options), options, stream);
  }

 private:
  RunOptions WithoutAnswered(RunOptions options) const {
    const auto& search = options.capture.search;
    if (search && backend_->AnswersSearch(*search)) options.capture.search.reset();
    return options;
  }

  std::shared_ptr<const hlo::Module> module_;
  std::shared_ptr<const Backend> backend_;
  std::array<std::unique_ptr<CompiledForm>, kForms> forms_;
};

class CompilerPlatform : public Platform {
 public:
  CompilerPlatform(const PlatformRow& row, std::unique_ptr<Backend> backend)
      : row_(row), backend_(std::move(backend)) {}
  std::string_view name() const override { return row_.name; }

  Result<std::unique_ptr<Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                           const RunOptions& options) override {
    auto executable = std::make_unique<PlanExecutable>(std::move(module), backend_);
    HLOSCOPE_TRY(executable->Make(options));
    return executable;
  }

 private:
  const PlatformRow& row_;
  std::shared_ptr<const Backend> backend_;
};

}  // namespace

Result<CompiledCode> Backend::Link(PlanCode, const RunOptions&) const {
  return InternalError("this platform takes no .hloplan");
}

std::unique_ptr<Platform> MakeCompilerPlatform(const PlatformRow& row, std::string_view) {
  return MakeCompiledPlatform(row, MakeCpuBackend());
}

std::unique_ptr<Platform> MakeCompiledPlatform(const PlatformRow& row,
                                               std::unique_ptr<Backend> backend) {
  return std::make_unique<CompilerPlatform>(row, std::move(backend));
}

}  // namespace hloscope::replay
