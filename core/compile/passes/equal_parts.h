// EqualParts: when two attributes, or two computations, say the same.
#pragma once

#include <vector>

#include "core/hlo/module.h"

namespace hloscope::compile {

class EqualParts {
 public:
  explicit EqualParts(const hlo::Module& module);

  // Equal numbers for computations that mean the same: instruction by instruction the same.
  uint32_t ClassOf(hlo::ComputationId c) const { return classes_[c.index]; }

  // Of instructions of one opcode; what says where they came from aside.
  bool SameAttributes(hlo::InstructionId a, hlo::InstructionId b) const;
  uint64_t HashAttributes(hlo::InstructionId id) const;

 private:
  bool Same(const hlo::Attribute& a, const hlo::Attribute& b) const;
  uint64_t Hash(const hlo::Attribute& a) const;
  bool SameComputation(hlo::ComputationId a, hlo::ComputationId b) const;
  uint64_t HashComputation(hlo::ComputationId c) const;

  const hlo::Module& module_;
  std::vector<uint32_t> classes_;  // by computation
};

}  // namespace hloscope::compile
