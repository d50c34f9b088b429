// ConstraintFlow: carries constraints from where values are used back to where they come from,
// through data movement, arithmetic with known numbers, tuples, fusions, calls, loops and branches.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/hlo/module.h"
#include "core/replay/inputs/input_constraints.h"
#include "core/replay/inputs/value_ranges.h"

namespace hloscope::replay {

using TuplePath = std::vector<int64_t>;

class ConstraintFlow {
 public:
  explicit ConstraintFlow(const hlo::Module& module);

  const hlo::Module& module() const { return module_; }
  const ValueRanges& ranges() const { return ranges_; }

  // Asks it of the leaf at `path` of an instruction's value.
  void Ask(hlo::InstructionId id, const TuplePath& path, InputConstraints constraints);
  void Ask(hlo::InstructionId id, InputConstraints constraints) {
    Ask(id, {}, std::move(constraints));
  }
  // Carries all that was asked as far as it goes.
  void Settle();

  // What is asked of a leaf; a constraints that is empty() if nothing is.
  const InputConstraints& Of(hlo::InstructionId id, const TuplePath& path) const;
  // Uses that exclude one another: "index: [0, 3] and [5, 9]"; for each value the first time.
  const std::vector<std::string>& conflicts() const { return conflicts_; }

 private:
  struct Position {
    uint32_t instruction;
    TuplePath path;
    auto operator<=>(const Position&) const = default;
  };
  struct Asked {
    InputConstraints constraints;
    std::set<Interval, decltype(&IsPreferred)> ranges{&IsPreferred};
    int changes = 0;
    bool waiting = false;
  };
  // A computation's parameter number p is operand p + shift of the caller, or operand `only`.
  struct Caller {
    hlo::InstructionId instruction;
    int64_t shift = 0;
    int64_t only = -1;
  };

  void IndexCallers();
  void NoteConflict(hlo::InstructionId id, const std::string& conflict);
  void Carry(const Position& from, const InputConstraints& constraints);
  bool CarryStructure(hlo::InstructionId id, const TuplePath& path,
                      const InputConstraints& constraints);
  void CarryParameter(hlo::InstructionId id, const TuplePath& path,
                      const InputConstraints& constraints);
  void CarryRoot(hlo::ComputationId callee, const TuplePath& path,
                 const InputConstraints& constraints);
  void CarryAsync(hlo::InstructionId id, const TuplePath& path,
                  const InputConstraints& constraints);
  void CarryMovement(hlo::InstructionId id, const InputConstraints& constraints);
  void CarryConcatenate(hlo::InstructionId id, const InputConstraints& constraints);
  void CarrySelect(hlo::InstructionId id, const InputConstraints& constraints);
  void CarryReduce(hlo::InstructionId id, const TuplePath& path,
                   const InputConstraints& constraints);

  const hlo::Module& module_;
  const ValueRanges ranges_;
  std::vector<std::vector<Caller>> callers_;  // by computation
  std::map<Position, Asked> asked_;
  std::set<Position> waiting_;
  std::vector<std::string> conflicts_;
};

// What constraints `whole` on the result of arithmetic asks of operand `slot`; empty() if nothing
// can be said.
InputConstraints AskOfOperand(const hlo::Module& module, const ValueRanges& ranges,
                              hlo::InstructionId id, size_t slot, const InputConstraints& whole);

}  // namespace hloscope::replay
