// Linked cameras: where a picture's counterparts lie in another.
#pragma once

#include "core/debug/align/alignment.h"
#include "viewer/views/graph_lens.h"

namespace hloscope::viewer {

// Of the two graphs' modules; null while they are being found.
const debug::Alignment* LinksOf(Context& context, const GraphLens& before, const GraphLens& after);

// Moves the camera of `to` along with that of `from`; `backwards`: from the later stage.
void FollowAcross(const debug::Alignment& links, GraphLens& from, GraphLens& to, bool backwards);

}  // namespace hloscope::viewer
