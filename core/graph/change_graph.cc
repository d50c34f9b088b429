// Nodes of two stages, the frames they stand in, and which of them a part holds.
#include "core/graph/change_graph.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>

#include "core/hlo/analysis/users.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::graph {
namespace {

using hlo::InstructionId;

// Operands and users of one change beyond these say little: a constant may have thousands.
constexpr size_t kMaxAround = 6;
constexpr int kMaxRounds = 16;
constexpr uint32_t kNone = NodeId::kNone;

// How many stand around each; of a cycle the last found has nothing around it afterwards.
std::vector<uint32_t> DepthsOf(std::vector<uint32_t>& around) {
  constexpr uint32_t kUnknown = kNone, kOnTheWay = kNone - 1;
  std::vector<uint32_t> depth(around.size(), kUnknown), way;
  for (uint32_t start = 0; start < around.size(); ++start) {
    way.clear();
    uint32_t at = start;
    for (; at != kNone && depth[at] == kUnknown; at = around[at]) {
      depth[at] = kOnTheWay;
      way.push_back(at);
    }
    if (at != kNone && depth[at] == kOnTheWay) at = around[way.back()] = kNone;
    uint32_t here = at == kNone ? 0 : depth[at] + 1;
    for (size_t k = way.size(); k-- > 0; ++here) depth[way[k]] = here;
  }
  return depth;
}

}  // namespace

ChangeGraph::ChangeGraph(std::shared_ptr<const hlo::Module> before,
                         std::shared_ptr<const hlo::Module> after,
                         const analysis::PassChanges& changes)
    : modules_{std::move(before), std::move(after)} {
  for (Side side : kSides) FindCallers(side);
  FindReplaced(changes);
  is_split_.assign(module(Side::kBefore).instructions().size(), false);
  // What is inside of something that is split may be misplaced in turn.
  for (int round = 0; round < kMaxRounds; ++round) {
    AddNodes(changes);
    FindParents();
    if (!SplitMisplaced()) break;
  }
  FindChildren();
}

void ChangeGraph::Replace(InstructionId before, InstructionId after) {
  if (replaced_by_[before.index].valid() || replaces_[after.index].valid()) return;
  replaced_by_[before.index] = after;
  replaces_[after.index] = before;
}

// By the same name in the same computation, as when another opcode took its place; calls, by what
// they have in common inside.
void ChangeGraph::FindReplaced(const analysis::PassChanges& changes) {
  const hlo::Module &before = module(Side::kBefore), &after = module(Side::kAfter);
  replaced_by_.assign(before.instructions().size(), InstructionId());
  replaces_.assign(after.instructions().size(), InstructionId());
  std::unordered_map<std::string_view, InstructionId> removed;
  std::map<std::pair<InstructionId, InstructionId>, uint32_t> common;
  for (const analysis::DiffRow& row : changes.rows) {
    if (row.kind == analysis::ChangeKind::kRemoved)
      removed.emplace(before.name(row.before), row.before);
    if (!row.before.valid() || !row.after.valid()) continue;
    const InstructionId was = Caller(Side::kBefore, before[row.before].computation);
    const InstructionId is = Caller(Side::kAfter, after[row.after].computation);
    if (was.valid() && is.valid() &&
        changes.of_before[was.index] == analysis::ChangeKind::kRemoved &&
        changes.of_after[is.index] == analysis::ChangeKind::kAdded &&
        before[was].opcode == after[is].opcode)
      common[{was, is}] += row.count;
  }
  const auto computation = [](const hlo::Module& m, InstructionId id) {
    return m[m[m[id].computation].name];
  };
  for (const analysis::DiffRow& row : changes.rows) {
    if (row.kind != analysis::ChangeKind::kAdded) continue;
    const auto at = removed.find(after.name(row.after));
    if (at != removed.end() && computation(before, at->second) == computation(after, row.after))
      Replace(at->second, row.after);
  }
  std::vector<std::pair<uint32_t, std::pair<InstructionId, InstructionId>>> calls;
  for (const auto& [pair, count] : common) calls.emplace_back(count, pair);
  std::ranges::stable_sort(calls, std::greater(), [](const auto& call) { return call.first; });
  for (const auto& [count, pair] : calls) Replace(pair.first, pair.second);
}

