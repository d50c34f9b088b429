// KernelRunner: lets the evaluator run the kernels of a compiled module, and counts what they and
// the evaluator did.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "core/compile/kernel_code.h"
#include "core/eval/machine/compiled_kernels.h"
#include "core/replay/capture/run_stream.h"

namespace hloscope::replay {

// Of one run of a module.
class KernelRunner : public eval::CompiledKernels {
 public:
  // `code` by instruction of the module; null where there is none.
  KernelRunner(const hlo::Module& module, std::span<const compile::KernelCode* const> code)
      : module_(module), code_(code) {}

  const hlo::Module& module() const override { return module_; }
  bool Has(hlo::InstructionId id) const override { return code_[id.index] != nullptr; }
  Result<eval::Value> Run(eval::KernelCall& call) const override;
  void Evaluated(hlo::InstructionId id, int64_t nanoseconds) const override;

  // Behind the run: what ran, and each instruction that the evaluator computed as a fallback.
  void Tell(RunStream& stream) const;

 private:
  struct HandOver {
    int64_t count = 0, nanoseconds = 0;
  };

  const hlo::Module& module_;
  std::span<const compile::KernelCode* const> code_;
  mutable std::mutex mutex_;  // devices run at the same time
  mutable int64_t kernels_ = 0, library_calls_ = 0;
  mutable std::map<hlo::InstructionId, HandOver> evaluated_;
};

}  // namespace hloscope::replay
