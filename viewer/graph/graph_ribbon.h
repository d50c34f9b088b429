// The ribbon from what was written through its kernel to where that runs.
#pragma once

#include <imgui/imgui.h>

#include <span>
#include <vector>

#include "core/graph/spatial_index.h"

namespace hloscope::viewer {

// One step of the ribbon: the boxes that stand for a kernel in one picture, on the screen. An empty
// step is passed over.
using RibbonStep = std::vector<graph::Area>;

// Bands between each step and the next, from left to right; `color` is that of the kernel.
void DrawRibbon(ImDrawList& list, std::span<const RibbonStep> steps, uint32_t color, float scale);

}  // namespace hloscope::viewer
