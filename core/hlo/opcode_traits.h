// What an opcode means to more than one place, beyond opcode.h's flags: the traits in the flags
// column of opcodes.def; and instructions in two parts.
#pragma once

#include <cstdint>
#include <optional>

#include "core/hlo/opcode.h"

namespace hloscope::hlo {

using OpcodeTrait = uint32_t;

// Calls.
inline constexpr OpcodeTrait kTraitRunsBody = 1u << 16;  // on whole values: bodies to look into
inline constexpr OpcodeTrait kTraitAppliesScalar = 1u << 17;  // on single elements
// Arithmetic.
inline constexpr OpcodeTrait kTraitAssociative = 1u << 18;  // up to rounding
// Bf16 and f32 meet only where mixed precision is allowed, but: in those that forward values
// untouched, and in those that may mix them.
inline constexpr OpcodeTrait kTraitForwards = 1u << 19;
inline constexpr OpcodeTrait kTraitMixesFloats = 1u << 20;
inline constexpr OpcodeTrait kTraitFixedTypes = 1u << 21;  // means something else on wider floats
// Non-finite numbers: all it meets or makes are seen in its result; it makes none out of others.
inline constexpr OpcodeTrait kTraitShowsNonFinite = 1u << 22;
inline constexpr OpcodeTrait kTraitMakesNoNonFinite = 1u << 23;
// Data movement.
inline constexpr OpcodeTrait kTraitRearranges = 1u << 24;   // elements of the first operand
inline constexpr OpcodeTrait kTraitNoCode = 1u << 25;       // names or groups values; no kernel
inline constexpr OpcodeTrait kTraitKeepsLayout = 1u << 26;  // as elementwise opcodes do
// XLA's parser: the shape is made from the operands, whatever is written; it has to be written,
// also where it could be inferred.
inline constexpr OpcodeTrait kTraitShapeFollows = 1u << 27;
inline constexpr OpcodeTrait kTraitShapeWritten = 1u << 28;
// Devices: each has a result of its own, whatever the operands; use_global_device_ids counts.
inline constexpr OpcodeTrait kTraitOwnDevice = 1u << 29;
inline constexpr OpcodeTrait kTraitGlobalIds = 1u << 30;

bool HasTrait(Opcode opcode, OpcodeTrait trait);

// What ends the pair that `start` begins, what begins the one that `done` ends, and the opcode that
// does the same at once; nullopt where there is none.
std::optional<Opcode> DoneOf(Opcode start);
std::optional<Opcode> StartOf(Opcode done);
std::optional<Opcode> SynchronousOf(Opcode start);

}  // namespace hloscope::hlo
