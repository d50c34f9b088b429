// A selection of instructions for other programs: JSON. Pictures are made by viewer/graph.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::hlo {

// One object: module name and a list of computations with their instructions (name, opcode, shape,
// operands, text).
std::string ToJson(const Module& module, std::span<const InstructionId> selection);
}  // namespace hloscope::hlo
