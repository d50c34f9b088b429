// A graph of TensorFlow as a picture with a camera: clusters, lanes of devices, what stays outside.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "viewer/facts/tensorflow_facts.h"
#include "viewer/graph/graph_canvas.h"
#include "viewer/graph/graph_colors.h"

namespace hloscope::viewer {

class TensorFlowCanvas {
 public:
  // A drawing of another graph is fitted when it is drawn first; of the same graph the scope that
  // was opened or closed stays where it is, and is brought into view.
  void Show(const std::shared_ptr<const TensorFlowDrawing>& drawing);
  // The next drawing differs by it.
  void NoteToggled(const graph::TensorFlowScope& scope) { toggled_ = scope; }
  const TensorFlowDrawing* drawing() const { return drawing_.get(); }
  // `node` of the drawing's graph, or -1; a new one is brought into view.
  void Select(int32_t node);
  graph::NodeId selected() const { return selected_; }
  // Marks nodes in whose names or operations all words occur.
  void Find(const std::string& words);
  size_t found() const { return found_nodes_; }
  // Some box is in no cluster for no known reason.
  bool has_plain() const { return has_plain_; }

  CanvasEvents Draw(Frame& frame, const char* id, float width, float height, bool minimap);
  GraphCanvas& canvas() { return canvas_; }
  const GraphCanvas& canvas() const { return canvas_; }
  void Fit();
  // The box that an arrow key leads to from the selected one; the first box without one.
  graph::NodeId Step(Command direction) const;

 private:
  BoxStyle StyleOf(const Theme& theme, graph::NodeId id) const;
  WireStyle StyleOfWire(const Theme& theme, uint32_t wire) const;
  WireLabel LabelOfWire(const Theme& theme, uint32_t wire) const;
  std::string Explain(graph::NodeId id) const;
  float BusiestPart() const;
  void KeepToggled(const TensorFlowDrawing& before);

  std::shared_ptr<const TensorFlowDrawing> drawing_;
  GraphCanvas canvas_;
  std::vector<CanvasBand> bands_;
  uint64_t number_ = 0;  // grows with each other drawing
  std::optional<graph::TensorFlowScope> toggled_;
  bool is_fitted_ = false, wants_selected_ = false, was_dark_ = false;
  uint64_t style_ = 0;  // grows with each other theme
  int32_t node_ = -1;
  graph::NodeId selected_;
  std::string sought_;
  std::unordered_set<uint32_t> found_;
  size_t found_nodes_ = 0;
  bool has_plain_ = false;
};

// What colours and outlines mean; `has_plain`: some boxes are in no cluster for no known reason, as
// before marking.
std::vector<LegendEntry> TensorFlowLegend(const Theme& theme, bool has_plain);

}  // namespace hloscope::viewer
