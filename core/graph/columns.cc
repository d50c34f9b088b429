// Columns of places.
#include "core/graph/columns.h"

#include <algorithm>
#include <map>

namespace hloscope::graph {
namespace {

constexpr float kColumnWidth = 250, kColumnGap = 60, kBoxGap = 6;

bool HasCode(debug::Place place) {
  return place != debug::Place::kNoCode && place != debug::Place::kUndecided &&
         place != debug::Place::kInKernel;
}

}  // namespace

std::string_view TitleOf(Column column) {
  constexpr std::string_view kTitles[kColumnCount] = {"kernels", "libraries",   "collectives",
                                                      "runtime", "host memory", "host"};
  return kTitles[static_cast<size_t>(column)];
}

Column ColumnOf(debug::Place place) {
  switch (place) {
    case debug::Place::kDeviceKernel:
    case debug::Place::kInKernel:
      return Column::kDevice;
    case debug::Place::kLibraryCall:
      return Column::kLibrary;
    case debug::Place::kCollective:
      return Column::kCollective;
    case debug::Place::kHostMemory:
      return Column::kHostMemory;
    case debug::Place::kHost:
      return Column::kHost;
    default:
      return Column::kRuntime;
  }
}

PlaceCounts CountPlaces(const Tree& tree, NodeId id, const debug::Placement& placement) {
  PlaceCounts counts = {};
  std::vector<NodeId> open(1, id);
  while (!open.empty()) {
    const Node& node = tree[open.back()];
    auto children = tree.children(open.back());
    open.pop_back();
    // What a body does in the kernel of its caller is the caller's.
    if (node.kind == NodeKind::kInstruction) {
      ++counts[static_cast<size_t>(placement.instructions[node.instruction.index].place)];
    } else {
      open.insert(open.end(), children.begin(), children.end());
    }
  }
  return counts;
}

debug::Place PlaceOf(const PlaceCounts& counts) {
  for (debug::Place place : {debug::Place::kHost, debug::Place::kHostMemory}) {
    if (counts[static_cast<size_t>(place)] > 0) return place;
  }
  debug::Place best = debug::Place::kNoCode;
  uint32_t most = 0;
  for (size_t k = 0; k < counts.size(); ++k) {
    if (!HasCode(static_cast<debug::Place>(k)) || counts[k] <= most) continue;
    most = counts[k];
    best = static_cast<debug::Place>(k);
  }
  if (most == 0 && counts[static_cast<size_t>(debug::Place::kInKernel)] > 0)
    return debug::Place::kInKernel;
  if (most == 0 && counts[static_cast<size_t>(debug::Place::kUndecided)] > 0)
    return debug::Place::kUndecided;
  return best;
}

ColumnPicture PlaceInColumns(const Tree& tree, const Picture& picture,
                             const debug::Placement& placement) {
  ColumnPicture out;
  out.picture.height = picture.height;
  // Cells: boxes of one column at about one height stand side by side.
  std::map<std::pair<int32_t, Column>, std::vector<uint32_t>> cells;
  std::array<uint32_t, kColumnCount> used = {};
  std::vector<Column> column_of;
  for (const Box& box : picture.boxes) {
    const bool frame = box.open && !tree.IsBody(box.node);
    const NodeId parent = tree[box.node].parent;
    // A body's boxes stand for nothing that its caller does not.
    bool inside_body = false;
    for (NodeId up = parent; up.valid(); up = tree[up].parent) inside_body |= tree.IsBody(up);
    if (frame || inside_body) continue;
    const Column column = ColumnOf(PlaceOf(CountPlaces(tree, box.node, placement)));
    const float middle = box.y + std::min(box.height, kNodeHeight) / 2;
    const auto row = static_cast<int32_t>(middle / (kNodeHeight + 8));
    cells[{row, column}].push_back(static_cast<uint32_t>(out.picture.boxes.size()));
    ++used[static_cast<size_t>(column)];
    Box placed = box;
    placed.open = false;
    placed.y = static_cast<float>(row) * (kNodeHeight + 8);
    placed.height = kNodeHeight;
    out.picture.boxes.push_back(placed);
    column_of.push_back(column);
  }
  std::array<float, kColumnCount> left = {};
  float x = 0;
  for (size_t c = 0; c < kColumnCount; ++c) {
    if (used[c] == 0) continue;
    left[c] = x;
    out.columns.push_back({static_cast<Column>(c), x, kColumnWidth, used[c]});
    x += kColumnWidth + kColumnGap;
  }
  out.picture.width = std::max(0.0f, x - kColumnGap);
  for (auto& [cell, members] : cells) {
    std::ranges::sort(members, {}, [&](uint32_t k) { return out.picture.boxes[k].x; });
    const auto count = static_cast<float>(members.size());
    const float each = (kColumnWidth - kBoxGap * (count - 1)) / count;
    for (size_t k = 0; k < members.size(); ++k) {
      Box& box = out.picture.boxes[members[k]];
      box.width = std::max(each, 2.0f);
      box.x = left[static_cast<size_t>(cell.second)] +
              static_cast<float>(k) * (kColumnWidth + kBoxGap) / count;
    }
  }
  for (uint32_t k = 0; k < out.picture.boxes.size(); ++k)
    out.picture.box_of_node[out.picture.boxes[k].node.index] = k;
  for (const Wire& wire : picture.wires) {
    auto from = out.picture.box_of_node.find(wire.from.index);
    auto to = out.picture.box_of_node.find(wire.to.index);
    if (from == out.picture.box_of_node.end() || to == out.picture.box_of_node.end()) continue;
    if (column_of[from->second] == column_of[to->second]) continue;
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
