// What a reader is told about a node.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/analysis/place/placement.h"
#include "core/graph/labels.h"
#include "core/graph/tree.h"
#include "core/hlo/analysis/cost.h"

namespace hloscope::graph {

// What is in a group, or a node alone.
struct GroupSums {
  std::vector<std::pair<hlo::Opcode, int64_t>> opcodes;  // and how many; most first
  hlo::Cost cost;
};
GroupSums SumsOf(const Tree& tree, NodeId id);
// "estimate: 1.2 MFLOP, 4 kB read and written"; "at least" where the work of a call is unknown.
std::string CostText(const GroupSums& sums);

// Lines of text, not escaped.
std::string Explain(const Tree& tree, NodeId id, const analysis::Placement* placement);

}  // namespace hloscope::graph
