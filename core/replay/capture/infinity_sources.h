// InfinitySources: which instruction made the infinities that a value holds, followed through a
// run.
#pragma once

#include <map>
#include <vector>

#include "core/eval/machine/evaluator.h"
#include "core/hlo/module.h"

namespace hloscope::replay {

class InfinitySources {
 public:
  explicit InfinitySources(const hlo::Module& module) : module_(module) {}

  // After an instruction has run. `made`, by leaf of the value: it made an infinity there itself.
  void Note(const runtime::Site& site, const runtime::Value& value, const std::vector<bool>& made);

  // What made the infinity in an instruction's result when it ran last: an instruction, or the
  // parameter or constant that held it from the start; invalid where it holds none.
  hlo::InstructionId Of(int64_t device, hlo::InstructionId id) const;

 private:
  // By leaf of an instruction's result; invalid where the leaf holds no infinity.
  using Leaves = std::vector<hlo::InstructionId>;
  const Leaves& LeavesOf(int64_t device, hlo::InstructionId id) const;
  // What the result would have from where its value comes from.
  Leaves Inherited(const runtime::Site& site) const;
  Leaves OfParameter(const runtime::Site& site) const;
  hlo::InstructionId FirstOfOperands(const runtime::Site& site) const;

  const hlo::Module& module_;
  std::map<int64_t, std::map<hlo::InstructionId, Leaves>> devices_;  // of results that hold some
};

}  // namespace hloscope::replay
