// BinaryReducer: what a computation that reduces does, where that is one operation.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::hlo {

/// True where an instruction combines two different parameters of its computation, in either order.
bool CombinesTwoParameters(const Module& module, InstructionId id);

/// The opcode of a computation whose root combines its two parameters, and does nothing else with
/// them; absent for other computations and for an invalid id.
std::optional<Opcode> BinaryReducer(const Module& module, ComputationId id);

/// BinaryReducer of an instruction's to_apply.
std::optional<Opcode> BinaryReducerOf(const Module& module, InstructionId id);

/// The order in which a reduce that rounds each partial result combines many elements (XLA:
/// TreeReductionRewriter, which XLA:CPU runs): windows of up to 32 elements along each reduced
/// dimension, padded alike on both sides, each folded from the left; then their results, again in
/// windows while there are more than 32 along a dimension.
inline constexpr int64_t kFoldWindow = 32;

struct RoundedFold {
  Opcode opcode;
  std::vector<std::byte> neutral;  ///< an element that leaves others as they are
};
/// Absent where the instruction is no such reduce.
std::optional<RoundedFold> RoundedFoldOf(const Module& module, InstructionId id);
/// The next windows over an array of these dimensions; absent where it is folded as it is.
std::optional<Window> FoldWindows(std::span<const int64_t> sizes, std::span<const int64_t> reduced);

}  // namespace hloscope::hlo
