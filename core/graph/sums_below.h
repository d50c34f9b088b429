// SumsBelow: what is counted of the instructions in a group, each group once.
#pragma once

#include <unordered_map>

#include "core/graph/tree.h"

namespace hloscope::graph {

template <typename Sum>
class SumsBelow {
 public:
  // The sum of a group; add(InstructionId, Sum&) counts an instruction, join(const Sum&, Sum&) a
  // group inside. Both must be the same at every call. Groups nest as deep as scopes and parts do,
  // which Grouper bounds.
  template <typename Add, typename Join>
  const Sum& Of(const Tree& tree, NodeId group, const Add& add, const Join& join) {
    if (const auto known = sums_.find(group.index); known != sums_.end()) return known->second;
    Sum sum = {};
    for (NodeId child : tree.children(group)) {
      if (tree[child].kind == NodeKind::kInstruction) {
        add(tree[child].instruction, sum);
      } else {
        join(Of(tree, child, add, join), sum);
      }
    }
    return sums_.emplace(group.index, sum).first->second;
  }

 private:
  std::unordered_map<uint32_t, Sum> sums_;  // by NodeId
};

}  // namespace hloscope::graph
