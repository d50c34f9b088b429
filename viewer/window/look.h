// The look: fonts from packages and the style of every widget.
#pragma once

#include <string>
#include <vector>

#include "viewer/widgets/theme.h"

struct ImFont;

namespace hloscope::viewer {

// Sizes of type, in logical pixels.
inline constexpr float kTextSize = 16, kSmallSize = 14, kTitleSize = 19, kScreenTitleSize = 25;

struct Fonts {
  ImFont *text = nullptr, *strong = nullptr, *mono = nullptr;
  std::vector<std::string>
      missing;  // what is drawn with ImGui's own font, and the package to install
};
// Loads Inter and JetBrains Mono; where they are not installed, ImGui's built-in font is used.
Fonts LoadFonts();

// Style of the current context for a theme, sizes multiplied by `scale`.
void ApplyLook(const Theme& theme, float scale);

}  // namespace hloscope::viewer
