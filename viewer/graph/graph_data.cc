// Graphs made in the background, and where their instructions come from.
#include "viewer/graph/graph_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <unordered_set>

#include "core/base/jobs.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/graph.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {

using graph::NodeId;
using hlo::InstructionId;

namespace {

// As many boxes as can be read in a pane without scrolling far.
constexpr graph::TreeOptions kGroups = {.flat_limit = GraphData::kMaxBoxes, .most_children = 48};

bool IsLarge(const graph::Tree& tree) {
  uint32_t sum = 0;
  for (NodeId child : tree.children(tree.root())) sum += tree[child].instructions;
  return sum > GraphData::kMaxBoxes;
}

void OpenScopes(graph::FoldableGraph& graph) {
  for (uint32_t k = 1; k < graph.tree().size(); ++k) {
    if (graph.tree()[NodeId(k)].kind == graph::NodeKind::kScope) graph.Open(NodeId(k));
  }
}

}  // namespace

std::span<const ColorModeRow> ColorModeRows() {
  static constexpr ColorModeRow kRows[] = {
#define COLOR_MODE(name, id, title) {ColorMode::name, id, title},
#include "viewer/graph/color_modes.def"
#undef COLOR_MODE
  };
  return kRows;
}

std::strong_ordering GraphPart::operator<=>(const GraphPart& other) const {
  const auto of = [](const GraphPart& part) {
    return std::tuple(part.kind, part.radius, part.to.index, part.from.size());
  };
  if (const auto order = of(*this) <=> of(other); order != 0) return order;
  return std::lexicographical_compare_three_way(
      from.begin(), from.end(), other.from.begin(), other.from.end(),
      [](InstructionId a, InstructionId b) { return a.index <=> b.index; });
}

const KernelColorCounts& GraphData::KernelColorsOf(NodeId group) const {
  const graph::KernelMap& map = kernels->map;
  return kernel_colors_.Of(
      graph.tree(), group,
      [&map](InstructionId id, KernelColorCounts& sum) {
        const uint32_t kernel = map.kernel_of[id.index];
        if (kernel != graph::kNoKernel) ++sum[map.kernels[kernel].color];
      },
      [](const KernelColorCounts& inside, KernelColorCounts& sum) {
        for (size_t k = 0; k < sum.size(); ++k) sum[k] += inside[k];
      });
}

bool GraphData::is_large() const { return IsLarge(graph.tree()); }

NodeId GraphData::NodeOf(InstructionId id, bool reveal) const {
  if (!id.valid() || id.index >= module->instructions().size()) return NodeId();
  const graph::Tree& tree = graph.tree();
  // From the instruction out to one whose computation is drawn.
  std::vector<InstructionId> way(1, id);
  const hlo::ComputationId root = tree[tree.root()].computation;
  while ((*module)[way.back()].computation != root) {
    const InstructionId caller = callers[(*module)[way.back()].computation.index];
    // Callers stand after what they call; a file that says otherwise ends the way.
    if (!caller.valid() || way.size() > module->computations().size()) return NodeId();
    way.push_back(caller);
  }
  NodeId node;
  for (auto at = way.rbegin(); at != way.rend(); ++at) {
    NodeId found = tree.Find(*at);
    if (!found.valid() || !tree[found].parent.valid()) break;
    node = found;
    if (!reveal) continue;
    graph.Reveal(node);
    if (at + 1 != way.rend()) graph.Open(node);
  }
  return node.valid() ? graph.Visible(node) : NodeId();
}

void GraphData::AddNodesOf(std::span<const InstructionId> ids,
                           std::unordered_set<uint32_t>& out) const {
  const graph::Tree& tree = graph.tree();
  hlo::ComputationId before;
  NodeId leaf, group;      // of the one before, and what it is in
  bool is_itself = false;  // nothing else stands for it
  for (InstructionId id : ids) {
    const hlo::ComputationId computation = (*module)[id].computation;
    // All of a computation that is not drawn stand for its caller.
    if (computation == before && !leaf.valid()) continue;
    leaf = tree.Find(id);
    const NodeId parent = leaf.valid() ? tree[leaf].parent : NodeId();
    if (computation == before && parent == group && !is_itself) continue;
    before = computation;
    group = parent;
    const NodeId shown = NodeOf(id, false);
    is_itself = shown.valid() && shown == leaf;
    if (shown.valid()) out.insert(shown.index);
  }
}

