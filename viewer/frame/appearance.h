// Appearance: theme, fonts and size.
#pragma once

#include "viewer/widgets/theme.h"
#include "viewer/window/look.h"
#include "viewer/window/surface.h"

namespace hloscope::viewer {

/// Theme, fonts and the size of everything, in the current ImGui context.
class Appearance {
 public:
  explicit Appearance(const Surface& surface) : surface_(surface), fonts_(LoadFonts()) {}

  void Set(bool dark, float zoom);
  const Theme& theme() const { return theme_; }
  const Fonts& fonts() const { return fonts_; }
  float zoom() const { return zoom_; }
  /// Pixels for each logical pixel.
  float scale() const { return surface_.scale() * zoom_; }

 private:
  const Surface& surface_;
  Fonts fonts_;
  Theme theme_{true};
  float zoom_ = 1;
};

}  // namespace hloscope::viewer
