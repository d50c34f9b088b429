// The one ramp of heat, and what can be read on it.
#pragma once

#include <cstdint>

#include "viewer/widgets/theme.h"

namespace hloscope::viewer {

// The colour at a place of the scale, 0 to 1; 0xAABBGGRR.
uint32_t HeatColor(const Theme& theme, double place);
// The one of both inks with more contrast: at least 4.58 to 1 on any colour.
uint32_t InkOn(const Theme& theme, uint32_t color);
// The contrast of two colours, 1 to 21 (WCAG 2).
double ContrastOf(uint32_t one, uint32_t two);

}  // namespace hloscope::viewer
