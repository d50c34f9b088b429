// The hottest of a module as a list; a click selects.
#pragma once

#include "viewer/facts/heat.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

inline constexpr float kHeatListWidth = 214;  // logical pixels

// Chooses the measure.
void DrawHeatMenu(Frame& frame, float width);

// In the room that is left: the instructions with most, each with its value, its share and a bar.
// Where nothing is hot, why.
void DrawHeatList(Frame& frame, const HeatFacts& facts);

}  // namespace hloscope::viewer
