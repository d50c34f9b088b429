// Comparison: any two stages beside each other, of one module or of two.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/model/session.h"

namespace hloscope::viewer {

// What the stage in view is compared with; shared under "comparison".
struct Comparison {
  int32_t module = -1, stage = -1;
  bool is_set() const { return module >= 0 && stage >= 0; }
};

// What was done from `before` to the stage; fails where one of the two cannot be read.
const Pending<debug::PassChanges>& CompareStages(Session& session, const Comparison& before,
                                                 int32_t module, int32_t stage);

// "before_optimizations", or "jit_f, before_optimizations" where it is another module than the one
// in view.
std::string ComparisonText(Session& session, const Comparison& comparison);

struct ComparisonChoice {
  Comparison comparison;
  std::string text;
};
// All stages whose names hold all words, those of the module in view first; at most `most`.
std::vector<ComparisonChoice> ComparisonChoices(Session& session, std::string_view words,
                                                size_t most);

}  // namespace hloscope::viewer
