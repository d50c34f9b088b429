// InfinitySources: which instruction made each infinity that a value holds, followed through a run.
#pragma once

#include <map>
#include <vector>

#include "core/eval/machine/evaluator.h"
#include "core/hlo/module.h"

namespace hloscope::replay {

class InfinitySources {
 public:
  explicit InfinitySources(const hlo::Module& module) : module_(module) {}

  // After an instruction has run. `hands_on`: it is one of those that hand on values whole, or
  // whose inside is seen by itself.
  void Note(const runtime::Site& site, std::span<const runtime::Value> operands,
            const runtime::Value& value, bool hands_on);

  // What made the infinity at an element of an array that an instruction gave when it ran last: an
  // instruction, or the parameter or constant that held it from the start; invalid where it holds
  // none, or where that is not known.
  hlo::InstructionId Of(int64_t device, hlo::InstructionId id, int64_t element) const;
  // The same of an infinite element of operand `slot` that element `at` of the result of such an
  // execution is computed from.
  hlo::InstructionId OfOperand(const runtime::Site& site, std::span<const runtime::Value> operands,
                               const hlo::Shape& result, size_t slot, int64_t at) const;

 private:
  // Of the infinities of one array.
  struct Array {
    bool holds_some = false;
    hlo::InstructionId one;                // of all; invalid: not known
    std::vector<hlo::InstructionId> each;  // by element, where they differ
    hlo::InstructionId At(int64_t element) const {
      return each.empty() ? one : each[static_cast<size_t>(element)];
    }
  };
  using Leaves = std::vector<Array>;  // by leaf of a result

  const Leaves& LeavesOf(int64_t device, hlo::InstructionId id) const;
  const Array& ArrayOf(int64_t device, hlo::InstructionId id) const;
  // Of what hands values on: those that it hands on; none where it is the source.
  Leaves Inherited(const runtime::Site& site) const;
  Leaves OfParameter(const runtime::Site& site) const;
  // Of what computes or moves elements.
  Array Computed(const runtime::Site& site, std::span<const runtime::Value> operands,
                 const hlo::Literal& result) const;
  // What all infinities of the operands come from; invalid where they come from several.
  hlo::InstructionId OnlyOfOperands(const runtime::Site& site) const;

  const hlo::Module& module_;
  std::map<int64_t, std::map<hlo::InstructionId, Leaves>> devices_;  // of results that hold some
};

}  // namespace hloscope::replay
