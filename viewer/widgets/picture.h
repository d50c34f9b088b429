// Pictures: pixels of a frame, and the PNG of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hloscope::viewer {

struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  // rows from the top, three bytes a pixel

  // The part of it that lies inside both.
  Picture Cut(int x, int y, int w, int h) const;
};

// The bytes of a PNG file. Fails where the pixels cannot be packed.
Result<std::string> ToPng(const Picture& picture);

}  // namespace hloscope::viewer
