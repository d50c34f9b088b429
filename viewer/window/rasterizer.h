// Rasterizer: the pixels of a frame without OpenGL, for pictures and exports.
#pragma once

#include <cstdint>

#include "viewer/widgets/picture.h"

struct ImDrawData;

namespace hloscope::viewer {

/// Draws what ImGui::Render made as the OpenGL back end would: bilinear textures, clip rectangles,
/// source alpha over a ground of that colour (0xRRGGBB). Each pixel is a function of the draw data
/// alone: not of the machine, of the run, nor of the place of a glyph in its texture.
Picture DrawPicture(const ImDrawData& data, uint32_t background_rgb);

}  // namespace hloscope::viewer
