// Backend: what makes code of a compiled module: for this machine's processor, or for a GPU.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/backends/compiled/plan_run.h"
#include "core/compile/compile.h"
#include "core/compile/kernel_code.h"
#include "core/replay/capture/run_stream.h"
#include "core/replay/platform.h"
#include "core/replay/run_options.h"

namespace hloscope::replay {

struct PlanCode;

// Code that has to know of the runs it is part of.
class RunListener {
 public:
  virtual ~RunListener() = default;
  virtual void Begin(const RunOptions& options) = 0;
  // True: it tells when what ran, for whoever asks for steps.
  virtual bool records_by_itself() const { return false; }
  // The evaluator ran an instruction, and has just ended.
  virtual void OnHost(hlo::InstructionId /*id*/, int64_t /*nanoseconds*/) {}
  // Behind a recorded run: whether it is to be done once more for what cannot be measured beside
  // times, and how that went; asked again behind each. Nothing else is told of those runs.
  virtual bool BeginAgain() { return false; }
  virtual void EndAgain(const Status& /*ran*/) {}
  // Tells what was found.
  virtual void End(RunStream& stream) = 0;
  // Behind a recorded run: may add to a device's steps what it knows of them.
  virtual void AddTo(TraceSteps&) {}
};

struct CompiledCode {
  // An instruction's code is in one of them, or nowhere.
  std::vector<std::unique_ptr<compile::KernelLibrary>> libraries;
  std::map<hlo::InstructionId, std::string> missing;   // kernels without code, and why
  std::shared_ptr<RunListener> listener;               // null: none
  std::shared_ptr<const PlanDevice> device;            // where plans run; null: the host
  std::shared_ptr<const AlgorithmSelections> choices;  // null: no library can run any
};

class Backend {
 public:
  virtual ~Backend() = default;
  // What the passes are to leave.
  virtual void AdjustOptions(compile::CompileOptions&) const {}
  // Who tells of a recorded run what ran when: the evaluator, instruction by instruction; the run
  // of the plan, step by step, in which a loop that is one function is one step, unless those
  // inside are asked for; or a listener.
  enum class Recorder : uint8_t { kEvaluator, kPlan, kListener };
  virtual Recorder recorder() const { return Recorder::kEvaluator; }
  // Whether the listener answers that search by how it runs kernels: no value is asked for.
  virtual bool AnswersSearch(const SearchRequest&) const { return false; }
  // The processor or GPU, and the build, that the code is for; empty: what is written is not kept.
  virtual std::string CacheTarget(const RunOptions& options) const = 0;
  // `image`, where not null, gets what LoadFromCache makes the same code of.
  virtual Result<CompiledCode> Compile(const compile::Compilation& compilation,
                                       const RunOptions& options, std::string* image) const = 0;
  // Of a compilation from the cache. Errors: the image is none, too.
  virtual Result<CompiledCode> LoadFromCache(const compile::Compilation& compilation,
                                             const std::string& image,
                                             const RunOptions& options) const = 0;
  // Whether it runs what a .hloplan holds, by Link, without compiling anything.
  virtual bool TakesPlanFiles() const { return false; }
  virtual Result<CompiledCode> Link(PlanCode planned, const RunOptions& options) const;
};

std::unique_ptr<Backend> MakeCpuBackend();

// The row of a platform whose code `backend` makes.
std::unique_ptr<Platform> MakeCompiledPlatform(const PlatformRow& row,
                                               std::unique_ptr<Backend> backend);

}  // namespace hloscope::replay
