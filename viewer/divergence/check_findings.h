// What the checks of a simulated GPU found in the last run of the divergence lab.
#pragma once

#include "viewer/model/experiment.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// A row for each finding: a click selects its instruction, a button shows the thread, at the
// access. Nothing where there are none.
void DrawCheckFindings(Frame& frame, const Experiment& experiment);

}  // namespace hloscope::viewer