void ChangeGraph::AddNodes(const analysis::PassChanges& changes) {
  nodes_.clear();
  changes_.clear();
  for (Side side : kSides)
    node_of_[IndexOf(side)].assign(module(side).instructions().size(), NodeId());
  for (const analysis::DiffRow& row : changes.rows) {
    for (uint32_t k = 0; k < row.count; ++k) {
      ChangeNode node;
      node.kind = row.kind;
      if (row.before.valid()) node.on[0] = InstructionId(row.before.index + k);
      if (row.after.valid()) node.on[1] = InstructionId(row.after.index + k);
      // It stands where what took its place does.
      if (row.kind == analysis::ChangeKind::kRemoved && replaced_by_[node.on[0].index].valid())
        continue;
      if (row.kind == analysis::ChangeKind::kAdded) node.on[0] = replaces_[node.on[1].index];
      AddNode(node);
    }
  }
}

void ChangeGraph::AddNode(ChangeNode node) {
  const NodeId id(nodes_.size());
  const InstructionId before = node[Side::kBefore], after = node[Side::kAfter];
  const bool is_split = before.valid() && after.valid() && is_split_[before.index];
  if (node.changed()) changes_.push_back(id);
  if (before.valid()) node_of_[0][before.index] = is_split ? NodeId(id.index + 1) : id;
  if (after.valid()) node_of_[1][after.index] = id;
  if (!is_split) {
    nodes_.push_back(node);
    return;
  }
  node.on = {InstructionId(), after};
  node.other = NodeId(id.index + 1);
  nodes_.push_back(node);
  node.on = {before, InstructionId()};
  node.other = id;
  nodes_.push_back(node);
}

NodeId ChangeGraph::CallerOf(Side side, const ChangeNode& node) const {
  return NodeOf(side, Caller(side, module(side)[node[side]].computation));
}

// One place is right on both sides only where the frames around it that a side has are those that
// it stands in there. True if there were others.
bool ChangeGraph::SplitMisplaced() {
  bool any = false;
  for (const ChangeNode& node : nodes_) {
    if (!node[Side::kBefore].valid() || !node[Side::kAfter].valid()) continue;
    for (Side side : kSides) {
      NodeId around = node.parent;
      while (around.valid() && !nodes_[around.index][side].valid())
        around = nodes_[around.index].parent;
      if (around == CallerOf(side, node)) continue;
      is_split_[node[Side::kBefore].index] = true;
      any = true;
    }
  }
  return any;
}

// Of several callers the first; the entry has none.
void ChangeGraph::FindCallers(Side side) {
  const hlo::Module& m = module(side);
  auto& callers = callers_[IndexOf(side)];
  callers.resize(m.computations().size());
  std::vector<uint32_t> around(callers.size(), kNone);
  for (uint32_t i = 0; i < m.instructions().size(); ++i) {
    const hlo::Instruction& instruction = m.instructions()[i];
    if (!hlo::HasFlag(instruction.opcode, hlo::kFlagCalls)) continue;
    for (hlo::ComputationId c : m.CalledComputations(instruction)) {
      if (callers[c.index].valid() || c == m.entry_id()) continue;
      callers[c.index] = InstructionId(i);
      around[c.index] = instruction.computation.index;
    }
  }
  computation_depth_[IndexOf(side)] = DepthsOf(around);
  for (uint32_t c = 0; c < callers.size(); ++c) {
    if (around[c] == kNone) callers[c] = InstructionId();
  }
}

