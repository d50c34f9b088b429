// HeatChoice: which measure fills boxes, rows and lines, as the user chose it.
#pragma once

#include <cstdint>

namespace hloscope::viewer {

enum class HeatMeasure : uint8_t {
#define HEAT(name, id, title, help) name,
#include "viewer/model/heat.def"
#undef HEAT
};

/// Not forgotten with the dump.
struct HeatChoice {
  bool is_chosen = false;
  HeatMeasure measure = HeatMeasure::kOff;
};

}  // namespace hloscope::viewer
