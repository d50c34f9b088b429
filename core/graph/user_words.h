// The user's own words for what an instruction belongs to.
#pragma once

#include <string_view>

#include "core/hlo/module.h"

namespace hloscope::graph {

// The function of the user's program that the innermost stack frame is in ("Attention.forward"
// gives "forward"), else the name of the source file without its folder and ending; empty where
// metadata has neither. Names that say nothing ("<lambda>", "<module>", "wrapper") are passed over.
std::string_view UserWordOf(const hlo::Module& module, hlo::InstructionId id);

}  // namespace hloscope::graph
