// Split: the instructions of a computation put into stages that run in turn on the device and on
// the host, where a platform refuses some of them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/debug/pieces/pieces.h"
#include "core/debug/pieces/refusals.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// By instruction.
using Refusals = std::map<hlo::InstructionId, Refusal>;

enum class RunsOn : uint8_t {
  kNothing,  // a parameter, a constant, or made of values by taking them apart or together
  kDevice,
  kHost,    // by the evaluator: it is refused, or half of an asynchronous pair with one that is
  kInTurn,  // a loop, call or conditional whose computations are split in their turn
};

struct SplitStage {
  bool is_on_device = false;
  std::vector<hlo::InstructionId> instructions;  // ascending
  Piece piece;                                   // on the device: all of them
};

// Of one computation. Stages are as few as the refusals let them be: an instruction stands in the
// first that may have its operands.
class Split {
 public:
  Split(const hlo::Module& module, hlo::ComputationId computation, const Refusals& refusals);

  const std::vector<SplitStage>& stages() const { return stages_; }
  RunsOn runs_on(hlo::InstructionId id) const { return runs_on_[Position(id)]; }
  // Where its value comes from; -1: it is known before the first stage.
  int32_t stage(hlo::InstructionId id) const { return stage_[Position(id)]; }
  // True if the value of a device stage leaves the device.
  bool is_wanted(hlo::InstructionId id) const { return is_wanted_[Position(id)]; }
  bool root_is_put_together() const { return is_put_together_; }

 private:
  uint32_t Position(hlo::InstructionId id) const { return id.index - first_; }
  hlo::InstructionId At(uint32_t position) const { return hlo::InstructionId(first_ + position); }
  void Choose(const Refusals& refusals);
  void PutIntoStages();
  void FindWanted();
  void CutPieces();
  bool IsKnownConstant(hlo::InstructionId id) const;

  const hlo::Module& module_;
  uint32_t first_, count_;
  hlo::InstructionId root_;
  bool is_put_together_ = false;  // the root is no part of a stage: it is made of values at the end
  std::vector<RunsOn> runs_on_;
  std::vector<int32_t> stage_;
  std::vector<bool> is_wanted_;
  std::vector<SplitStage> stages_;
};

// True if something that `computation` calls in turn, or is in it, is refused.
bool HasRefused(const hlo::Module& module, hlo::ComputationId computation,
                const Refusals& refusals);

}  // namespace hloscope::debug
