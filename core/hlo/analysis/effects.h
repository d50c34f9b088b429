// Effects: which instructions do more than make their value. EffectsOf(module) keeps one.
#pragma once

#include <span>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::hlo {

// True if the instruction itself, not what it calls, has an effect: it speaks with a host or
// another device, moves the state of a random generator, or is a custom call that says so. A
// collective has none: where nobody uses its result, no device needs to take part.
bool HasOwnEffect(Opcode opcode, std::span<const Attribute> attributes);
inline bool HasOwnEffect(const Module& module, InstructionId id) {
  return HasOwnEffect(module[id].opcode, module.attributes(module[id]));
}

// True if the instruction itself moves the state of a random generator: a custom call of GetRngSeed
// does so whether it says that it has an effect or not.
bool DrawsItself(const Module& module, InstructionId id);

class Effects {
 public:
  explicit Effects(const Module& module);
  // True if it has an effect itself or through what it calls, however far away.
  bool Has(InstructionId id) const { return instructions_[id.index]; }
  bool Has(ComputationId c) const { return computations_[c.index]; }
  // Has, less the state of random generators, which nobody but the module sees.
  bool IsSeen(InstructionId id) const { return seen_[id.index]; }
  // True if it moves the state of a random generator, itself or through what it calls.
  bool Draws(InstructionId id) const { return draws_[id.index]; }

 private:
  std::vector<bool> instructions_, computations_, seen_, draws_;
};

const Effects& EffectsOf(const Module& module);

// By position in the computation: true for what its root and its effects depend on.
std::vector<bool> LiveInstructions(const Module& module, ComputationId computation);

}  // namespace hloscope::hlo
