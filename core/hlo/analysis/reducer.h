// BinaryReducer: what a computation that reduces does, where that is one operation.
#pragma once

#include <optional>

#include "core/hlo/module.h"

namespace hloscope::hlo {

/// True where an instruction combines two different parameters of its computation, in either order.
bool CombinesTwoParameters(const Module& module, InstructionId id);

/// The opcode of a computation whose root combines its two parameters, and does nothing else with
/// them; absent for other computations and for an invalid id.
std::optional<Opcode> BinaryReducer(const Module& module, ComputationId id);

/// BinaryReducer of an instruction's to_apply.
std::optional<Opcode> BinaryReducerOf(const Module& module, InstructionId id);

}  // namespace hloscope::hlo
