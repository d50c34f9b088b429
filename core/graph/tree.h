// Tree: the instructions of a module in groups that can be folded: op_name scopes, repeats, parts
// of long programs, and called computations inside the instructions that call them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/id.h"
#include "core/hlo/analysis/by_id.h"
#include "core/hlo/module.h"

namespace hloscope::graph {

using NodeId = Id<struct NodeTag>;

enum class NodeKind : uint8_t {
  kComputation,  // the root, or one of several computations that an instruction calls
  kScope,        // a scope of op_name
  kRepeat,       // scopes or parts of equal structure, one after another
  kPart,         // a stretch of the program
  kInstruction,
};

struct Node {
  NodeKind kind = NodeKind::kInstruction;
  bool folded = false;    // a constant or parameter that is shown at its users only
  bool expanded = false;  // the children are there
  uint16_t depth = 0;
  NodeId parent;                   // invalid: the root, folded, or not part of the picture
  hlo::InstructionId instruction;  // itself; of a computation: the instruction that calls it
  hlo::ComputationId computation;  // whose instructions its members are
  std::string_view label;          // of a group; not escaped
  uint32_t first_child = 0, child_count = 0;
  uint32_t instructions = 1;  // inside, folded ones and those of called computations not counted
  uint32_t repeats = 0;       // of a kRepeat: how many
  uint64_t key = 0;           // the same for the same thing in another stage or module
};

struct TreeOptions {
  // Computations of up to so many instructions are not grouped, but by scope where there are more
  // than `scope_limit`; repeats are not folded then.
  uint32_t flat_limit = 120, scope_limit = UINT32_MAX;
  // Groups of more children are divided into parts.
  uint32_t most_children = 72;
  uint32_t least_members = 4;   // of a scope that becomes a group
  double scope_coverage = 0.6;  // share of instructions with a scope below which scopes are ignored
  bool groups = true;           // false: no groups at all
  // Constants are shown at their users alone where there are more instructions than this,
  // parameters where there are so many of them besides.
  uint32_t fold_limit = 40;
  int64_t most_parameters = 40;
};

class Tree {
 public:
  // Of one computation and all that it calls. `members`, where not empty, names the instructions of
  // the computation that the picture is of (a neighbourhood, paths); others are left out.
  Tree(std::shared_ptr<const hlo::Module> module, hlo::ComputationId computation,
       const TreeOptions& options = {}, std::span<const hlo::InstructionId> members = {});

  const hlo::Module& module() const { return *module_; }
  const hlo::UserIndex& users() const { return *users_; }
  NodeId root() const { return NodeId(0u); }
  size_t size() const { return nodes_.size(); }
  const Node& operator[](NodeId id) const { return nodes_[id.index]; }
  std::span<const NodeId> children(NodeId id) const {
    const Node& node = (*this)[id];
    return std::span(children_).subspan(node.first_child, node.child_count);
  }
  // True for groups and for instructions that call computations.
  bool CanOpen(NodeId id) const;
  // True for calls whose computations are drawn in place: bodies, not what a reduction applies.
  bool IsBody(NodeId id) const;
  // Makes the children of an instruction that calls computations, once.
  void Expand(NodeId id);

  // What a leaf reads and who reads it, over the borders of bodies: a parameter of a body reads the
  // operand of the caller, and whoever reads the caller reads the body's root.
  struct Source {
    NodeId leaf;
    int64_t bytes = 0;
  };
  void Sources(NodeId leaf, std::vector<Source>& out) const;
  void Sinks(NodeId leaf, std::vector<Source>& out) const;

  // The node of an instruction of the root's computation, or of a body that is expanded; invalid
  // where it has none.
  NodeId Find(hlo::InstructionId id) const;
  // The node itself, or the group, that stands for `id` while only nodes of `is_open` are open.
  template <typename IsOpen>
  NodeId Visible(NodeId id, IsOpen is_open) const {
    NodeId shown = id;
    for (NodeId up = (*this)[id].parent; up.valid(); up = (*this)[up].parent) {
      if (!is_open(up)) shown = up;
    }
    return shown;
  }
  // Calls visit(InstructionId) for the node itself or for all in a group; not for what they call.
  template <typename Visit>
  void ForEachInstruction(NodeId id, Visit visit) const {
    std::vector<NodeId> open(1, id);
    while (!open.empty()) {
      const Node& node = (*this)[open.back()];
      auto inside = children(open.back());
      open.pop_back();
      if (node.kind == NodeKind::kInstruction) {
        visit(node.instruction);
      } else {
        open.insert(open.end(), inside.begin(), inside.end());
      }
    }
  }
  // What a node is called: the instruction's name, the scope, "layer ×32".
  std::string Title(NodeId id) const;

 private:
  friend class Grouper;
  // The leaves of a computation stand one after another, in program order.
  struct Instance {
    NodeId owner;  // the root, a calling instruction or one of its computations
    hlo::ComputationId computation;
    uint32_t first_leaf = 0;
  };

  void AddInstance(NodeId owner, hlo::ComputationId id,
                   std::span<const hlo::InstructionId> members);
  NodeId Caller(const Instance& instance) const;
  const Instance& InstanceOf(NodeId leaf) const;
  NodeId LeafIn(const Instance& instance, hlo::InstructionId id) const;
  bool Shown(NodeId id) const { return nodes_[id.index].parent.valid(); }
  int64_t Bytes(hlo::InstructionId id) const;
  void AddSource(NodeId leaf, std::vector<Source>& out) const;
  void SetChildren(NodeId id, std::span<const NodeId> children);
  std::string_view Keep(std::string text);

  std::shared_ptr<const hlo::Module> module_;
  hlo::ById<hlo::ShapeId, int64_t> bytes_;
  TreeOptions options_;
  const hlo::UserIndex* users_;  // kept with the module
  std::vector<Node> nodes_;
  std::vector<NodeId> children_;
  std::vector<Instance> instances_;  // by first_leaf
  std::multimap<uint32_t, uint32_t> instance_of_computation_;
  std::deque<std::string> texts_;
};

}  // namespace hloscope::graph
