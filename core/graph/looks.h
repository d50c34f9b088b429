// How nodes look: colour by role of the opcode, outline by place.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/analysis/place/placement.h"
#include "core/hlo/opcode.h"

namespace hloscope::graph {

enum class Role : uint8_t {
#define ROLE(name, text, color) name,
#include "core/graph/roles.def"
#undef ROLE
};
inline constexpr int kRoleCount = 0
#define ROLE(...) +1
#include "core/graph/roles.def"
#undef ROLE
    ;
Role RoleOf(hlo::Opcode opcode);
std::string_view Describe(Role role);
uint32_t ColorOf(Role role);  // 0xRRGGBB on white

enum class Outline : uint8_t {
  kRectangle,
  kThinRectangle,
  kDoubleSides,
  kHexagon,
  kCutCorners,
  kCylinder,
  kRounded,
  kDashed,
};
struct PlaceLook {
  Outline outline;
  uint32_t color;  // 0xRRGGBB on white
  std::string_view text;
};
const PlaceLook& LookOf(analysis::Place place);

}  // namespace hloscope::graph
