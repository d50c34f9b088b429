// WhatIf: how large all allocations would be if the largest values at the peak were treated
// otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/analysis/memory/memory_what_if.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

struct WhatIfRow {
  int32_t value = -1;  // in the buffer table
  struct Cell {
    int64_t bytes = -1;   // of all allocations with this change alone; -1: it cannot be done
    std::string why_not;  // then
  };
  std::array<Cell, analysis::kMemoryChangeCount> cells;
};

struct WhatIf {
  std::unique_ptr<analysis::MemoryWhatIf> engine;
  std::vector<WhatIfRow> rows;  // largest first
};

// The largest values at the peak; in the background. The module has a buffer assignment, which was
// read. Null: the module is still being read.
const Pending<WhatIf>* WhatIfOf(Context& context, int32_t module);

// All allocations with all of these.
const Pending<int64_t>& TotalWith(Context& context, int32_t module,
                                  std::shared_ptr<const WhatIf> what_if,
                                  const std::vector<analysis::ValueChange>& changes);

}  // namespace hloscope::viewer
