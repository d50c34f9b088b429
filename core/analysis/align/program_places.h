// Where instructions stand in the program, however a file orders its computations.
#pragma once

#include <cstdint>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::analysis {

// By instruction: its place in the order in which the entry comes to it, what a computation holds
// where it is first called. Of what is never called the largest number.
std::vector<uint32_t> PlacesInProgram(const hlo::Module& module);

}  // namespace hloscope::analysis
