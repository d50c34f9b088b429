// Opening outer groups first, within a bound.
#include "core/graph/unfolding.h"

#include <unordered_set>
#include <vector>

namespace hloscope::graph {
namespace {

// How many boxes opening a node adds at least, without making them yet.
size_t BoxesFor(const Tree& tree, NodeId id) {
  const Node& node = tree[id];
  if (node.expanded || node.kind != NodeKind::kInstruction) return node.child_count;
  size_t cost = 0;
  const hlo::Module& module = tree.module();
  for (hlo::ComputationId c : module.CalledComputations(module[node.instruction]))
    cost += module[c].instruction_count;
  return cost;
}

bool CalledBefore(const Tree& tree, NodeId id, std::unordered_set<uint32_t>& drawn) {
  if (tree[id].kind != NodeKind::kInstruction) return false;
  const hlo::Module& module = tree.module();
  bool fresh = false;
  for (hlo::ComputationId c : module.CalledComputations(module[tree[id].instruction]))
    fresh |= drawn.insert(c.index).second;
  return !fresh;
}

}  // namespace

void Unfold(FoldableGraph& graph, size_t most_boxes) {
  const Tree& tree = graph.tree();
  std::unordered_set<uint32_t> drawn;
  std::vector<NodeId> round(1, tree.root()), next;
  size_t boxes = tree[tree.root()].child_count;
  while (!round.empty()) {
    next.clear();
    for (NodeId parent : round) {
      auto children = tree.children(parent);
      // Opening may make new nodes, which moves the list of children.
      const std::vector<NodeId> copy(children.begin(), children.end());
      for (NodeId id : copy) {
        const bool body = tree.IsBody(id);
        if (!body && tree[id].kind == NodeKind::kInstruction) continue;
        if (boxes + BoxesFor(tree, id) > most_boxes || CalledBefore(tree, id, drawn)) continue;
        if (!graph.Open(id) && !graph.IsOpen(id)) continue;
        boxes += tree[id].child_count;
        next.push_back(id);
      }
    }
    round.swap(next);
  }
}

}  // namespace hloscope::graph
