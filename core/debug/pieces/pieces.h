// Pieces: parts of a computation cut out and joined in one module, so that many run at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::debug {

// Instructions of one computation, ascending, what they take from outside, and which values are
// wanted. Constants and what is made of nothing but constants belong to every piece that uses them,
// and so does a manual region (shard_map) to the instruction that leaves it: its values are each
// device's own, and no platform takes its shard boundaries apart.
struct Piece {
  std::vector<hlo::InstructionId> taken;
  std::vector<hlo::InstructionId> frontier;
  std::vector<hlo::InstructionId> results;
};

// `root` and what lies at most `depth` operands before it; tuples and their elements count for
// nothing, and the done of an asynchronous pair brings its start along.
// `own`: hlo::OwnValues; absent: no value is one device's own.
using OwnValues = std::vector<bool>;
Piece CutPiece(const hlo::Module& module, hlo::InstructionId root, int64_t depth,
               const OwnValues& own = {});

// The instructions in [begin, end) that compute something, connected as they are.
Piece CutRange(const hlo::Module& module, hlo::InstructionId begin, hlo::InstructionId end,
               std::span<const hlo::InstructionId> results, const OwnValues& own = {});

struct JoinedPieces {
  std::shared_ptr<const hlo::Module> module;   // gives a tuple of the results, piece by piece
  std::vector<hlo::InstructionId> parameters;  // whose values its parameters take, in order
};

// A module of all pieces side by side, each with parameters of its own, so that no compiler can
// share anything between them. For one device, or for as many as `module` is for; kIfNeeded: only
// where something in them is each device's own.
enum class PieceDevices : uint8_t { kOne, kAll, kIfNeeded };
JoinedPieces JoinPieces(const hlo::Module& module, std::span<const Piece> pieces,
                        PieceDevices devices = PieceDevices::kOne);

// Instructions that compute nothing: tuples, their elements, and starts of asynchronous pairs.
bool ForwardsOperand(hlo::Opcode opcode);
// The halves of asynchronous pairs that need operand 0 beside them, and those that it may be.
bool NeedsItsStart(hlo::Opcode opcode);
bool RunsWithItsDone(hlo::Opcode opcode);

}  // namespace hloscope::debug
