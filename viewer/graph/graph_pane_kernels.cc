// What boxes hold: the kernels that they run in, and what ran on the host.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "viewer/graph/graph_pane.h"

namespace hloscope::viewer {
namespace {

using graph::NodeId;
using graph::NodeKind;

constexpr std::ptrdiff_t kMaxInRibbon = 200;         // instructions of a kernel that are looked for
constexpr uint32_t kSeveral = graph::kNoKernel - 1;  // in place of a kernel

}  // namespace

uint32_t GraphPane::KernelOf(NodeId id) const {
  if (kernels_.kernels == nullptr || kernels_.kernels->map.kernels.empty() || !id.valid())
    return graph::kNoKernel;
  const uint32_t kernel = FindKernelOf(id);
  return kernel == kSeveral ? graph::kNoKernel : kernel;
}

// kSeveral where they differ; groups nest no deeper than Grouper makes them.
uint32_t GraphPane::FindKernelOf(NodeId id) const {
  const graph::Tree& tree = data_->graph.tree();
  if (tree[id].kind == NodeKind::kInstruction) return kernels_.Of(tree[id].instruction);
  if (const auto known = kernel_of_group_.find(id.index); known != kernel_of_group_.end())
    return known->second;
  uint32_t common = graph::kNoKernel;
  for (NodeId child : tree.children(id)) {
    const uint32_t kernel = FindKernelOf(child);
    if (kernel == graph::kNoKernel || kernel == common) continue;
    const bool first = common == graph::kNoKernel;
    common = first ? kernel : kSeveral;
    if (common == kSeveral) break;
  }
  kernel_of_group_[id.index] = common;
  return common;
}

RibbonStep GraphPane::AreasOf(uint32_t kernel, bool in_lanes) const {
  RibbonStep areas;
  if (data_ == nullptr || kernels_.kernels == nullptr || kernel == graph::kNoKernel) return areas;
  const graph::Picture& picture = in_lanes ? lanes_.picture : data_->graph.picture();
  const GraphCanvas& canvas = in_lanes ? lanes_canvas_ : canvas_;
  for (NodeId node : NodesOf(kernel, picture)) {
    const auto area =
        in_lanes && shows_list_ ? lane_list_.OnScreen(node) : canvas.OnScreen(*picture.Find(node));
    if (area) areas.push_back(*area);
  }
  return areas;
}

std::vector<graph::NodeId> GraphPane::NodesOf(uint32_t kernel,
                                              const graph::Picture& picture) const {
  if (kernel == graph::kNoKernel) return {};
  // Of the stage itself its own instruction; of what was written all that it was made of.
  std::vector<hlo::InstructionId> ids;
  if (kernels_.source != nullptr) {
    const auto all = kernels_.source->members.Of(kernel);
    ids.assign(all.begin(), all.begin() + std::min(std::ssize(all), kMaxInRibbon));
  } else if (kernels_.kernels != nullptr && kernel < kernels_.kernels->map.kernels.size()) {
    ids = {kernels_.kernels->map.kernels[kernel].instruction};
  }
  std::vector<graph::NodeId> nodes;
  std::unordered_set<uint32_t> seen;
  for (hlo::InstructionId id : ids) {
    graph::NodeId node = data_->NodeOf(id, false);
    // In the lanes a body is in its caller.
    while (node.valid() && picture.Find(node) == nullptr) node = data_->graph.tree()[node].parent;
    if (node.valid() && seen.insert(node.index).second) nodes.push_back(node);
  }
  return nodes;
}

std::unordered_set<uint32_t> GraphPane::NodesOnHost(const graph::Picture& picture) const {
  std::unordered_set<uint32_t> shown, nodes;
  if (host_runs_ == nullptr) return nodes;
  std::vector<hlo::InstructionId> ids;
  for (const auto& [id, sentence] : host_runs_->sentences) ids.emplace_back(id);
  data_->AddNodesOf(ids, shown);
  for (const uint32_t index : shown) {
    NodeId node(index);
    // In the lanes a body is in its caller.
    while (node.valid() && picture.Find(node) == nullptr) node = data_->graph.tree()[node].parent;
    if (node.valid()) nodes.insert(node.index);
  }
  return nodes;
}

void GraphPane::MarkEnclosing(const graph::Picture& picture, CanvasScene& scene) const {
  if (kernels_.kernels == nullptr || highlighted_kernel_ >= kernels_.kernels->map.kernels.size())
    return;
  const graph::Tree& tree = data_->graph.tree();
  const hlo::InstructionId itself = kernels_.kernels->map.kernels[highlighted_kernel_].instruction;
  const bool written = kernels_.source != nullptr;
  for (graph::NodeId node : NodesOf(highlighted_kernel_, picture)) {
    const bool one = tree[node].kind == graph::NodeKind::kInstruction;
    // A box of the kernel itself has its colour and name; loops and groups have names of their own.
    if (one && (written ? KernelOf(node) == highlighted_kernel_ : tree[node].instruction == itself))
      continue;
    const std::string_view word = !written                                ? "holds"
                                  : KernelOf(node) == highlighted_kernel_ ? "became"
                                                                          : "partly became";
    scene.enclosing = node;
    scene.enclosing_note =
        fmt::format("{} {}", word, NameOfKernel(*kernels_.kernels, highlighted_kernel_));
    return;
  }
}

}  // namespace hloscope::viewer
