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
  std::shared_ptr<const analysis::PassChanges> changes;
  std::shared_ptr<const hlo::Module> text_before, text_after;
};

// Draws strip and names; where the pair is not there, a sentence says why.
std::optional<StagePair> DrawChangeHead(Frame& frame);

// A check box that all views of changes share.
void DrawIgnoreMetadata(Frame& frame);

// Selects an instruction of one of the two; the change that is on the screen stays there.
void SelectInPair(Context& context, const StagePair& pair, bool is_after, hlo::InstructionId id);

}  // namespace hloscope::viewer