Result<std::shared_ptr<const GraphHits>> FindHits(const hlo::Module& module, std::string_view text,
                                                  const TaskControl& control) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::string wanted(text), name;
  std::ranges::transform(wanted, wanted.begin(), lower);
  auto hits = std::make_shared<GraphHits>();
  for (uint32_t i = 0; i < module.instructions().size() && !control.stopped(); ++i) {
    const InstructionId id(i);
    name.assign(module.name(id));
    std::ranges::transform(name, name.begin(), lower);
    if (name.find(wanted) != std::string::npos ||
        ToString(module[id].opcode).find(wanted) != std::string_view::npos)
      hits->instructions.push_back(id);
  }
  if (control.stopped()) return std::unexpected(Error{ErrorClass::kCancelled, "cancelled", {}, {}});
  return hits;
}

StageKernels::StageKernels(std::shared_ptr<const hlo::Module> of,
                           const analysis::Placement& placement)
    : module(std::move(of)),
      map(graph::MapKernels(*module, placement)),
      members(map.kernel_of, map.kernels.size()) {
  for (const graph::KernelMap::Kernel& kernel : map.kernels)
    ++lanes[static_cast<size_t>(graph::LaneOf(kernel.place))];
  for (size_t p = 0; p < analysis::kPlaceCount; ++p) {
    const graph::Lane lane = graph::LaneOf(static_cast<analysis::Place>(p));
    lane_bytes[static_cast<size_t>(lane)] += placement.bytes_of[p];
  }
}

GraphData::GraphData(std::shared_ptr<const hlo::Module> of, analysis::Placement placed,
                     std::shared_ptr<const StageKernels> made_kernels, graph::FoldableGraph made)
    : module(std::move(of)),
      placement(std::move(placed)),
      kernels(std::move(made_kernels)),
      graph(std::move(made)),
      places(graph.tree(), placement),
      callers(module->computations().size()) {
  // Groups are counted here, in the background.
  places.Of(graph.tree().root());
  KernelColorsOf(graph.tree().root());
  for (const analysis::Transfer& t : placement.transfers)
    transfers.emplace(t.instruction.index, &t);
  const hlo::CallGraph& calls = hlo::CallGraphOf(*module);
  for (uint32_t c = 0; c < callers.size(); ++c)
    callers[c] = calls.FirstCaller(hlo::ComputationId(c));
}

Result<std::shared_ptr<const GraphData>> MakeGraphData(
    const std::shared_ptr<const hlo::Module>& module, const GraphPart& part,
    const std::function<analysis::Placement()>& place, float width, Frames frames) {
  std::vector<InstructionId> members;
  if (part.kind == GraphPart::Kind::kAround)
    members = hlo::Neighbourhood(*module, part.from, part.radius);
  if (part.kind == GraphPart::Kind::kPaths) {
    const InstructionId from = part.from.front();
    members = hlo::Between(*module, from, part.to);
    if (members.empty()) members = hlo::Between(*module, part.to, from);
    if (members.empty())
      return InputError(
          fmt::format("no path between {} and {}", module->name(from), module->name(part.to)));
  }
  const hlo::ComputationId computation =
      members.empty() ? module->entry_id() : (*module)[members.front()].computation;
  // Neither needs the other.
  analysis::Placement placement;
  std::shared_ptr<const StageKernels> kernels;
  std::optional<graph::FoldableGraph> graph;
  HLOSCOPE_TRY(ParallelFor(2, 2, [&](int64_t half) {
    if (half == 0) {
      graph::TreeOptions groups = kGroups;
      if (frames == Frames::kScopes && members.empty()) groups.scope_limit = 1;
      graph.emplace(graph::Tree(module, computation, groups, members), graph::ForPane(width));
      if (frames == Frames::kScopes && !IsLarge(graph->tree())) OpenScopes(*graph);
      graph->picture();
    } else {
      placement = place();
      kernels = std::make_shared<StageKernels>(module, placement);
    }
  }));
  return std::make_shared<GraphData>(module, std::move(placement), std::move(kernels),
                                     *std::move(graph));
}

Result<std::shared_ptr<const Origins>> FindOrigins(const analysis::Lineage& lineage, int32_t stage,
                                                   const TaskControl& control) {
  HLOSCOPE_ASSIGN_OR_RETURN(auto module, lineage.Module(stage));
  auto origins = std::make_shared<Origins>();
  origins->stage_of.assign(module->instructions().size(), stage);
  for (int32_t s = stage - 1; s >= 0 && !control.stopped(); --s) {
    auto earlier = lineage.Module(s);
    if (!earlier) continue;  // the stage cannot be read
    std::unordered_set<std::string_view> names;
    for (const hlo::Instruction& i : (*earlier)->instructions()) names.insert((**earlier)[i.name]);
    for (uint32_t i = 0; i < origins->stage_of.size(); ++i) {
      if (origins->stage_of[i] <= s + 1 && names.contains(module->name(InstructionId(i))))
        origins->stage_of[i] = s;
    }
  }
  return origins;
}

}  // namespace hloscope::viewer
