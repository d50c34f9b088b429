// Linked cameras: where a picture's counterparts lie in another.
#pragma once

#include "core/debug/align/alignment.h"
#include "viewer/views/graph_lens.h"

namespace hloscope::viewer {

// Moves the camera of `to` along with that of `from`; `backwards`: from the later stage.
void FollowAcross(const debug::Alignment& links, GraphLens& from, GraphLens& to, bool backwards);

}  // namespace hloscope::viewer
