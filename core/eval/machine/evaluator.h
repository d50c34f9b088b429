// Evaluate: what a module means. Runs a module on given arguments, instruction by instruction,
// after the HLO specification; the definition every other platform is held to.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/eval/machine/buffer_pool.h"
#include "core/eval/machine/compiled_kernels.h"
#include "core/eval/machine/recording.h"
#include "core/eval/machine/value.h"
#include "core/hlo/module.h"
#include "core/hlo/sharding/topology.h"

namespace hloscope::eval {

// A call on the way from the entry to an instruction: who calls, and for loops in which iteration,
// counted from 0.
struct Frame {
  hlo::InstructionId caller;
  int64_t iteration = 0;
};

// Where an instruction stood when it ran.
struct Site {
  hlo::InstructionId instruction;
  int64_t device = 0;
  std::span<const Frame> frames;  // outermost first; empty in the entry
};

// Sees every value of a run as it is made.
class Observer {
 public:
  virtual ~Observer() = default;
  // After an instruction of any computation has run: the operands it had and what it yields, which
  // may be missing. An error ends the run with it.
  virtual Status OnValue(const Site& site, std::span<const Value> operands, const Value& value) = 0;
  // True to see the scalar computation (reducer, comparator, map body) that `caller` applies lane
  // by lane too, which costs far more than the loops it replaces. Results are the same.
  virtual bool WantsLanes(hlo::InstructionId caller) {
    (void)caller;
    return false;
  }
};

struct EvaluateOptions {
  Limits limits;             // deadline, memory, tensor, nesting and interpreter-steps are honoured
  int64_t memory_bytes = 0;  // instead of the limit's share of the machine's memory, if positive
  // Memory that is kept from run to run; null, or of another limit: the run has its own.
  std::shared_ptr<BufferPool> pool;
  int threads = 0;  // 0: one for each CPU; results never depend on it
  // Instead of the limit deadline, counted from the start of the run.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::stop_token stop;
  Observer* observer = nullptr;
  // Gives constants whose bytes the file does not hold made-up elements from this seed; without it
  // a result that depends on one is an error.
  std::optional<uint64_t> fill_elided;
  // Called for each array that an infeed takes, and that an outfeed gives, in order; devices may
  // call at the same time. Null: arrays are made up from the seed below, or dropped.
  std::function<Result<hlo::Literal>(const hlo::Shape&)> infeed;
  std::function<Status(const hlo::Literal&)> outfeed;
  // Takes down when each instruction ran; null: nothing is recorded. Results are the same.
  Recording* recording = nullptr;
  // Runs the instructions it has; null: the evaluator's kernels run all.
  const CompiledKernels* compiled = nullptr;
  // Seeds rng, rng-bit-generator's default algorithm and rng-get-and-update-state.
  uint64_t rng_seed = 42;
};

// The most bytes of values that a run with these options may hold at once.
int64_t MemoryLimitOf(const EvaluateOptions& options);

// What a run yields: the root's value, parts of which may be missing, each with the error why.
struct Evaluation {
  Value result;
  int64_t steps = 0;       // element operations done
  int64_t peak_bytes = 0;  // most bytes of values alive at once, arguments not counted
};

// Runs the entry computation. Arguments in parameter order, of the parameters' shapes (layouts
// aside). Errors: input for arguments that do not fit, died for a stop request, the deadline, the
// memory or the step limit, environment for want of memory. What cannot be run is a missing part of
// the result.
Result<Evaluation> Evaluate(const hlo::Module& module, std::span<const hlo::Literal> arguments,
                            const EvaluateOptions& options = {});

// What a run on several devices yields.
struct DeviceEvaluation {
  std::vector<Value> results;  // by list of arguments
  int64_t steps = 0;
  int64_t peak_bytes = 0;
  std::vector<std::string> warnings;
};

// The same on several devices: one list of arguments and one result per device or, for an
// unpartitioned module, per replica. Further errors: more devices than the limit; died where
// devices wait for one another and none can go on.
Result<DeviceEvaluation> EvaluateOnDevices(const hlo::Module& module, const hlo::Topology& topology,
                                           std::span<const std::vector<hlo::Literal>> arguments,
                                           const EvaluateOptions& options = {});

}  // namespace hloscope::eval
