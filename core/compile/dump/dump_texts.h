// A compilation as texts in the formats of XLA's dumps, so that what reads those reads ours.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/compile/compile.h"

namespace hloscope::compile {

// The code that runs a step.
struct StepCode {
  std::string name;         // of its function in the LLVM IR
  bool is_library = false;  // a library does the work instead, and there is no such function
  int64_t grains = 1, scratch_bytes = 0;
};
// By number of the step; steps whose code could not be made have none, and the evaluator runs them.
using StepCodes = std::unordered_map<int64_t, StepCode>;

// A value of an instruction and where it lies: what it is between the steps `first` and `last`.
struct PlacedValue {
  BufferNumber buffer = 0;
  hlo::InstructionId id;
  std::vector<int64_t> index;  // of the array in its shape
  const hlo::Shape* shape = nullptr;
  int64_t first = 0, last = 0;
};

// The values of a plan by buffer, and in one buffer by time. Those that are made in memory of
// another one, or copied there, begin where that one ends.
std::vector<PlacedValue> PlacedValues(const Plan& plan);

// -buffer-assignment.txt: one allocation for each parameter, constant, result and value that the
// evaluator brings, and one for the arena; `scratch_bytes` are asked for beside it.
std::string BufferAssignmentText(const Plan& plan, int64_t scratch_bytes);
// -live-range.txt, by the numbers of the steps.
std::string LiveRangeText(const Plan& plan);

// thunk_sequence.txt: the steps in order, those of loops and branches below them.
std::string ThunkSequenceText(const Plan& plan, const StepCodes& codes);
// thunk_metadata.txt: the instruction of each of them.
std::string ThunkMetadataText(const Plan& plan, const StepCodes& codes);

// fusion_decisions.txt: kernels with what they read and write, and each pair of instructions that
// could have been together, with the reason why they are or are not. `stage`: what the dump calls
// the module before fusion, whose instructions they are.
std::string DecisionText(const Compilation& compiled, std::string_view stage);

// The origins of one stage of a dump in another.
struct StageOrigins {
  std::string before, after;  // what the dump calls them
  std::shared_ptr<const hlo::Module> before_module, after_module;
  std::vector<hlo::Origin> origins;
};

// provenance.txt: which instructions of the stage before those of a stage come from, so that a
// reader of the dump has no need to guess. Positions are those of hlo::ByName.
std::string ProvenanceText(std::string_view module, std::span<const StageOrigins> stages);

}  // namespace hloscope::compile
