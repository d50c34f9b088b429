// The picture of devices: what is closed in a graph's picture, at the same heights, in a lane for
// what executes it, and what crosses between them. What makes no code is left out and counted.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "core/analysis/place/placement.h"
#include "core/graph/picture.h"
#include "core/graph/sums_below.h"

namespace hloscope::graph {

// The lanes of the picture of devices, from left to right.
enum class Lane : uint8_t {
  kKernels,
  kLibraries,
  kCopies,
  kCollectives,
  kRuntime,
  kHostMemory,
  kHost,
};
inline constexpr int kLaneCount = static_cast<int>(Lane::kHost) + 1;
std::string_view KeyOf(Lane lane);    // "kernels", …, as in JSON
std::string_view TitleOf(Lane lane);  // in words
bool IsHost(Lane lane);               // work on the host, or moves to and from its memory
// The lane of a place; kRuntime for what has no code.
Lane LaneOf(analysis::Place place);
// What executes, by lane; a loop's body counts once.
using LaneCounts = std::array<int64_t, kLaneCount>;

// True for places that execute something of their own: kernels, library calls, copies, collectives,
// the host. Not what is inside a kernel, control flow, and what makes no code.
bool Executes(analysis::Place place);

// How many instructions run at each place.
using PlaceCounts = std::array<uint32_t, analysis::kPlaceCount>;
// The counts below nodes of a tree: what a loop, call or conditional runs counts with it. Groups
// are counted once and remembered, so one thread at a time may ask.
class PlacesBelow {
 public:
  PlacesBelow(const Tree& tree, const analysis::Placement& placement);
  PlaceCounts Of(NodeId id) const;

 private:
  void Add(hlo::InstructionId id, PlaceCounts& counts) const;

  const Tree& tree_;
  const analysis::Placement& placement_;
  std::vector<PlaceCounts> by_computation_;
  mutable SumsBelow<PlaceCounts> of_groups_;
};
// Where most of them run; the host as soon as any does.
analysis::Place PlaceOf(const PlaceCounts& counts);

struct LaneSpan {
  Lane lane;
  float left = 0, width = 0;
  uint32_t boxes = 0, instructions = 0;  // and how many instructions those stand for
};
struct LanePicture {
  Picture picture;
  std::vector<LaneSpan> lanes;  // those with any box, from left to right
  uint32_t no_code = 0;         // boxes left out: parameters, bitcasts, tuples
};
LanePicture PlaceInLanes(const Tree& tree, const Picture& picture, const PlacesBelow& places);

}  // namespace hloscope::graph
