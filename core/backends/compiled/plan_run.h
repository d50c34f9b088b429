// PlanRun: one run of a plan: memory for its buffers, its steps one after the other.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/backends/compiled/algorithm_selections.h"
#include "core/compile/kernel_code.h"
#include "core/compile/plan/plan.h"
#include "core/eval/machine/machine.h"
#include "core/replay/capture/run_stream.h"
#include "core/runtime/observer.h"

namespace hloscope::replay {

class PlanRun;
struct ModuleCode;

// Memory that is not the host's, where plans run.
class PlanDevice {
 public:
  virtual ~PlanDevice() = default;
  // A run of the code's plan there; `code` and the machine outlive it.
  virtual std::unique_ptr<PlanRun> Start(const ModuleCode& code, eval::Machine& machine) const = 0;
  // On what the devices of a run are; else than by the plan they run instruction by instruction.
  virtual RunExecuted::Placement Place(int64_t devices, bool by_plan) const = 0;
};

// The machine code of a module.
struct ModuleCode {
  std::shared_ptr<const compile::Plan> plan;  // of the entry; null: instruction by instruction
  std::vector<const compile::KernelCode*> kernels;  // by instruction; null where there is none
  std::unordered_map<int64_t, const compile::LoopCode*> loops;  // by number of the step
  std::map<hlo::InstructionId, std::string> missing;            // kernels without code, and why
  int64_t scratch_bytes = 0;                           // the most that any of the plan's asks for
  std::shared_ptr<const PlanDevice> device;            // where plans run; null: the host
  bool keeps_values = false;                           // all of them go to the host, to be told
  std::shared_ptr<const AlgorithmSelections> choices;  // null: no library can run any
};

// Runs all grains of a kernel or library call on the threads of the run.
Status RunCode(const compile::KernelCode& code, eval::Machine& machine,
               const std::byte* const* operands, std::byte* const* results, std::byte* scratch);

// How often code ran.
struct CodeCounts {
  int64_t kernels = 0, library_calls = 0, copies = 0, collectives = 0;
  // Copied between host and device for what the evaluator computed.
  struct Moved {
    int64_t bytes = 0, nanoseconds = 0;
  };
  std::map<hlo::InstructionId, Moved> moved = {};
  std::map<hlo::InstructionId, int64_t> chosen = {};  // where there are choices

  void Add(const compile::KernelCode& code) {
    const bool is_call = code.library != nullptr && !code.library->is_kernel();
    ++(is_call ? library_calls : kernels);
  }
  // All but what was moved and chosen.
  void AddRan(const CodeCounts& of, int64_t times = 1) {
    kernels += times * of.kernels;
    library_calls += times * of.library_calls;
    copies += times * of.copies;
    collectives += times * of.collectives;
  }
};

// In the host's memory; that of a device overrides what touches memory.
class PlanRun {
 public:
  PlanRun(const ModuleCode& code, eval::Machine& machine)
      : code_(code), plan_(*code.plan), machine_(machine) {}
  virtual ~PlanRun() = default;

  // The value of the root; nullopt where a value is missing or not of its declared size, which only
  // the way instruction by instruction can handle. Errors are those of a run that has to end.
  virtual Result<std::optional<runtime::Value>> Run(std::span<const runtime::Value> arguments);
  const CodeCounts& counts() const { return counts_; }

 protected:
  // Counts work against the limit of the run, where the host does it; looks at the deadline.
  virtual Status Charge(int64_t steps) { return machine_.Charge(steps); }
  // Gives every buffer of the plan but parameters and those of hand-overs its memory.
  virtual Status Allocate();
  // All steps of the entry; false: give up.
  virtual Result<bool> RunAll() { return RunSequence(0); }
  virtual Status RunKernel(const compile::PlannedStep& step);
  virtual Status Copy(compile::BufferNumber to, compile::BufferNumber from);
  // What a buffer holds, all of it.
  virtual Result<std::vector<std::byte>> BytesOf(compile::BufferNumber b) const;
  virtual Result<runtime::Value> ValueOf(compile::BufferNumber b, const hlo::Shape& shape);
  // An array of the buffer's size becomes what it holds.
  virtual Status TakeLeaf(const runtime::Value& value, compile::BufferNumber b);
  // The value of the root, all steps being done.
  virtual Result<runtime::Value> TakeRoot();

  // False: give up.
  Result<bool> RunSequence(compile::SequenceNumber sequence);
  bool IsPartOfNext(const compile::PlannedStep& step) const;
  virtual Result<bool> Evaluate(const compile::PlannedStep& step);
  Result<runtime::Value> ValueOf(const hlo::Shape& shape,
                                 std::span<const compile::BufferNumber> buffers, size_t& next);

  const ModuleCode& code_;
  const compile::Plan& plan_;
  eval::Machine& machine_;
  CodeCounts counts_;

 private:
  Result<bool> Bind(std::span<const runtime::Value> arguments);
  Result<bool> RunStep(const compile::PlannedStep& step);
  Result<bool> RunLoop(const compile::PlannedStep& step);
  Status LookAtLoop(const compile::PlannedStep& step, int64_t ran, int64_t iterations);
  // The loop has run `ran` turns before.
  Result<bool> RunIterations(const compile::PlannedStep& step, int64_t ran, int64_t iterations,
                             bool& has_ended);
  Result<bool> RunBranch(const compile::PlannedStep& step);

  // Of what a loop carries, what decides when it ends; nullopt where that is a lot.
  std::optional<std::vector<compile::BufferNumber>> DecidingBuffers(
      const compile::PlannedStep& loop) const;
  Result<std::vector<std::byte>> BytesOf(const std::vector<compile::BufferNumber>& buffers) const;
  Result<bool> TakeLeaves(const runtime::Value& value, const hlo::Shape& shape,
                          std::span<const compile::BufferNumber> buffers, size_t& next);
  Result<runtime::Value> OwnBytes(const runtime::Value& array);
  bool IsOurs(const std::byte* data) const;

  std::vector<std::byte*> addresses_;   // by buffer
  std::vector<runtime::Value> values_;  // by buffer: parameters and what hand-overs brought
  std::vector<runtime::Buffer> results_;
  std::vector<const runtime::Buffer*> results_by_address_;
  runtime::Buffer arena_, scratch_;
  std::vector<std::byte*> pointers_;
  std::vector<runtime::Frame> frames_;  // the loops and branches at hand, for recordings
};

}  // namespace hloscope::replay
