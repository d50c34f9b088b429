// Which instructions lie around, between or inside something. All answers are in program order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::hlo {

std::vector<InstructionId> AllInstructions(const Module& module);
std::vector<InstructionId> InstructionsOf(const Module& module, ComputationId computation);
// Those at most `radius` operand or user edges from any of `centers`, these included.
std::vector<InstructionId> Neighbourhood(const Module& module,
                                         std::span<const InstructionId> centers, int64_t radius);
// Those on any path of operand edges from `from` to `to`, both included; empty if there is no path.
std::vector<InstructionId> Between(const Module& module, InstructionId from, InstructionId to);

}  // namespace hloscope::hlo
