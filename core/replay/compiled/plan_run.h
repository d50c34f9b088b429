// PlanRun: one run of a plan: memory for its buffers, its steps one after the other.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/compile/kernel_code.h"
#include "core/compile/plan/plan.h"
#include "core/eval/machine/machine.h"

namespace hloscope::replay {

// The machine code of a module, by instruction; null where there is none.
struct ModuleCode {
  std::shared_ptr<const compile::Plan> plan;  // of the entry; null: instruction by instruction
  std::vector<const compile::KernelCode*> kernels;
  std::vector<const compile::LoopCode*> loops;
  std::map<hlo::InstructionId, std::string> missing;  // kernels without code, and why
  int64_t scratch_bytes = 0;                          // the most that any of the plan's asks for
};

// Runs all grains of a kernel or library call on the threads of the run.
Status RunCode(const compile::KernelCode& code, eval::Machine& machine,
               const std::byte* const* operands, std::byte* const* results, std::byte* scratch);

// How often code ran.
struct CodeCounts {
  int64_t kernels = 0, library_calls = 0;

  void Add(const compile::KernelCode& code) {
    const bool is_call = code.library != nullptr && !code.library->is_kernel();
    ++(is_call ? library_calls : kernels);
  }
};

class PlanRun {
 public:
  PlanRun(const ModuleCode& code, eval::Machine& machine)
      : code_(code), plan_(*code.plan), machine_(machine) {}

  // The value of the root; nullopt where a value is missing or not of its declared size, which only
  // the way instruction by instruction can handle. Errors are those of a run that has to end.
  Result<std::optional<eval::Value>> Run(std::span<const eval::Value> arguments);
  const CodeCounts& counts() const { return counts_; }

 private:
  bool Bind(std::span<const eval::Value> arguments);
  Status Allocate();

  // False: give up.
  Result<bool> RunSequence(compile::SequenceNumber sequence);
  Result<bool> RunStep(const compile::PlannedStep& step);
  Status RunKernel(const compile::PlannedStep& step);
  Result<bool> RunLoop(const compile::PlannedStep& step);
  Status LookAtLoop(const compile::PlannedStep& step, int64_t ran, int64_t turns);
  // The loop has run `ran` turns before.
  Result<bool> RunTurns(const compile::PlannedStep& step, int64_t ran, int64_t turns,
                        bool& has_ended);
  Result<bool> RunBranch(const compile::PlannedStep& step);
  Result<bool> Evaluate(const compile::PlannedStep& step);

  // Of what a loop carries, what decides when it ends; nullopt where that is a lot.
  std::optional<std::vector<compile::BufferNumber>> DecidingBuffers(
      const compile::PlannedStep& loop) const;
  std::vector<std::byte> BytesOf(const std::vector<compile::BufferNumber>& buffers) const;
  eval::Value ValueOf(compile::BufferNumber b, const hlo::Shape& shape) const;
  eval::Value ValueOf(const hlo::Shape& shape, std::span<const compile::BufferNumber> buffers,
                      size_t& next) const;
  bool TakeLeaves(const eval::Value& value, const hlo::Shape& shape,
                  std::span<const compile::BufferNumber> buffers, size_t& next);
  Result<eval::Value> OwnBytes(const eval::Value& array);
  bool IsOurs(const std::byte* data) const;

  const ModuleCode& code_;
  const compile::Plan& plan_;
  eval::Machine& machine_;
  std::vector<std::byte*> addresses_;  // by buffer
  std::vector<eval::Value> values_;    // by buffer: parameters and what hand-overs brought
  std::vector<eval::Buffer> results_;
  eval::Buffer arena_, scratch_;
  std::vector<std::byte*> pointers_;
  CodeCounts counts_;
};

}  // namespace hloscope::replay
