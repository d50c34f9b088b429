// Carried: what made a value that tuples, loops and calls only carry.
#pragma once

#include <cstdint>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::debug {

// True of what has the values of others: tuples, elements of them, loops, calls, parameters.
bool IsCarrier(hlo::Opcode opcode);

// Which value of a loop's state its parameter stands for.
enum class LoopState : uint8_t { kFirst, kLater };

// The instruction that made the leaf of `id` at `path` (empty: `id` is an array), followed through
// carriers. Invalid where that is not known: what made it has several results, or a branch was
// taken.
hlo::InstructionId CarriedFrom(const hlo::Module& module, hlo::InstructionId id,
                               std::vector<int64_t> path, LoopState state);

// Whether `caller` applies the computation of `id`, or one that leads to it.
bool IsInside(const hlo::Module& module, hlo::InstructionId id, hlo::InstructionId caller);

}  // namespace hloscope::debug
