// Pictures of a graph for browsers and papers: no scripts, every text of the module escaped.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/analysis/place/placement.h"
#include "core/graph/explain.h"
#include "core/graph/picture.h"

namespace hloscope::graph {

// Colours of a picture, 0xRRGGBB: of paper, or of a window's theme.
struct SvgColors {
  uint32_t ground = 0xffffff, node = 0xffffff, raised = 0xf6f7f9, line = 0xb6bfca;
  uint32_t text = 0x1a1f26, secondary = 0x566271, wire = 0x8792a0;
  uint32_t link = 0x1566d1, host = 0xa3310a;
};

// How a box is painted beyond its text; colours 0xRRGGBB.
struct SvgDress {
  uint32_t color = 0, outline = 0;  // of its stripe, pale of its ground; around it
  std::optional<uint32_t> hull;     // behind the boxes that became one kernel
  uint32_t kernel = 0;              // which kernel that is
  analysis::Place place = analysis::Place::kUndecided;
  std::optional<uint32_t> ring;  // around what is shown
  std::string mark;              // written below it
  // Of all of the box, and what is written on it: its heat. Without: pale, with a stripe.
  std::optional<uint32_t> fill = std::nullopt;
  uint32_t ink = 0;
};

struct SvgLane {
  float left = 0, width = 0;
  std::string title, count;
  bool loud = false;  // the host
};

struct SvgOptions {
  const analysis::Placement* placement = nullptr;  // null: nodes do not show where they run
  bool link_to_lines = false;  // nodes lead to "#i…" of the page around; else jumps alone are links
  std::string heading;         // above the picture, not escaped
  const Picture* picture = nullptr;  // other places for the same nodes; null: those of the graph
  std::string prefix;  // of the ids of nodes, where several pictures stand in one document
  SvgColors colors;
  // Empty: colours by role of the opcode and place, with a legend of them.
  std::function<SvgDress(NodeId)> dress;
  std::vector<SvgLane> lanes;  // titles above, for a picture of lanes
};

// The picture as it is open, with a legend of what occurs in it.
std::string ToSvg(FoldableGraph& graph, const SvgOptions& options);

// A page: heading, picture, and the text of every computation of `shown` in a fold of its own.
std::string ToHtml(FoldableGraph& graph, const SvgOptions& options,
                   std::span<const hlo::InstructionId> shown);

// Graphviz: bodies as clusters in place of the instructions that call them.
std::string ToDot(const hlo::Module& module, std::span<const hlo::InstructionId> shown,
                  const analysis::Placement* placement);

}  // namespace hloscope::graph
