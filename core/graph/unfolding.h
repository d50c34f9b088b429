// What is open in a picture that nobody can fold: a file.
#pragma once

#include <cstddef>

#include "core/graph/picture.h"

namespace hloscope::graph {

// Opens groups and bodies, outer ones first, as long as no more than `most_boxes` boxes come of it.
// A computation that is called several times is opened once.
void Unfold(FoldableGraph& graph, size_t most_boxes);

}  // namespace hloscope::graph
