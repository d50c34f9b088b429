// CompiledKernels: instructions that run by code of their own instead of the evaluator's kernels.
#pragma once

#include "core/base/result.h"
#include "core/hlo/module.h"
#include "core/runtime/value.h"

namespace hloscope::eval {

struct KernelCall;

// Of one module; used by all devices of a run at once.
class CompiledKernels {
 public:
  virtual ~CompiledKernels() = default;
  // The module whose ids it speaks of. What library calls expand to is another one.
  virtual const hlo::Module& module() const = 0;
  virtual bool Has(hlo::InstructionId id) const = 0;
  // The value of an instruction that it has; all operands are arrays of the declared sizes. Errors
  // end the run but those of kernels that make a value missing.
  virtual Result<runtime::Value> Run(KernelCall& call) const = 0;
  // The evaluator's own kernel computed an instruction that code could have been written for.
  virtual void Evaluated(hlo::InstructionId id, int64_t nanoseconds) const = 0;
};

}  // namespace hloscope::eval
