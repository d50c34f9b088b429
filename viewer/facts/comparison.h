// Comparison: any two stages side by side, of one module or of two.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/analysis/align/pass_changes.h"
#include "core/dump/dump_model.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

/// What the stage in view is compared with.
struct Comparison {
  int32_t module = -1, stage = -1;
  bool is_set() const { return module >= 0 && stage >= 0; }
  void Rebase(const dump::DumpModel& before, const dump::DumpModel& now,
              std::vector<std::string>& lost);
};

/// What only advises a backend does not count as a change.
struct ChangeFilter {
  bool ignores_metadata = false;
};

// What counts as a change, as the user chose it.
analysis::Annotations AnnotationsIn(const Context& context);

// What was done since the stage before, as the user chose it.
const Pending<analysis::PassChanges>& ShownChanges(Context& context, int32_t module, int32_t stage);

// What was done from `before` to the stage; fails where one of the two cannot be read.
const Pending<analysis::PassChanges>& CompareStages(Context& context, const Comparison& before,
                                                    int32_t module, int32_t stage);

// "before_optimizations", or "jit_f, before_optimizations" where it is another module than the one
// in view.
std::string ComparisonText(Context& context, const Comparison& comparison);

struct ComparisonChoice {
  Comparison comparison;
  std::string text;
};
// All stages whose names hold all words, those of the module in view first; at most `most`.
std::vector<ComparisonChoice> ComparisonChoices(Context& context, std::string_view words,
                                                size_t most);

}  // namespace hloscope::viewer
