// KernelRunner: runs the plan or the kernels of a compiled module, and counts what they and the
// evaluator did.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "core/backends/compiled/plan_run.h"
#include "core/eval/machine/compiled_kernels.h"
#include "core/replay/capture/run_stream.h"
#include "core/replay/host_fallbacks.h"

namespace hloscope::replay {

// Of one run of a module.
class KernelRunner : public eval::CompiledKernels {
 public:
  // `on_host`: told of what the evaluator computed; null: nobody.
  using OnHost = std::function<void(hlo::InstructionId id, int64_t nanoseconds)>;
  KernelRunner(const hlo::Module& module, const ModuleCode& code, OnHost on_host = nullptr)
      : module_(module), code_(code), on_host_(std::move(on_host)) {}

  const hlo::Module& module() const override { return module_; }
  bool Has(hlo::InstructionId id) const override { return code_.kernels[id.index] != nullptr; }
  Result<runtime::Value> Run(eval::KernelCall& call) const override;
  // The value of the entry by its plan; instruction by instruction where there is none, where more
  // than the value is asked for, or where a value turned out to be missing.
  Result<runtime::Value> RunEntry(eval::Machine& machine,
                                  std::vector<runtime::Value> arguments) const;
  void Evaluated(hlo::InstructionId id, int64_t nanoseconds) const override;

  // Behind the run: what ran, and each instruction that the evaluator computed as a fallback.
  void Tell(RunStream& stream) const;

 private:
  // nullopt: a value is missing.
  Result<std::optional<runtime::Value>> RunPlan(eval::Machine& machine,
                                                std::span<const runtime::Value> arguments) const;
  // `rows` gets those for a bundle.
  std::vector<RunExecuted::Choice> Choices(std::vector<std::string>& rows) const;
  std::map<hlo::InstructionId, std::string> MissingWithParts() const;
  bool HasCode(hlo::InstructionId id) const;

  const hlo::Module& module_;
  const ModuleCode& code_;
  OnHost on_host_;
  mutable std::mutex mutex_;  // devices run at the same time
  mutable CodeCounts counts_;
  mutable int64_t devices_ = 1;
  mutable bool by_plan_ = false;
  mutable int64_t collectives_ = 0;  // between devices, in the host's memory
  mutable HostFallbackCounts evaluated_;
};

}  // namespace hloscope::replay
