// The point of the program that is marked on the screen Memory, shared by its views.
#pragma once

#include <cstdint>

namespace hloscope::viewer {

struct MemoryPoint {
  int32_t module = -1;
  int32_t point = -1;  // -1: the peak
};

}  // namespace hloscope::viewer
