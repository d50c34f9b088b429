// Theme, fonts and size.
#include "viewer/frame/appearance.h"

#include <algorithm>

namespace hloscope::viewer {

void Appearance::Set(bool dark, float zoom) {
  theme_ = Theme(dark);
  zoom_ = std::clamp(zoom, 0.5f, 3.0f);
  ApplyLook(theme_, scale());
}

}  // namespace hloscope::viewer
