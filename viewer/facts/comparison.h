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
  uint64_t second = 0;  // SecondDump::reading of the dump it is in; 0: the one that is open
  bool is_set() const { return module >= 0 && stage >= 0; }
  void Rebase(const dump::DumpModel& before, const dump::DumpModel& now,
              std::vector<std::string>& lost);
  bool operator==(const Comparison&) const = default;
};

// What was chosen, as long as it is there.
Comparison ChosenComparison(const Context& context);

/// What only advises a backend does not count as a change.
struct ChangeFilter {
  bool ignores_metadata = false;
};

// What counts as a change, as the user chose it.
analysis::Annotations AnnotationsIn(const Context& context);

// What was done since the stage before, as the user chose it.
const Pending<analysis::PassChanges>& ShownChanges(Context& context, int32_t module, int32_t stage);

// What was done from `other` to the stage, or from the stage to `other` of the second dump; fails
// where one of the two cannot be read.
const Pending<analysis::PassChanges>& CompareStages(Context& context, const Comparison& other,
                                                    int32_t module, int32_t stage);

/// The stage whose changes are on the screen: that of the selection, unless the selection was
/// chosen among what another stage removed.
struct ShownChange {
  int32_t stage = -1;
  uint64_t version = 0;  // of the selection it holds for
  void Rebase(const dump::DumpModel&, const dump::DumpModel&, std::vector<std::string>&) {
    *this = {};
  }
};

// The stage whose changes are on the screen.
int32_t ShownChangeStage(Context& context);

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
