// The order of names: positions in a module that are the same however a file orders it.
#pragma once

#include <vector>

#include "core/hlo/rewrite/origins.h"

namespace hloscope::hlo {

// The instructions in the order of their computations' names and their own.
std::vector<InstructionId> ByName(const Module& module);
// The place of each in such a list, by id.
std::vector<InstructionId> PlacesIn(const std::vector<InstructionId>& order);
// The same origins where instruction i before is before[i] now, and i after is after[i].
std::vector<Origin> Renumbered(std::vector<Origin> origins,
                               const std::vector<InstructionId>& before,
                               const std::vector<InstructionId>& after);

}  // namespace hloscope::hlo
