// A lens: one of the pictures that stand side by side, of one stage.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/columns.h"
#include "viewer/views/graph_canvas.h"
#include "viewer/views/graph_data.h"

namespace hloscope::viewer {

class GraphLens {
 public:
  // Takes the stage's graph from the context, which makes it in the background. False: it is not
  // there yet, and a sentence stands in its place.
  bool Ready(Frame& frame, int32_t module, int32_t stage, const GraphPart& part);
  // Colours by `mode`; waits for origins where they are needed.
  void Paint(Frame& frame, ColorMode mode);
  // Which nodes stand for the selection, after Ready.
  void Follow(Frame& frame);
  // `heading`: a line above says what is in the picture.
  CanvasEvents Draw(Frame& frame, const char* id, float width, float height, bool heading,
                    bool minimap);
  // The same graph by places; after Paint.
  CanvasEvents DrawColumns(Frame& frame, const char* id, float width, float height, bool heading);
  // Opens or closes a node; what is at its upper left corner stays where it is.
  void Toggle(graph::NodeId id);
  void CloseAll();
  void OpenAll();
  // Cameras and open nodes, and back; ignored where another graph is in view by now.
  std::string Arrangement() const;
  void SetArrangement(std::string_view text);
  // What is drawn as CSV, one box a row.
  std::string Csv() const;
  // Brings the node that stands for the selection into view, opening what is around it.
  void Reveal(Frame& frame);
  // The next node along a wire (vertical) or beside this one; invalid where there is none.
  graph::NodeId Step(Command direction) const;
  void Focus(graph::NodeId id) { focus_ = id; }
  graph::NodeId focus() const { return focus_; }
  // The instructions that the focus stands for, of one computation; all of a group.
  std::vector<hlo::InstructionId> InstructionsAtFocus() const;
  // The instruction that a node is, or of a group the first in it.
  hlo::InstructionId InstructionOf(graph::NodeId id) const;

  const GraphData* data() const { return data_.get(); }
  GraphCanvas& canvas() { return canvas_; }
  const GraphCanvas& canvas() const { return canvas_; }
  GraphCanvas& columns_canvas() { return columns_canvas_; }
  const graph::Picture& columns() const { return columns_.picture; }  // as it was last drawn
  int32_t module() const { return key_.module; }
  int32_t stage() const { return key_.stage; }
  const std::vector<LegendEntry>& legend() const { return legend_; }
  const graph::Picture& picture() { return data_->graph.picture(); }

 private:
  void DrawColumnTitles(Frame& frame, float width) const;
  CanvasScene SceneOf(const graph::Picture& picture) const;
  std::string Explain(graph::NodeId id) const;

  GraphKey key_;
  mutable std::string open_text_;  // of the nodes that are open, while open_version_ holds
  mutable uint64_t open_version_ = UINT64_MAX;
  std::shared_ptr<const GraphData> data_;
  uint64_t generation_ = 0;  // of the context
  uint64_t graph_ = 0;       // grows with each other graph
  std::optional<NodeColors> colors_;
  std::string painted_;  // what the colours are of
  uint64_t dress_version_ = 0;
  std::vector<LegendEntry> legend_;
  GraphCanvas canvas_, columns_canvas_;
  graph::ColumnPicture columns_;
  uint64_t columns_version_ = 0;
  bool fitted_ = false;
  graph::NodeId focus_;
  uint64_t followed_ = UINT64_MAX;
  bool followed_complete_ = false;
  std::unordered_set<uint32_t> lit_;
};

}  // namespace hloscope::viewer
