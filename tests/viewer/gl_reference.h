// The pictures of OpenGL, for comparison with those of viewer/window/rasterizer.h.
#pragma once

#include <optional>

#include "viewer/widgets/picture.h"

struct ImDrawData;

namespace hloscope::viewer {

/// Draws the current ImGui context's last frame by ImGui's OpenGL back end, on EGL without a
/// display. Nothing where there is none.
std::optional<Picture> DrawPictureWithOpenGl(ImDrawData& data, uint32_t background_rgb);

}  // namespace hloscope::viewer
