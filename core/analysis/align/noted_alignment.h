// The alignment of two stages whose compiler noted where its instructions come from.
#pragma once

#include <optional>
#include <vector>

#include "core/analysis/align/alignment.h"
#include "core/hlo/module.h"
#include "core/hlo/rewrite/origins.h"

namespace hloscope::analysis {

// Links of confidence 1. nullopt where the origins are not those of these modules: an instruction
// is said to be the same and has another opcode.
std::optional<Alignment> NotedAlignment(const hlo::Module& before, const hlo::Module& after,
                                        const std::vector<hlo::Origin>& origins);

}  // namespace hloscope::analysis
