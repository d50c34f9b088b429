// PeakScopes: what lives at the peak as a tree of the scopes of the user's program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

struct PeakScope {
  std::string name;
  int64_t bytes = 0;              // with all inside
  int32_t value = -1;             // of a leaf, in BufferTable::values; of a scope its largest
  std::vector<PeakScope> inside;  // scopes and values, most bytes first
};

// The root is the whole peak; null: no buffer assignment, or it is being found.
const Pending<PeakScope>* PeakScopesOf(Context& context, int32_t module);

}  // namespace hloscope::viewer
