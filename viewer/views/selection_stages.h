// The list of a selection's counterparts in the stages of its module.
#pragma once

#include <string>

#include "viewer/model/counterparts.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// A row for each stage; those through which it keeps its name are one.
void DrawSelectionStages(Frame& frame, const Counterparts& found);

// "fusion.7 and 2 more": the name there; "…" while the stage is read.
std::string NameInStage(Context& context, const Counterparts& found, const StageCounterpart& at);

}  // namespace hloscope::viewer
