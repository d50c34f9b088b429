// What reductions combine, which making a module smaller keeps.
#pragma once

#include "core/hlo/module.h"

namespace hloscope::debug {

/// True if all reductions, windows and collectives are of one array each, and what they combine by
/// depends on both values: a sum does, its second operand alone does not. HLO says neither in which
/// order a reduction takes its elements nor how often the initial value, so that of a combiner that
/// drops one of the two platforms make what they like: they differ, and nothing has failed.
bool CombinesBoth(const hlo::Module& module);

}  // namespace hloscope::debug
