// SVG of what a frame drew, from ImGui's draw lists: polygons as paths, glyphs as text.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace hloscope::viewer {

// What the last frame drew inside that rectangle of pixels. Fails before the first frame.
Result<std::string> SvgOfFrame(float x, float y, float width, float height,
                               uint32_t background_rgb);

}  // namespace hloscope::viewer
