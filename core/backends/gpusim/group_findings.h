// Findings of one cause as one.
#pragma once

#include <vector>

#include "core/replay/capture/run_stream.h"

namespace hloscope::replay {

// Races that one missing barrier accounts for become the first of them, with how many pairs of
// instructions it is that race and where they are; so do those of blocks, which nothing orders,
// over one argument. Counts add up. Others stay, in order.
std::vector<RunFinding> GroupedByCause(const std::vector<RunFinding>& findings);

}  // namespace hloscope::replay
