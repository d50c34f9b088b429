// The head of what shows one pass: the strip of all stages, and which two are compared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/analysis/align/pass_changes.h"
#include "core/hlo/module.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// The two stages on the screen, read and compared.
struct StagePair {
  int32_t module_before = -1, before = -1, module = -1, after = -1;
  uint64_t second = 0;  // the later one is in the second dump, of that reading; 0: it is not
  std::shared_ptr<const analysis::PassChanges> changes;
  std::shared_ptr<const hlo::Module> text_before, text_after;
  // The stage of that side, where its instructions may be selected along with those in view; else
  // -1: it is of another module or dump.
  int32_t stage_in_view(bool is_after) const {
    if (is_after) return second == 0 ? after : -1;
    return second != 0 || module_before == module ? before : -1;
  }
};

// Draws strip and names; where the pair is not there, a sentence says why.
std::optional<StagePair> DrawChangeHead(Frame& frame);

// A check box that all views of changes share.
void DrawIgnoreMetadata(Frame& frame);

// Selects an instruction of one of the two; the change that is on the screen stays there.
void SelectInPair(Context& context, const StagePair& pair, bool is_after, hlo::InstructionId id);

}  // namespace hloscope::viewer
