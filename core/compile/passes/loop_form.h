// LoopForm: a `while` whose state is a tuple that is taken apart at once, as an Edit has it so far.
#pragma once

#include <optional>
#include <unordered_map>

#include "core/compile/passes/edit.h"
#include "core/hlo/analysis/call_graph.h"

namespace hloscope::compile {

// True where the condition and the body are this loop's own, and hold nothing that has to stay
// where it is: effects, control dependencies, shardings, halves of asynchronous pairs, constants
// without bytes.
bool MayChangeLoop(const Edit& edit, const hlo::CallGraph& calls, hlo::InstructionId loop);

class LoopForm {
 public:
  LoopForm(Edit& edit, hlo::InstructionId loop);

  // False for what is not of this form; nothing else may be asked then.
  bool Read();

  // How many iterations it makes, `limit` where there are as many or more; nullopt where no counter
  // that begins at a constant and grows by another says so.
  std::optional<int> TripCount(int limit);

 protected:
  using Elements = std::unordered_map<hlo::InstructionId, size_t>;

  // The element of the state that an instruction is.
  static std::optional<size_t> ElementOf(hlo::InstructionId id, const Elements& elements);

  // The instruction once more, in another computation or of other operands, and noted as a copy.
  hlo::InstructionId Copied(hlo::InstructionId id, hlo::ComputationId to,
                            std::span<const hlo::InstructionId> operands);

  Edit& edit_;
  hlo::Rewriter& rewriter_;
  hlo::InstructionId id_, initial_, root_;  // the loop, its operand, the root of its body
  hlo::ComputationId condition_, body_;
  size_t count_ = 0;                 // elements of the state
  Elements in_condition_, in_body_;  // get-tuple-elements of the parameter

 private:
  hlo::ComputationId Called(hlo::AttributeKey key);
  bool ReadElements(hlo::ComputationId c, Elements& elements);
};

}  // namespace hloscope::compile
