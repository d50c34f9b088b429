// Lanes of what executes.
#include "core/graph/lanes.h"

#include <algorithm>
#include <map>

#include "core/hlo/analysis/call_graph.h"

namespace hloscope::graph {
namespace {

constexpr float kLaneWidth = 250, kLaneGap = 60, kBoxGap = 6, kRowGap = 8;

struct LaneRow {
  std::string_view key, title;
  bool host;
};
constexpr LaneRow kLanes[] = {
    {"kernels", "kernels", false}, {"libraries", "libraries", false},
    {"copies", "copies", false},   {"collectives", "collectives", false},
    {"runtime", "runtime", false}, {"host_memory", "host memory", true},
    {"host", "host", true},
};
static_assert(std::size(kLanes) == kLaneCount);
const LaneRow& RowOf(Lane lane) { return kLanes[static_cast<size_t>(lane)]; }

}  // namespace

std::string_view KeyOf(Lane lane) { return RowOf(lane).key; }
std::string_view TitleOf(Lane lane) { return RowOf(lane).title; }
bool IsHost(Lane lane) { return RowOf(lane).host; }

Lane LaneOf(analysis::Place place) {
  switch (place) {
    case analysis::Place::kDeviceKernel:
    case analysis::Place::kInKernel:
      return Lane::kKernels;
    case analysis::Place::kLibraryCall:
      return Lane::kLibraries;
    case analysis::Place::kCopy:
      return Lane::kCopies;
    case analysis::Place::kCollective:
      return Lane::kCollectives;
    case analysis::Place::kHostMemory:
      return Lane::kHostMemory;
    case analysis::Place::kHost:
      return Lane::kHost;
    default:
      return Lane::kRuntime;
  }
}

bool Executes(analysis::Place place) {
  return place != analysis::Place::kNoCode && place != analysis::Place::kUndecided &&
         place != analysis::Place::kInKernel && place != analysis::Place::kControl;
}

PlacesBelow::PlacesBelow(const Tree& tree, const analysis::Placement& placement)
    : tree_(tree), placement_(placement), by_computation_(tree.module().computations().size()) {
  const hlo::Module& module = tree.module();
  for (hlo::ComputationId c : hlo::CallGraphOf(module).callees_first()) {
    const hlo::Computation& computation = module[c];
    for (uint32_t k = 0; k < computation.instruction_count; ++k)
      Add(hlo::InstructionId(computation.first_instruction + k), by_computation_[c.index]);
  }
}

void PlacesBelow::Add(hlo::InstructionId id, PlaceCounts& counts) const {
  const analysis::Place place = placement_.instructions[id.index].place;
  ++counts[static_cast<size_t>(place)];
  if (place != analysis::Place::kControl) return;
  for (const hlo::Call& call : hlo::CallGraphOf(tree_.module()).calls(id)) {
    const PlaceCounts& body = by_computation_[call.callee.index];
    for (size_t k = 0; k < counts.size(); ++k) counts[k] += body[k];
  }
}

PlaceCounts PlacesBelow::Of(NodeId id) const {
  PlaceCounts counts = {};
  if (tree_[id].kind == NodeKind::kInstruction) {
    Add(tree_[id].instruction, counts);
    return counts;
  }
  return of_groups_.Of(
      tree_, id, [this](hlo::InstructionId each, PlaceCounts& sum) { Add(each, sum); },
      [](const PlaceCounts& inside, PlaceCounts& sum) {
        for (size_t k = 0; k < sum.size(); ++k) sum[k] += inside[k];
      });
}

analysis::Place PlaceOf(const PlaceCounts& counts) {
  for (analysis::Place place : {analysis::Place::kHost, analysis::Place::kHostMemory}) {
    if (counts[static_cast<size_t>(place)] > 0) return place;
  }
  analysis::Place best = analysis::Place::kNoCode;
  uint32_t most = 0;
  for (size_t k = 0; k < counts.size(); ++k) {
    if (!Executes(static_cast<analysis::Place>(k)) || counts[k] <= most) continue;
    most = counts[k];
    best = static_cast<analysis::Place>(k);
  }
  if (most == 0 && counts[static_cast<size_t>(analysis::Place::kControl)] > 0)
    return analysis::Place::kControl;
  if (most == 0 && counts[static_cast<size_t>(analysis::Place::kInKernel)] > 0)
    return analysis::Place::kInKernel;
  if (most == 0 && counts[static_cast<size_t>(analysis::Place::kUndecided)] > 0)
    return analysis::Place::kUndecided;
  return best;
}

LanePicture PlaceInLanes(const Tree& tree, const Picture& picture, const PlacesBelow& places) {
  LanePicture out;
  out.picture.height = picture.height;
  out.picture.node_height = picture.node_height;
  const float pitch = picture.node_height + kRowGap;
  // Cells: boxes of one lane at about one height stand side by side.
  std::map<std::pair<int32_t, Lane>, std::vector<uint32_t>> cells;
  std::array<LaneSpan, kLaneCount> used = {};
  std::vector<Lane> lane_of;
  // A body's boxes stand for nothing that its caller does not; frames stand before what is in them.
  std::vector<bool> inside(tree.size());
  for (const Box& box : picture.boxes) {
    const NodeId parent = tree[box.node].parent;
    inside[box.node.index] = parent.valid() && (inside[parent.index] || tree.IsBody(parent));
    const bool frame = box.open && !tree.IsBody(box.node);
    if (frame || inside[box.node.index]) continue;
    const PlaceCounts counts = places.Of(box.node);
    const analysis::Place place = PlaceOf(counts);
    if (place == analysis::Place::kNoCode) {
      ++out.no_code;
      continue;
    }
    // A group, and what runs a body, stands in every lane that any of it runs in; its wires end
    // where most of it does.
    std::array<uint32_t, kLaneCount> in_lane = {};
    for (size_t p = 0; p < counts.size(); ++p) {
      if (Executes(static_cast<analysis::Place>(p)))
        in_lane[static_cast<size_t>(LaneOf(static_cast<analysis::Place>(p)))] += counts[p];
    }
    in_lane[static_cast<size_t>(LaneOf(place))] =
        std::max(in_lane[static_cast<size_t>(LaneOf(place))], 1u);
    const bool is_group = tree[box.node].kind != NodeKind::kInstruction;
    const auto lanes = std::ranges::count_if(in_lane, [](uint32_t n) { return n > 0; });
    const float middle = box.y + std::min(box.height, picture.node_height) / 2;
    const auto row = static_cast<int32_t>(middle / pitch);
    for (size_t k = 0; k < kLaneCount; ++k) {
      const auto lane = static_cast<Lane>(k);
      if (in_lane[k] == 0) continue;
      const auto index = static_cast<uint32_t>(out.picture.boxes.size());
      cells[{row, lane}].push_back(index);
      if (lane == LaneOf(place)) out.picture.box_of_node[box.node.index] = index;
      ++used[k].boxes;
      used[k].instructions += in_lane[k];
      Box placed = box;
      placed.open = false;
      placed.y = static_cast<float>(row) * pitch;
      placed.height = picture.node_height;
      placed.count = is_group && lanes > 1 ? in_lane[k] : 0;
      out.picture.boxes.push_back(placed);
      lane_of.push_back(lane);
    }
  }
  std::array<float, kLaneCount> left = {};
  float x = 0;
  for (size_t c = 0; c < kLaneCount; ++c) {
    if (used[c].boxes == 0) continue;
    left[c] = x;
    used[c].lane = static_cast<Lane>(c);
    used[c].left = x;
    used[c].width = kLaneWidth;
    out.lanes.push_back(used[c]);
    x += kLaneWidth + kLaneGap;
  }
  out.picture.width = std::max(0.0f, x - kLaneGap);
  for (auto& [cell, members] : cells) {
    std::ranges::sort(members, {}, [&](uint32_t k) { return out.picture.boxes[k].x; });
    const auto count = static_cast<float>(members.size());
    const float each = (kLaneWidth - kBoxGap * (count - 1)) / count;
    for (size_t k = 0; k < members.size(); ++k) {
      Box& box = out.picture.boxes[members[k]];
      box.width = std::max(each, 2.0f);
      box.x = left[static_cast<size_t>(cell.second)] +
              static_cast<float>(k) * (kLaneWidth + kBoxGap) / count;
    }
  }
  for (const Wire& wire : picture.wires) {
    auto from = out.picture.box_of_node.find(wire.from.index);
    auto to = out.picture.box_of_node.find(wire.to.index);
    if (from == out.picture.box_of_node.end() || to == out.picture.box_of_node.end()) continue;
    if (lane_of[from->second] == lane_of[to->second]) continue;
    const Box &a = out.picture.boxes[from->second], &b = out.picture.boxes[to->second];
    Wire crossing = wire;
    crossing.jump = false;
    crossing.first_point = static_cast<uint32_t>(out.picture.points.size());
    crossing.point_count = 2;
    out.picture.points.push_back({a.x + a.width / 2, a.y + a.height});
    out.picture.points.push_back({b.x + b.width / 2, b.y});
    out.picture.wires.push_back(crossing);
  }
  return out;
}

}  // namespace hloscope::graph
