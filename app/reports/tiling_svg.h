// `hloscope ops SHAPE --svg`: a picture of where the elements of an array lie.
#pragma once

#include <string>
#include <string_view>

#include "core/hlo/shape.h"

namespace hloscope::app {

// Tiles in their order with what pads them, and in them the places of elements; empty where the
// layout has no such places.
std::string TilingSvg(const hlo::Shape& shape, std::string_view device);

}  // namespace hloscope::app