NodeId ChangeGraph::ParentOf(const ChangeNode& node) const {
  NodeId parent;
  uint32_t deepest = 0;
  for (Side side : kSides) {
    if (!node[side].valid()) continue;
    const hlo::ComputationId c = module(side)[node[side]].computation;
    const uint32_t depth = computation_depth_[IndexOf(side)][c.index];
    // Where both are as deep, that of the later stage.
    if (depth == 0 || depth < deepest) continue;
    deepest = depth;
    parent = CallerOf(side, node);
  }
  return parent;
}

void ChangeGraph::FindParents() {
  // Frames of two stages might hold each other: that way is cut.
  std::vector<uint32_t> around;
  for (const ChangeNode& node : nodes_) around.push_back(ParentOf(node).index);
  const std::vector<uint32_t> depths = DepthsOf(around);
  for (size_t n = 0; n < nodes_.size(); ++n) {
    nodes_[n].parent = NodeId(around[n]);
    nodes_[n].depth = depths[n];
  }
}

void ChangeGraph::FindChildren() {
  const auto slot = [&](const ChangeNode& node) {
    return node.parent.valid() ? node.parent.index : static_cast<uint32_t>(nodes_.size());
  };
  first_child_.assign(nodes_.size() + 2, 0);
  for (const ChangeNode& node : nodes_) ++first_child_[slot(node) + 1];
  for (size_t k = 1; k < first_child_.size(); ++k) first_child_[k] += first_child_[k - 1];
  std::vector<uint32_t> next(first_child_.begin(), first_child_.end() - 1);
  children_.resize(nodes_.size());
  for (uint32_t n = 0; n < nodes_.size(); ++n) children_[next[slot(nodes_[n])]++] = NodeId(n);
  changed_inside_.assign(nodes_.size(), 0);
  for (NodeId change : changes_) {
    for (NodeId up = (*this)[change].parent; up.valid(); up = (*this)[up].parent)
      ++changed_inside_[up.index];
  }
}

std::span<const NodeId> ChangeGraph::children(NodeId id) const {
  const size_t k = id.valid() ? id.index : nodes_.size();
  return std::span(children_).subspan(first_child_[k], first_child_[k + 1] - first_child_[k]);
}

std::vector<bool> ShownNodes(const ChangeGraph& graph, const ChangePart& part) {
  if (part.whole) return std::vector<bool>(graph.size(), true);
  std::vector<bool> shown(graph.size(), false);
  std::vector<NodeId> edge, next;
  const auto add = [&](NodeId id) {
    if (!id.valid() || shown[id.index]) return;
    for (NodeId each : {id, graph[id].other}) {
      if (!each.valid()) continue;
      shown[each.index] = true;
      next.push_back(each);
    }
  };
  const std::span<const NodeId> changes = graph.changes();
  const size_t first = std::min<size_t>(part.first, changes.size());
  for (NodeId id : changes.subspan(first, std::min<size_t>(kMaxChanges, changes.size() - first)))
    add(id);
  for (int round = 0; round < part.radius; ++round) {
    edge.swap(next);
    next.clear();
    for (NodeId id : edge) {
      for (Side side : kSides) {
        const InstructionId here = graph[id][side];
        if (!here.valid()) continue;
        const auto operands = graph.module(side).operands(here);
        const auto users = hlo::UsersOf(graph.module(side)).users(here);
        for (const auto around : {operands, users}) {
          for (InstructionId each : around.first(std::min(around.size(), kMaxAround)))
            add(graph.NodeOf(side, each));
        }
      }
    }
  }
  for (uint32_t toggled : part.toggled) {
    if (toggled >= graph.size() || !shown[toggled]) continue;
    // What was opened shows all that is in it.
    for (NodeId inside : graph.children(NodeId(toggled))) shown[inside.index] = true;
  }
  for (uint32_t n = 0; n < graph.size(); ++n) {
    if (!shown[n]) continue;
    for (NodeId up = graph[NodeId(n)].parent; up.valid() && !shown[up.index]; up = graph[up].parent)
      shown[up.index] = true;
  }
  return shown;
}

}  // namespace hloscope::graph
