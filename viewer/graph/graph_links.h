// Linked cameras: where a picture's counterparts lie in another.
#pragma once

#include "core/analysis/align/alignment.h"
#include "viewer/graph/graph_pane.h"

namespace hloscope::viewer {

// Moves the camera of `to` along with that of `from`; `backwards`: from the later stage.
void FollowAcross(const analysis::Alignment& links, GraphPane& from, GraphPane& to, bool backwards);

}  // namespace hloscope::viewer
