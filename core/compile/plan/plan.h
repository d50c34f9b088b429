// Plan: how a computation runs as steps over buffers, each with a place in memory: what machine
// code, the memory screen and the ahead-of-time object read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::compile {

// A buffer by its number in Plan::buffers, a sequence of steps by its number in Plan::sequences.
using BufferNumber = uint32_t;
using SequenceNumber = uint32_t;

enum class Place : uint8_t {
  kParameter,  // an array that the caller hands in; never written
  kConstant,   // the bytes of a constant
  kResult,     // an array that the caller takes; of a size of its own
  kArena,      // at an offset of the block of memory that all steps share
  kOutside,    // memory that the evaluator brings with the value of a hand-over
};

// Dense bytes in row-major order, as a Literal has them.
struct PlannedBuffer {
  Place place = Place::kArena;
  int64_t bytes = 0;
  // The number of the parameter's array, of the constant's instruction or of the result's memory;
  // the offset in the arena.
  int64_t at = 0;
  hlo::InstructionId made_by;  // the first to write it
  // Numbers of the steps between which it holds a value that is still wanted.
  int64_t first = 0, last = 0;
};

enum class StepKind : uint8_t {
  kKernel,
  kLibraryCall,
  kEvaluate,  // the evaluator's own kernel: a hand-over
  kCopy,      // of all bytes of its operand to its result
  kWhile,     // sequences: condition, body
  kConditional,
};

struct PlannedStep {
  StepKind kind;
  hlo::InstructionId id;
  // By array, those of tuples in order. Of a loop: the decision is operand 0, and what it carries
  // is the results; of a conditional operand 0 decides.
  std::vector<BufferNumber> operands = {}, results = {};
  std::vector<SequenceNumber> sequences = {};
  // Of all steps of the plan, in the order in which they stand; the last of what it runs.
  int64_t number = 0, last_number = 0;
  // Of a loop: its steps are so small that they are written as one function.
  bool is_one_function = false;
};

using Sequence = std::vector<PlannedStep>;

struct Plan {
  std::shared_ptr<const hlo::Module> module;
  hlo::ComputationId computation;
  std::vector<PlannedBuffer> buffers;
  std::vector<Sequence> sequences;       // the computation's own is the first
  std::vector<BufferNumber> parameters;  // by array of the parameters
  std::vector<BufferNumber> results;     // by array of the root; several may share one
  int64_t arena_bytes = 0;
  int64_t result_buffers = 0;  // how many there are of Place::kResult
  // The most bytes of arena buffers that are wanted at once: no arena could be smaller.
  int64_t live_bytes = 0;
};

// Where an arena buffer begins, and every parameter, constant and result must.
inline constexpr int64_t kBufferAlignment = 64;
// The first multiple of it from `bytes` on.
constexpr int64_t AlignedBytes(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

struct PlanOptions {
  bool collectives = false;  // they are steps
  // The kernels' code can make a result in the memory of an operand (OverwritableOperands).
  bool overwrites = true;
};

// The plan of a computation whose kernels are `kernels`, in ascending order. Unsupported, with the
// reason, where it can only be run instruction by instruction: arrays of dynamic sizes, effects
// that others see, nesting deeper than can be planned; collectives, unless they are steps, and then
// what may turn out to be missing, so that no device gives the plan up where others go on.
Result<Plan> MakePlan(std::shared_ptr<const hlo::Module> module, hlo::ComputationId computation,
                      const std::vector<hlo::InstructionId>& kernels,
                      const PlanOptions& options = {});
// Whether it has steps at which devices meet.
bool HasCollectiveSteps(const Plan& plan);

// Calls fn(step) for the steps of the sequence and those that they run, in order.
template <typename Function>
void ForEachStep(const Plan& plan, SequenceNumber sequence, const Function& fn) {
  for (const PlannedStep& step : plan.sequences[sequence]) {
    fn(step);
    for (const SequenceNumber inner : step.sequences) ForEachStep(plan, inner, fn);
  }
}

// Those of `kernels`, all of the module's, that need a function of their own: all but those that
// only loops run that are one function. What the evaluator runs may call any other.
std::vector<hlo::InstructionId> KernelsBesideLoops(const Plan& plan,
                                                   const std::vector<hlo::InstructionId>& kernels);
// The outermost loops that are one function.
std::vector<const PlannedStep*> OneFunctionLoopsOf(const Plan& plan);

// By array of the instruction's value: the operand in whose memory a kernel makes it, because it
// writes only a part; -1 where it is written whole.
std::vector<int> InPlaceOperands(const hlo::Module& module, hlo::InstructionId kernel);

// By operand of a kernel: whether a result of as many bytes may be made in its memory, because each
// element of results is computed from the element of this operand that lies where it will lie, and
// from no other of it. Where arrays are read otherwise (slices, transposes, broadcasts, reduces)
// what a loop has written would be read as what was there before.
std::vector<bool> OverwritableOperands(const hlo::Module& module, hlo::InstructionId kernel);
// Operands in whose memory a kernel makes a result that it writes whole: their numbers, ascending.
using OverwrittenOperands = std::vector<size_t>;
OverwrittenOperands OverwrittenBy(const hlo::Module& module, const PlannedStep& step);
// Those of all steps of a plan, by instruction; kernels that overwrite nothing have no entry.
std::unordered_map<uint32_t, OverwrittenOperands> OverwrittenBy(const Plan& plan);

// What sequence k of a loop or branch is: "condition", "body", "branch 0".
std::string NameOfSequence(const PlannedStep& step, size_t k);

// The plan as a text for people: steps with their buffers, buffers with places and live ranges.
std::string ToText(const Plan& plan);

}  // namespace hloscope::compile
