// ModuleRuns: runs of a module in this process, whoever computes: inputs are bound, devices run,
// results, captured values and traces are told.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/eval/machine/evaluator.h"
#include "core/hlo/sharding/topology.h"
#include "core/replay/platform.h"

namespace hloscope::replay {

class ModuleRuns {
 public:
  // `rewritten`: the module as it runs, where that is not the one that was given.
  ModuleRuns(std::shared_ptr<const hlo::Module> module, const RunOptions& options,
             std::shared_ptr<const hlo::Module> rewritten = nullptr);

  // Who computes: `compiled` has code for some instructions, `body` is what a device does as a
  // whole; null: the evaluator.
  struct Code {
    const eval::CompiledKernels* compiled = nullptr;
    eval::DeviceBody body = nullptr;
  };
  Result<RunResult> Run(std::span<const std::vector<hlo::Literal>> inputs,
                        const RunOptions& options, RunStream& stream, const Code& code);
  // Tells when each device's steps ran, in a run that took so long, with the module that ran;
  // `spans` by device; none: they are not known.
  void EmitTraceSteps(std::vector<TraceSteps> devices, std::span<const runtime::DeviceSpan> spans,
                      int64_t start_ns, int64_t run_ns, RunStream& stream) const;

 private:
  Result<RunResult> Evaluate(std::span<const std::vector<hlo::Literal>> arguments,
                             const eval::EvaluateOptions& how, const eval::DeviceBody& body,
                             const RunOptions& options, RunStream& stream) const;
  void EmitTraceRecording(runtime::Recording* recording, int64_t start_ns, int64_t run_ns,
                          RunStream& stream) const;
  const hlo::Module& running() const { return rewritten_ ? *rewritten_ : *module_; }

  std::shared_ptr<const hlo::Module> module_;     // as given
  std::shared_ptr<const hlo::Module> rewritten_;  // null: that one runs
  uint64_t rewritten_number_ = 0;                 // in this process, of those that were rewritten
  mutable bool has_told_rewritten_ = false;
  Limits limits_;
  std::optional<uint64_t> fill_elided_;
  hlo::Topology topology_;
  std::shared_ptr<runtime::BufferPool> pool_;  // memory for runs, kept between them
};

}  // namespace hloscope::replay
