// A lens as SVG: boxes, hulls, rings and lanes in the colours of the window.

#include <algorithm>
#include <unordered_map>

#include "core/graph/svg_shapes.h"
#include "viewer/views/graph_lens.h"
#include "viewer/views/graph_outline.h"

namespace hloscope::viewer {
namespace {

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

graph::SvgPane GraphLens::ToPane(bool lanes) const {
  graph::SvgPane pane;
  pane.graph = &data_->graph;
  const graph::Picture& picture = lanes ? lanes_.picture : data_->graph.picture();
  if (lanes) pane.options.picture = &picture;
  pane.options.placement = &data_->placement;
  pane.options.colors = ColorsOfTheme(*theme_);
  pane.shown = NodesOf(lit_kernel_, picture);
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
    const BoxDress box = scene.dress(id);
    graph::SvgDress dress{.color = ToRgb(box.color),
                          .outline = ToRgb(OutlineColor(*theme, box)),
                          .hull = std::nullopt,
                          .kernel = box.kernel,
                          .place = box.place,
                          .ring = std::nullopt,
                          .mark = {}};
    const bool shown = box.tint != 0 && box.kernel == scene.lit_kernel;
    const auto boxes = boxes_of.find(box.kernel);
    if (box.hull != 0 && boxes != boxes_of.end() && boxes->second > 1)
      dress.hull =
          graph::MixColors(theme->Rgb(Color::kCanvas), ToRgb(box.hull), shown ? 0.5f : 0.24f);
    if (shown) dress.ring = ToRgb(box.tint);
    if (id == scene.selected || scene.lit->contains(id.index))
      dress.ring = theme->Rgb(Color::kAccent);
    dress.mark = id == scene.holder ? scene.held : std::string(box.note);
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
