#include "core/graph/looks.h"

#include <array>

#include "core/hlo/opcode_traits.h"

namespace hloscope::graph {
namespace {

struct RoleRow {
  std::string_view text;
  uint32_t color;
};
constexpr RoleRow kRoles[] = {
#define ROLE(name, text, color) {text, color},
#include "core/graph/roles.def"
#undef ROLE
};

// How a node shows where it runs: both shape and colour show it.
constexpr std::pair<analysis::Place, PlaceLook> kPlaceLooks[] = {
    {analysis::Place::kDeviceKernel, {Outline::kRectangle, 0x1C7855, "device kernel"}},
    {analysis::Place::kInKernel, {Outline::kThinRectangle, 0x7F9C8E, "inside a kernel"}},
    {analysis::Place::kLibraryCall, {Outline::kDoubleSides, 0x1C7855, "library call"}},
    {analysis::Place::kCollective, {Outline::kHexagon, 0x6C020A, "collective"}},
    {analysis::Place::kHost, {Outline::kCutCorners, 0xA3310A, "host"}},
    {analysis::Place::kHostMemory, {Outline::kCylinder, 0x1566D1, "host memory"}},
    {analysis::Place::kCopy, {Outline::kRounded, 0x1C7855, "copy"}},
    {analysis::Place::kControl, {Outline::kRounded, 0x566271, "runtime"}},
    {analysis::Place::kNoCode, {Outline::kDashed, 0x878788, "no code"}},
    {analysis::Place::kUndecided, {Outline::kThinRectangle, 0x878788, "unknown"}},
};

std::array<PlaceLook, analysis::kPlaceCount> MakePlaces() {
  std::array<PlaceLook, analysis::kPlaceCount> looks;
  looks.fill({Outline::kThinRectangle, 0x878788, ""});
  for (const auto& [place, look] : kPlaceLooks) looks[static_cast<size_t>(place)] = look;
  return looks;
}

}  // namespace

Role RoleOf(hlo::Opcode opcode) {
  using hlo::Category;
  using hlo::Opcode;
  if (opcode == Opcode::kBroadcast || opcode == Opcode::kIota ||
      opcode == Opcode::kDynamicUpdateSlice)
    return Role::kBroadcast;
  if (opcode == Opcode::kGather || opcode == Opcode::kScatter) return Role::kReduction;
  switch (hlo::Info(opcode).category) {
    case Category::kContraction:
    case Category::kLinearAlgebra:
      return Role::kContraction;
    case Category::kReduction:
    case Category::kNormalization:
    case Category::kSort:
      return Role::kReduction;
    case Category::kDataMovement:
    case Category::kDynamic:
      return Role::kMovement;
    case Category::kCollective:
      return Role::kCollective;
    case Category::kSource:  // random numbers and device ids are computed
      return hlo::HasTrait(opcode, hlo::kTraitNoCode) ? Role::kParameter : Role::kElementwise;
    case Category::kControl:
    case Category::kCustomCall:
    case Category::kHostTransfer:
      return Role::kControl;
    case Category::kTuple:
    case Category::kFusion:
      return Role::kFusion;
    case Category::kElementwise:
      break;
  }
  return Role::kElementwise;
}

std::string_view Describe(Role role) { return kRoles[static_cast<size_t>(role)].text; }
uint32_t ColorOf(Role role) { return kRoles[static_cast<size_t>(role)].color; }

const PlaceLook& LookOf(analysis::Place place) {
  static const std::array<PlaceLook, analysis::kPlaceCount> looks = MakePlaces();
  return looks[static_cast<size_t>(place)];
}

}  // namespace hloscope::graph
