// A pane as SVG: boxes, hulls, rings and lanes in the colours of the window; as a table; how it is
// arranged, as text.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <unordered_map>

#include "core/graph/svg_shapes.h"
#include "viewer/graph/graph_outline.h"
#include "viewer/graph/graph_pane.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using graph::Box;
using graph::NodeId;

// Of ImGui's 0xAABBGGRR.
uint32_t ToRgb(uint32_t color) {
  return (color & 0xffu) << 16 | (color & 0xff00u) | (color >> 16 & 0xffu);
}

graph::SvgColors ColorsOfTheme(const Theme& theme) {
  return {.ground = theme.Rgb(Color::kCanvas),
          .node = theme.Rgb(Color::kPanel),
          .raised = theme.Rgb(Color::kRaised),
          .line = theme.Rgb(Color::kLine),
          .text = theme.Rgb(Color::kText),
          .secondary = theme.Rgb(Color::kTextSecondary),
          .wire = theme.Rgb(Color::kTextDisabled),
          .link = theme.Rgb(Color::kAccent),
          .host = theme.Rgb(Color::kDeviceFallback)};
}

}  // namespace

std::string GraphPane::Csv() const {
  const graph::Tree& tree = data_->graph.tree();
  std::string out = "node,opcode,place,kernel,lane,x,y,width,height,open\n";
  for (const Box& box : data_->graph.picture().boxes) {
    const hlo::InstructionId id = tree[box.node].instruction;
    const bool is_one = id.valid() && id.index < data_->placement.instructions.size();
    // Of a group only where all of it is in one.
    const uint32_t kernel = KernelOf(box.node);
    const bool in_one = kernel != graph::kNoKernel;
    out += fmt::format(
        "{},{},{},{},{},{},{},{},{},{}\n", CsvCell(tree.Title(box.node)),
        is_one ? hlo::ToString((*data_->module)[id].opcode) : "",
        is_one ? KeyOf(data_->placement.instructions[id.index].place) : "",
        in_one ? CsvCell(NameOfKernel(*kernels_.kernels, kernel)) : "",
        in_one ? graph::KeyOf(graph::LaneOf(kernels_.kernels->map.kernels[kernel].place)) : "",
        box.x, box.y, box.width, box.height, box.open ? 1 : 0);
  }
  return out;
}

std::string GraphPane::Arrangement() const {
  if (data_ == nullptr || !fitted_) return {};
  const graph::Picture& picture = data_->graph.picture();
  if (open_version_ != data_->graph.version()) {
    open_version_ = data_->graph.version();
    std::vector<uint32_t> open;
    for (const Box& box : picture.boxes) {
      if (box.open) open.push_back(box.node.index);
    }
    std::ranges::sort(open);
    open_text_ = fmt::format("{}", fmt::join(open, " "));
  }
  return fmt::format("{} {} {} {} {} {} {} {}", graph_, data_->graph.row_width(), canvas_.x,
                     canvas_.y, canvas_.zoom, lanes_canvas_.y, lanes_canvas_.zoom, open_text_);
}

void GraphPane::SetArrangement(std::string_view text) {
  if (data_ == nullptr) return;
  std::istringstream in{std::string(text)};
  uint64_t graph = 0;
  float row_width = 0;
  std::array<float, 5> camera = {};
  in >> graph >> row_width;
  for (float& value : camera) in >> value;
  if (!in || graph != graph_) return;
  std::vector<bool> wanted(data_->graph.tree().size());
  for (size_t node = 0; in >> node;) {
    if (node < wanted.size()) wanted[node] = true;
  }
  for (uint32_t node = 0; node < wanted.size(); ++node) {
    if (wanted[node] && !data_->graph.IsOpen(NodeId(node))) data_->graph.Open(NodeId(node));
  }
  const graph::Picture opened = data_->graph.picture();
  for (const Box& box : opened.boxes) {
    const bool stays = box.node.index < wanted.size() && wanted[box.node.index];
    if (box.open && !stays) data_->graph.Close(box.node);
  }
  if (focus_.valid()) focus_ = data_->graph.Visible(focus_);
  // Of another layout only what was open is the same.
  if (row_width != data_->graph.row_width()) return Fit();
  follows_size_ = false;
  canvas_.x = camera[0];
  canvas_.y = camera[1];
  canvas_.zoom = camera[2];
  lanes_canvas_.y = camera[3];
  lanes_canvas_.zoom = camera[4];
}

graph::SvgPane GraphPane::ToSvgPane(bool lanes) const {
  graph::SvgPane pane;
  pane.graph = &data_->graph;
  const graph::Picture& picture = lanes ? lanes_.picture : data_->graph.picture();
  if (lanes) pane.options.picture = &picture;
  pane.options.placement = &data_->placement;
  pane.options.colors = ColorsOfTheme(*theme_);
  pane.shown = NodesOf(highlighted_kernel_, picture);
  for (const graph::LaneSpan& lane : lanes ? lanes_.lanes : std::vector<graph::LaneSpan>()) {
    pane.options.lanes.push_back({.left = lane.left,
                                  .width = lane.width,
                                  .title = TitleOf(lane),
                                  .count = CountIn(lane),
                                  .loud = graph::IsHost(lane.lane)});
  }
  // A hull around a single box says nothing.
  std::unordered_map<uint32_t, uint32_t> boxes_of;
  for (const graph::Box& box : picture.boxes) {
    if (!box.open) ++boxes_of[KernelOf(box.node)];
  }
  pane.options.dress = [scene = SceneOf(picture), boxes_of, theme = theme_](graph::NodeId id) {
    const BoxStyle box = scene.style(id);
    graph::SvgDress dress{.color = ToRgb(box.color),
                          .outline = ToRgb(OutlineColor(*theme, box)),
                          .hull = std::nullopt,
                          .kernel = box.kernel,
                          .place = box.place,
                          .ring = std::nullopt,
                          .mark = {}};
    if (box.fill != 0) {
      dress.fill = ToRgb(box.fill);
      dress.ink = ToRgb(box.ink);
    }
    const bool shown = box.tint != 0 && box.kernel == scene.highlighted_kernel;
    const auto boxes = boxes_of.find(box.kernel);
    if (box.hull != 0 && boxes != boxes_of.end() && boxes->second > 1)
      dress.hull =
          graph::MixColors(theme->Rgb(Color::kCanvas), ToRgb(box.hull), shown ? 0.5f : 0.24f);
    if (shown) dress.ring = ToRgb(box.tint);
    if (id == scene.selected || scene.highlighted->contains(id.index))
      dress.ring = theme->Rgb(Color::kAccent);
    dress.mark = id == scene.enclosing ? scene.enclosing_note : std::string(box.note);
    return dress;
  };
  return pane;
}

std::string ToSheet(std::vector<graph::SvgPane> panes, const SheetWords& words, const Theme& theme,
                    uint32_t shown_color, std::span<const LegendEntry> legend) {
  graph::SvgSheet sheet{.headline = words.headline,
                        .loud = words.loud,
                        .shown = words.shown,
                        .shown_color = ToRgb(shown_color),
                        .colors = ColorsOfTheme(theme),
                        .legend = {}};
  for (const LegendEntry& entry : legend)
    sheet.legend.push_back({ToRgb(entry.color), entry.text, entry.outline});
  return graph::ToSvg(panes, sheet);
}

}  // namespace hloscope::viewer
