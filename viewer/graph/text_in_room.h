// Texts of rows, cut to the room there is.
#pragma once

#include <imgui/imgui.h>

#include <string>

namespace hloscope::viewer {

// The width of a text in pixels.
float WidthOf(ImFont* font, float size, const std::string& text);

// As much of a text as there is room for in pixels, "…" at its end where it is cut.
std::string FitEnd(ImFont* font, float size, const std::string& text, float room);

}  // namespace hloscope::viewer
