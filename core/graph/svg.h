// Pictures of a graph for browsers and papers: no scripts, every text of the module escaped.
#pragma once

#include <span>
#include <string>

#include "core/debug/place/placement.h"
#include "core/graph/picture.h"

namespace hloscope::graph {

struct SvgOptions {
  const debug::Placement* placement = nullptr;  // null: nodes do not show where they run
  bool link_to_lines = false;  // nodes lead to "#i…" of the page around; else jumps alone are links
  std::string heading;         // above the picture, not escaped
  const Picture* picture = nullptr;  // other places for the same nodes; null: those of the graph
  std::string prefix;  // of the ids of nodes, where several pictures stand in one document
};

// The picture as it is open, with a legend of what occurs in it.
std::string ToSvg(FoldableGraph& graph, const SvgOptions& options);

// Pictures that ToSvg made, side by side in one.
std::string SideBySide(std::span<const std::string> pictures);

// A page: heading, picture, and the text of every computation of `shown` in a fold of its own.
std::string ToHtml(FoldableGraph& graph, const SvgOptions& options,
                   std::span<const hlo::InstructionId> shown);

// Graphviz: bodies as clusters in place of the instructions that call them.
std::string ToDot(const hlo::Module& module, std::span<const hlo::InstructionId> shown,
                  const debug::Placement* placement);

// What a reader is told about a node: lines of text, not escaped.
std::string Explain(const Tree& tree, NodeId id, const debug::Placement* placement);

}  // namespace hloscope::graph
