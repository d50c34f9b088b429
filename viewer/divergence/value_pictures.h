// The values of an array as a picture and as a histogram.
#pragma once

#include <cstdint>

#include "viewer/lab/value_grid.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// One page as pixels, evenly spaced where there are too many.
void DrawValuePicture(Frame& frame, ValueGrid& grid, ValueSide side, int64_t page);

// How often which values occur, below a line of what they are.
void DrawHistogram(Frame& frame, ValueGrid& grid, ValueSide side);

}  // namespace hloscope::viewer
