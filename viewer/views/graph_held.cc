// Which boxes of a picture stand for a kernel, and which closed one hides it.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "viewer/views/graph_lens.h"

namespace hloscope::viewer {
namespace {

constexpr std::ptrdiff_t kMostInRibbon = 200;  // instructions of a kernel that are looked for

}  // namespace

std::vector<graph::NodeId> GraphLens::NodesOf(uint32_t kernel,
                                              const graph::Picture& picture) const {
  if (kernel == graph::kNoKernel) return {};
  // Of the stage itself its own instruction; of what was written all that it was made of.
  std::vector<hlo::InstructionId> ids;
  if (kernels_.source != nullptr) {
    const auto all = kernels_.source->members.Of(kernel);
    ids.assign(all.begin(), all.begin() + std::min(std::ssize(all), kMostInRibbon));
  } else if (kernels_.kernels != nullptr && kernel < kernels_.kernels->map.kernels.size()) {
    ids = {kernels_.kernels->map.kernels[kernel].instruction};
  }
  std::vector<graph::NodeId> nodes;
  std::unordered_set<uint32_t> seen;
  for (hlo::InstructionId id : ids) {
    graph::NodeId node = data_->NodeOf(id, false);
    // In the lanes a body stands in its caller.
    while (node.valid() && picture.Find(node) == nullptr) node = data_->graph.tree()[node].parent;
    if (node.valid() && seen.insert(node.index).second) nodes.push_back(node);
  }
  return nodes;
}

void GraphLens::MarkHolder(const graph::Picture& picture, CanvasScene& scene) const {
  if (kernels_.kernels == nullptr || lit_kernel_ >= kernels_.kernels->map.kernels.size()) return;
  const graph::Tree& tree = data_->graph.tree();
  const hlo::InstructionId itself = kernels_.kernels->map.kernels[lit_kernel_].instruction;
  const bool written = kernels_.source != nullptr;
  for (graph::NodeId node : NodesOf(lit_kernel_, picture)) {
    const bool one = tree[node].kind == graph::NodeKind::kInstruction;
    // A box of the kernel itself has its colour and name; loops and groups have names of their own.
    if (one && (written ? KernelOf(node) == lit_kernel_ : tree[node].instruction == itself))
      continue;
    const std::string_view word = !written                        ? "holds"
                                  : KernelOf(node) == lit_kernel_ ? "became"
                                                                  : "partly became";
    scene.holder = node;
    scene.held = fmt::format("{} {}", word, NameOfKernel(*kernels_.kernels, lit_kernel_));
    return;
  }
}

}  // namespace hloscope::viewer
