// ChangeGraph: two stages of a module as one graph, in which what both have is one node: so either
// can be drawn with everything in its place.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/analysis/align/pass_changes.h"
#include "core/graph/tree.h"

namespace hloscope::graph {

enum class Side : uint8_t { kBefore, kAfter };
inline constexpr std::array kSides = {Side::kBefore, Side::kAfter};
constexpr size_t IndexOf(Side side) { return static_cast<size_t>(side); }
constexpr Side OtherSide(Side side) { return side == Side::kBefore ? Side::kAfter : Side::kBefore; }

struct ChangeNode {
  std::array<hlo::InstructionId, 2> on;  // by side; invalid where that side has it not
  analysis::ChangeKind kind = analysis::ChangeKind::kUnchanged;
  uint32_t depth = 0;  // frames around it
  // The instruction that calls its computation; of both sides the one deeper inside, so that what
  // moves into a new fusion stands within the fusion's frame before and after. Invalid: none.
  NodeId parent;
  // What moved between frames that both sides have is a node in each; invalid: it is one node.
  NodeId other;
  hlo::InstructionId operator[](Side side) const { return on[IndexOf(side)]; }
  // What was added in the place of something removed is one node with that.
  bool is_replaced() const {
    return kind == analysis::ChangeKind::kAdded && on[0].valid() && on[1].valid();
  }
  analysis::ChangeKind KindOn(Side side) const {
    const bool is_gone = kind == analysis::ChangeKind::kAdded && side == Side::kBefore;
    return is_gone ? analysis::ChangeKind::kRemoved : kind;
  }
  bool changed() const { return kind != analysis::ChangeKind::kUnchanged; }
};

class ChangeGraph {
 public:
  // `changes` are those of the two modules.
  ChangeGraph(std::shared_ptr<const hlo::Module> before, std::shared_ptr<const hlo::Module> after,
              const analysis::PassChanges& changes);

  const hlo::Module& module(Side side) const { return *modules_[IndexOf(side)]; }
  size_t size() const { return nodes_.size(); }
  const ChangeNode& operator[](NodeId id) const { return nodes_[id.index]; }
  NodeId NodeOf(Side side, hlo::InstructionId id) const {
    const auto& of = node_of_[IndexOf(side)];
    return id.valid() && id.index < of.size() ? of[id.index] : NodeId();
  }
  // What changed, in program order, each once; nodes are in program order too.
  std::span<const NodeId> changes() const { return changes_; }
  // The node, or the one of its two that counts: that of the later stage.
  NodeId Counted(NodeId id) const {
    const bool is_second = id.valid() && !(*this)[id][Side::kAfter].valid();
    return is_second && (*this)[id].other.valid() ? (*this)[id].other : id;
  }
  // What stands in the frame of a node; of an invalid one, in none.
  std::span<const NodeId> children(NodeId id) const;
  // By node: how many changed nodes stand in its frame, at any depth.
  uint32_t changed_inside(NodeId id) const { return changed_inside_[id.index]; }
  // The instruction that calls a computation of that side; invalid: none.
  hlo::InstructionId Caller(Side side, hlo::ComputationId computation) const {
    return callers_[IndexOf(side)][computation.index];
  }

 private:
  void FindReplaced(const analysis::PassChanges& changes);
  void Replace(hlo::InstructionId before, hlo::InstructionId after);
  void AddNodes(const analysis::PassChanges& changes);
  void AddNode(ChangeNode node);
  bool SplitMisplaced();
  NodeId CallerOf(Side side, const ChangeNode& node) const;
  void FindCallers(Side side);
  void FindParents();
  NodeId ParentOf(const ChangeNode& node) const;
  void FindChildren();

  std::array<std::shared_ptr<const hlo::Module>, 2> modules_;
  std::vector<ChangeNode> nodes_;
  std::array<std::vector<NodeId>, 2> node_of_;              // by instruction
  std::array<std::vector<hlo::InstructionId>, 2> callers_;  // by computation
  std::array<std::vector<uint32_t>, 2> computation_depth_;  // likewise
  std::vector<bool> is_split_;                              // by instruction before
  // What was added in the place of what was removed, by the one and by the other.
  std::vector<hlo::InstructionId> replaced_by_, replaces_;
  std::vector<NodeId> changes_, children_;
  std::vector<uint32_t> first_child_;  // by node; one more for those in no frame, and the end
  std::vector<uint32_t> changed_inside_;
};

// Which nodes are drawn.
struct ChangePart {
  bool whole = false;             // all of both stages; else what changed and what is around it
  uint32_t first = 0;             // the first change that is drawn; kMaxChanges from there on
  int32_t radius = 1;             // edges from a change to what is still drawn
  std::vector<uint32_t> toggled;  // nodes whose frames are open where they would be closed, or not
  auto operator<=>(const ChangePart&) const = default;
};
// Of more changes at once no picture can be read.
inline constexpr uint32_t kMaxChanges = 300;

// By node: it is drawn, or would be if all frames around it were open.
std::vector<bool> ShownNodes(const ChangeGraph& graph, const ChangePart& part);

}  // namespace hloscope::graph
