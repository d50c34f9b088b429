// Machine: the state of one run, and KernelCall: what the kernel of an instruction sees of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/eval/machine/evaluator.h"
#include "core/eval/machine/loop_invariants.h"
#include "core/hlo/analysis/effects.h"
#include "core/hlo/expand/call_site.h"
#include "core/hlo/module.h"
#include "core/runtime/device_set.h"
#include "core/runtime/recording.h"
#include "core/runtime/run_state.h"
#include "core/runtime/value.h"

namespace hloscope::eval {

using runtime::DeviceSet;
using runtime::LocalValues;
using runtime::RandomState;
using runtime::RunState;
using runtime::SteadyNanoseconds;
using runtime::StepRecorder;

// The live instructions of a computation in order, and after which of them each value is dead.
struct Schedule {
  std::vector<uint32_t> order;           // instructions by position in their computation
  std::vector<uint32_t> last_use;        // by position: the position of the last user; own if none
  std::vector<uint8_t> mixes_precision;  // by position, see MixesPrecision
};

struct KernelCall;
struct KernelRow;

// One device of a run.
class Machine {
 public:
  Machine(const hlo::Module& module, const EvaluateOptions& options, RunState& run,
          DeviceSet& devices, int64_t device = 0, StepRecorder* recorder = nullptr);

  const hlo::Module& module() const { return module_; }
  const EvaluateOptions& options() const { return options_; }
  RunState& run() { return run_; }
  DeviceSet& devices() { return devices_; }
  int64_t device() const { return device_; }

  // The value of a computation's root for these arguments.
  Result<Value> Call(hlo::ComputationId id, std::vector<Value> arguments) {
    return Call(id, std::move(arguments), nullptr);
  }
  // The same for an iteration of a loop; `memory` is the loop's, null where it has none.
  Result<Value> Call(hlo::ComputationId id, std::vector<Value> arguments, LoopMemory* memory);
  Result<Value> CallEntry(std::vector<Value> arguments) {
    return Call(module_.entry_id(), std::move(arguments));
  }
  // The value of one instruction for these operands, its computation not being run: what a plan
  // has no code for.
  Result<Value> EvaluateInstruction(hlo::InstructionId id, std::span<Value> operands) {
    return RunStep(id, operands, {});
  }
  // True if nobody asks for more than the value of the entry, and all values are the device's own.
  bool WantsEntryAlone() const { return !WantsValues() && recorder_ == nullptr; }
  // Whether other values than the entry's are asked for, or are not the device's own.
  bool WantsValues() const { return options_.observer != nullptr || local_ != nullptr; }
  // Takes down what runs; null: nobody does.
  StepRecorder* recorder() const { return recorder_; }
  // What the body of a loop computes in vain; null where nothing, or where somebody watches it.
  const LoopInvariants* InvariantsOf(hlo::ComputationId body);

  // Uninitialised bytes of that shape or size; dies beyond the memory limit.
  Result<Buffer> Allocate(const hlo::Shape& shape);
  Result<Buffer> Allocate(int64_t bytes) { return run_.Allocate(bytes); }

  // Those of RunState.
  Status Charge(int64_t steps) { return run_.Charge(steps); }
  template <typename Body>
  Status ForRanges(int64_t n, int64_t grain, const Body& body) {
    if (n <= 0) return {};
    if (n <= grain) return body(IndexRange{0, n});
    return run_.ForRanges(n, grain, body);
  }

  // The calls that led to the computation at hand.
  std::span<const Frame> frames() const { return frames_; }
  // Loops say which iteration they are about to call.
  void set_iteration(int64_t iteration) { frames_.back().iteration = iteration; }
  // True if the scalar computation that the instruction at hand applies is to be observed.
  bool ObservesLanes() const;

  uint64_t NextRandom();  // of the device's stateful generator
  unsigned __int128& random_state() { return random_.algorithm; }
  // `id` cannot run for that reason: what draws behind it from generators that it would have moved
  // has no value either.
  void LoseRandomState(hlo::InstructionId id, const Error& why);
  // An error where the generator's state is lost.
  Status CheckRandomState(hlo::Generator generator) const;

 private:
  const Schedule& ScheduleOf(hlo::ComputationId id);
  Result<Value> Apply(KernelCall& call, const KernelRow& row);
  bool IsCompiled(const KernelCall& call) const;
  Result<Value> ApplyBesideCompiled(KernelCall& call, const KernelRow& row);
  Result<Value> RunKernel(KernelCall& call, const KernelRow& row);
  Result<Value> RunInstruction(hlo::InstructionId id, std::span<Value> operands,
                               std::span<Value> arguments);
  Result<Value> RunObserved(hlo::InstructionId id, std::span<Value> operands,
                            std::span<Value> arguments);
  Result<Value> RunStep(hlo::InstructionId id, std::span<Value> operands,
                        std::span<Value> arguments);
  Status RunAll(hlo::ComputationId id, std::span<Value> arguments, std::span<Value> values,
                LoopMemory* memory);

  const hlo::Module& module_;
  const EvaluateOptions& options_;
  RunState& run_;
  DeviceSet& devices_;
  int64_t device_;
  const CompiledKernels* compiled_;  // of this module; null: there are none
  StepRecorder* recorder_;           // null: nothing is recorded
  std::vector<std::unique_ptr<const Schedule>> schedules_;
  std::vector<std::unique_ptr<const LoopInvariants>> invariants_;  // by body; empty without loops
  std::unique_ptr<const Repeatable> repeatable_;
  std::vector<Frame> frames_;  // while an instruction runs it stands last
  RandomState random_;
  std::unique_ptr<LocalValues> local_;  // null where every value is the device's own
};

// One instruction about to run. Kernels may take over operands that nobody uses afterwards.
struct KernelCall {
  Machine& machine;
  hlo::InstructionId id;
  std::span<Value> operands;
  std::span<Value> arguments;              // of the computation it stands in; each is taken once
  const hlo::Shape* live_shape = nullptr;  // set where the operands are cut to their live parts

  const hlo::Module& module() const { return machine.module(); }
  const hlo::Instruction& instruction() const { return module()[id]; }
  hlo::Opcode opcode() const { return instruction().opcode; }
  // What the kernel is to make: the declared shape, or that of the live part.
  const hlo::Shape& shape() const { return live_shape ? *live_shape : module().shape(id); }
  const hlo::Shape& operand_shape(size_t i) const { return operands[i].shape(); }
};

// Computes an instruction's value. Unsupported and input errors make the value missing; all others
// end the run.
using Kernel = Result<Value> (*)(KernelCall&);

// True if floats of several types meet in an instruction whose operands and result should be of
// one: XLA's verifier lets that pass, its kernels and ours do not.
bool MixesPrecision(const hlo::Module& module, hlo::InstructionId id);
using hlo::expand::Dimensions;
using hlo::expand::ElementCount;
// "convolution of f8e4m3fn cannot be evaluated", naming the instruction and a fix.
std::unexpected<Error> Unsupported(const KernelCall& call, std::string_view why);

}  // namespace hloscope::eval
