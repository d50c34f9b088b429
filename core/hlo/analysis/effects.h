// Effects: which instructions do more than make their value. EffectsOf(module) keeps one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
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

// The random generators of a device, each with a state of its own: of rng and GetRngSeed, and the
// counter of rng-get-and-update-state.
enum class Generator : uint8_t { kSeeded, kCounter };
inline constexpr int kGenerators = 2;

// Whose state the instruction itself moves: a custom call of GetRngSeed does so whether it says
// that it has an effect or not. Nullopt: none's.
std::optional<Generator> DrawsItself(const Module& module, InstructionId id);

class Effects {
 public:
  explicit Effects(const Module& module);
  // True if it has an effect itself or through what it calls, however far away.
  bool Has(InstructionId id) const { return instructions_[id.index]; }
  bool Has(ComputationId c) const { return computations_[c.index]; }
  // Has, less the state of random generators, which nobody but the module sees.
  bool IsSeen(InstructionId id) const { return seen_[id.index]; }
  // True if it moves the state of that generator, or of any, itself or through what it calls.
  bool Draws(InstructionId id, Generator generator) const {
    return draws_[static_cast<size_t>(generator)][id.index];
  }
  bool Draws(InstructionId id) const {
    return Draws(id, Generator::kSeeded) || Draws(id, Generator::kCounter);
  }

 private:
  std::vector<bool> instructions_, computations_, seen_;
  std::array<std::vector<bool>, kGenerators> draws_;
};

const Effects& EffectsOf(const Module& module);

// By position in the computation: true for what its root and its effects depend on.
std::vector<bool> LiveInstructions(const Module& module, ComputationId computation);

}  // namespace hloscope::hlo
