// Machine: the state of one run, and KernelCall: what the kernel of an instruction sees of it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/eval/evaluator.h"
#include "core/eval/value.h"
#include "core/hlo/module.h"

namespace hloscope::eval {

// The live instructions of a computation in order, and after which of them each value is dead.
struct Schedule {
  std::vector<uint32_t> order;     // instructions by position in their computation
  std::vector<uint32_t> last_use;  // by position: the position of the last user; own if none
};

class Machine {
 public:
  Machine(const hlo::Module& module, const EvaluateOptions& options);

  const hlo::Module& module() const { return module_; }
  const EvaluateOptions& options() const { return options_; }

  // The value of a computation's root for these arguments.
  Result<Value> Call(hlo::ComputationId computation, std::vector<Value> arguments);

  // Uninitialised bytes of that shape or size; an environment error beyond the memory limit.
  Result<Buffer> Allocate(const hlo::Shape& shape);
  Result<Buffer> Allocate(int64_t bytes);

  // Counts element operations; an error once too many or when asked to stop.
  Status Charge(int64_t steps);

  int64_t steps() const { return steps_; }
  int64_t peak_bytes() const { return memory_->peak; }
  uint64_t NextRandom();  // of the run's stateful generator
  unsigned __int128& random_state() { return random_state_; }

 private:
  struct Memory {
    std::atomic<int64_t> live = 0;
    int64_t peak = 0;
  };
  const Schedule& ScheduleOf(hlo::ComputationId computation);
  Result<Value> RunInstruction(hlo::InstructionId id, std::span<Value> operands,
                               std::span<Value> arguments);

  const hlo::Module& module_;
  const EvaluateOptions& options_;
  std::vector<std::unique_ptr<const Schedule>> schedules_;
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  int64_t memory_limit_ = 0;
  int64_t steps_ = 0;
  int64_t steps_at_last_look_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int64_t depth_ = 0;
  uint64_t random_ = 0;
  unsigned __int128 random_state_ = 0;
};

// One instruction about to run. Kernels may take over operands that nobody uses afterwards.
struct KernelCall {
  Machine& machine;
  hlo::InstructionId id;
  std::span<Value> operands;
  std::span<Value> arguments;  // of the computation it stands in; each is taken once

  const hlo::Module& module() const { return machine.module(); }
  const hlo::Instruction& instruction() const { return module()[id]; }
  hlo::Opcode opcode() const { return instruction().opcode; }
  const hlo::Shape& shape() const { return module().shape(id); }
  const hlo::Shape& operand_shape(size_t i) const { return operands[i].shape(); }
};

// Computes an instruction's value. Unsupported and input errors make the value missing; all others
// end the run.
using Kernel = Result<Value> (*)(KernelCall&);

// The size of an array of `shape` in elements; shapes of a verified module do not overflow.
int64_t ElementCount(const hlo::Shape& shape);
// The dimensions as signed sizes, a copy.
std::vector<int64_t> Dimensions(const hlo::Shape& shape);
// "convolution of f8e4m3fn cannot be evaluated", naming the instruction and a mend.
std::unexpected<Error> Unsupported(const KernelCall& call, std::string_view why);

}  // namespace hloscope::eval
