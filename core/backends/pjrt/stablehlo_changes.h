// What a module has become on its way through StableHLO.
#pragma once

#include <string>

#include "core/hlo/module.h"

namespace hloscope::replay::pjrt {

// In words, what `taken` computes that `asked` does not and the other way round, by opcode and
// shape; empty where there is nothing. Tuples, parameters, calls and layouts do not count: the way
// through StableHLO makes them anew.
std::string StableHloChanges(const hlo::Module& asked, const hlo::Module& taken);

}  // namespace hloscope::replay::pjrt
