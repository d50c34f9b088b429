// Finding an instruction by its name.
#pragma once

#include <string>
#include <string_view>

#include "core/hlo/module.h"

namespace hloscope::hlo {

// The instruction called "add.1", "%add.1" or "computation:add.1"; the entry's where several
// computations have one of that name. Invalid where there is none.
InstructionId FindInstruction(const Module& module, std::string_view name);

// "did you mean `add.1`?", or nothing where no name is close.
std::string SimilarInstruction(const Module& module, std::string_view name);

}  // namespace hloscope::hlo
