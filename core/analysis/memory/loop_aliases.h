// Which values of a buffer assignment are one buffer because a loop or a conditional carries them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dump/readers/buffers.h"
#include "core/hlo/module.h"

namespace hloscope::analysis {

/// For each of table.values the first of those that share its memory, itself where it is alone.
/// XLA: hlo_alias_analysis.cc gives an element of a loop's state one buffer: what it begins with,
/// the parameters of condition and body, what the body returns and the loop's result; of a
/// conditional what its branches return and its result.
std::vector<int32_t> LoopAliases(const hlo::Module& module, const dump::BufferTable& table);

}  // namespace hloscope::analysis
