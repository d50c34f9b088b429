// Draws what a camera sees of a graph's picture.
#pragma once

#include <imgui/imgui.h>

#include <functional>
#include <unordered_map>
#include <vector>

#include "viewer/graph/graph_canvas.h"

namespace hloscope::viewer {

class GraphPainter {
 public:
  // Sizes of text in logical pixels.
  static constexpr float kMinFont = 11, kMaxFont = 15;
  GraphPainter(Frame& frame, ImDrawList& list, const CanvasScene& scene,
               const graph::SpatialIndex& index, const std::vector<BoxStyle>& style)
      : frame_(frame), list_(list), scene_(scene), index_(index), styles_(style) {}
  void SetCamera(ImVec2 middle, graph::Point at, float zoom, float stretch,
                 const graph::Area& seen) {
    stretch_ = stretch;
    middle_ = middle;
    at_ = at;
    zoom_ = zoom;
    seen_ = seen;
  }
  void SetTexts(std::function<const graph::NodeText&(graph::NodeId)> texts) {
    texts_ = std::move(texts);
  }
  using Jumps = std::unordered_map<uint32_t, std::vector<graph::NodeId>>;
  void SetJumps(const Jumps* leaving, const Jumps* arriving) {
    leaving_ = leaving;
    arriving_ = arriving;
  }
  void Paint(graph::NodeId hovered);
  // The node that the label of a jump at that point of the screen leads to.
  graph::NodeId JumpAt(ImVec2 mouse) const;

 private:
  enum class Detail : uint8_t { kFull, kNoText, kFlat, kDots };

  ImVec2 ToScreen(float px, float py) const {
    return {middle_.x + (px - at_.x) * zoom_ * stretch_, middle_.y + (py - at_.y) * zoom_};
  }
  Detail DetailNow() const;
  void PaintHulls(const std::vector<uint32_t>& boxes);
  void PaintWires(Detail detail);
  void PaintGhosts();
  void PaintWire(const graph::Wire& wire, uint32_t color, float width, bool curved,
                 bool dashed = false);
  void PaintNeighbours(graph::NodeId id);
  void PaintFrame(uint32_t index);
  void PaintFrameTitle(uint32_t index, float font);
  void PaintSign(uint32_t index, ImVec2 a, ImVec2 b);
  void PaintBox(uint32_t index, Detail detail);
  void PaintText(uint32_t index, ImVec2 a, ImVec2 b);
  size_t ColumnsWithin(float font, float left, float right) const;
  void PaintTag(const std::string& text, ImVec2 at, float font, uint32_t color);
  bool PaintTagIfFree(const std::string& text, ImVec2 at, float font, uint32_t color);
  // Next to the box from a to b, below it first, or above.
  void PaintTagNear(const std::string& text, ImVec2 a, ImVec2 b, float font, uint32_t color,
                    bool is_above);
  void PaintRing(ImVec2 a, ImVec2 b, uint32_t index);
  // --- graph_bands.cc
  void PaintBands();
  void PaintWireLabels();
  void PaintLines(uint32_t index, ImVec2 a, ImVec2 b);
  // --- graph_callouts.cc
  void PaintCallouts();
  void PaintCallout(uint32_t index, const std::string& whole);
  bool IsReadable(uint32_t index) const;
  bool CoversBox(const graph::Area& area, graph::NodeId but) const;
  void PaintNames(const std::vector<uint32_t>& boxes);
  void PaintShape(const graph::Wire& wire);
  void PaintChips(uint32_t index);
  void PaintChip(const std::vector<graph::NodeId>& others, ImVec2 at, float width, float font,
                 bool up);
  void PaintTransfer(uint32_t index);
  bool Moves(const graph::Wire& wire) const;

  struct Chip {
    ImVec2 a, b;
    graph::NodeId target;
  };

  Frame& frame_;
  ImDrawList& list_;
  const CanvasScene& scene_;
  const graph::SpatialIndex& index_;
  const std::vector<BoxStyle>& styles_;
  ImVec2 middle_;
  graph::Point at_;
  float zoom_ = 1, stretch_ = 1;
  graph::Area seen_;
  std::function<const graph::NodeText&(graph::NodeId)> texts_;
  const Jumps* leaving_ = nullptr;
  const Jumps* arriving_ = nullptr;
  std::vector<Chip> chips_;
  std::vector<graph::Area> tags_;  // as they were drawn, without overlaps
};

}  // namespace hloscope::viewer
