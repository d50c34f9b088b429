// A pane: one of the pictures that stand side by side, of one stage.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/lanes.h"
#include "core/graph/stepping.h"
#include "core/graph/svg_sheet.h"
#include "viewer/facts/host_runs.h"
#include "viewer/graph/graph_canvas.h"
#include "viewer/graph/graph_colors.h"
#include "viewer/graph/graph_data.h"
#include "viewer/graph/graph_ribbon.h"
#include "viewer/graph/heat_paint.h"
#include "viewer/graph/lane_list.h"

namespace hloscope::viewer {

// Where an arrow key of the graphs leads.
graph::Direction DirectionOf(Command command);

class GraphPane {
 public:
  // Takes the stage's graph from the context, which makes it in the background. False: it is not
  // there yet, and a sentence is shown instead.
  // `width` that the pane will have, in pixels.
  bool Ready(Frame& frame, int32_t module, int32_t stage, const GraphPart& part, float width,
             Frames frames);
  // Colours by `mode`, or by `heat` unless it is null; waits for origins where they are needed.
  // `kernels` as far as it is known.
  void Paint(Frame& frame, ColorMode mode, const KernelPaint& kernels,
             const std::shared_ptr<const HeatFacts>& heat = nullptr);
  // Which nodes stand for the selection, after Ready.
  void Follow(Frame& frame);
  CanvasEvents Draw(Frame& frame, const char* id, float width, float height, bool minimap);
  // The same graph by what executes it, in lanes with titles; after Paint. Where there is not room
  // for a column each, as a list. `contents` of the stage itself; null: nothing is counted yet.
  CanvasEvents DrawLanes(Frame& frame, const char* id, float width, float height,
                         const std::shared_ptr<const Contents>& contents);
  // The lanes as they are drawn and exported.
  void PlaceLanes();
  // All of the picture into view.
  void Fit();
  // Opens or closes a node; what is at its upper left corner stays where it is, unless not all of
  // what was opened is in view then.
  void Toggle(graph::NodeId id);
  void CloseAll();
  void OpenAll();
  // Cameras and open nodes, and back; ignored where another graph is in view by now.
  std::string Arrangement() const;
  void SetArrangement(std::string_view text);
  // What is drawn as CSV, one box a row.
  std::string Csv() const;
  // The picture, or its lanes, as it looks; after Paint.
  graph::SvgPane ToSvgPane(bool lanes) const;
  // Brings the node that stands for the selection into view, opening what is around it.
  void Reveal(Frame& frame);
  // The next node along a wire (vertical) or next to this one; invalid where there is none.
  graph::NodeId Step(Command direction) const;
  void Center(const graph::Box& box);
  void Focus(graph::NodeId id) { focus_ = chosen_ = id; }
  graph::NodeId focus() const { return focus_; }
  // The instructions that the focus stands for, of one computation; all of a group.
  std::vector<hlo::InstructionId> InstructionsAtFocus() const;
  // The instruction that a node is, or of a group the first in it.
  hlo::InstructionId InstructionOf(graph::NodeId id) const;

  const GraphData* data() const { return data_.get(); }
  const std::shared_ptr<const GraphData>& shared_data() const { return data_; }
  GraphCanvas& canvas() { return canvas_; }
  const GraphCanvas& canvas() const { return canvas_; }
  GraphCanvas& lanes_canvas() { return lanes_canvas_; }
  const graph::LanePicture& lanes() const { return lanes_; }  // as it was last drawn
  // Until the user moves the camera, all of the picture stays in view.
  void StopFitting() { follows_size_ = false; }
  bool fits() const { return follows_size_; }
  // The kernel of a node, that of all instructions in it; kNoKernel where they differ.
  uint32_t KernelOf(graph::NodeId id) const;
  // Which kernel is marked in this picture in the next frame.
  void HighlightKernel(uint32_t kernel) { highlighted_kernel_ = kernel; }
  // The areas of a kernel on the screen; in the lanes, where `in_lanes`.
  RibbonStep AreasOf(uint32_t kernel, bool in_lanes) const;
  // Marks what a search found in the stage, as soon as the background has; empty: nothing.
  void Find(Frame& frame, const std::string& text);
  size_t found() const { return found_.size(); }
  // Null: nothing is searched.
  const std::shared_ptr<const GraphHits>& hits() const { return hits_; }
  // What a recorded run of this stage executed on the host; null: nothing known. After Paint.
  const HostRuns* host_runs() const { return host_runs_.get(); }
  int32_t module() const { return key_.module; }
  int32_t stage() const { return key_.stage; }
  uint64_t generation() const { return generation_; }  // of the document that the graph is of
  const Theme* theme() const { return theme_; }        // of the last Paint
  const std::vector<LegendEntry>& legend() const { return legend_; }
  const graph::Picture& picture() { return data_->graph.picture(); }

 private:
  void DrawCard(Frame& frame, float width, float height);
  void KeepWidth(float width);
  void NoteHovered(const CanvasEvents& events) const;
  // --- graph_pane_style.cc
  BoxStyle StyleOf(graph::NodeId id) const;
  CanvasScene SceneOf(const graph::Picture& picture) const;
  std::string Explain(graph::NodeId id) const;
  uint32_t WeightOf(graph::NodeId id) const;
  // --- graph_pane_lanes.cc
  bool IsNarrow(float width) const;
  void DrawLaneTitles(Frame& frame, ImVec2 corner, float width) const;
  std::string TitleOf(const graph::LaneSpan& lane) const;
  std::string CountIn(const graph::LaneSpan& lane) const;
  // --- graph_pane_kernels.cc
  uint32_t FindKernelOf(graph::NodeId id) const;
  // The nodes that stand for a kernel in a picture.
  std::vector<graph::NodeId> NodesOf(uint32_t kernel, const graph::Picture& picture) const;
  // The boxes of a picture that stand for what ran on the host in a recorded run.
  std::unordered_set<uint32_t> NodesOnHost(const graph::Picture& picture) const;
  // Says in which box the highlighted kernel is, where none bears its name.
  void MarkEnclosing(const graph::Picture& picture, CanvasScene& scene) const;

  Context* context_ = nullptr;  // of the frame that is drawn
  GraphKey key_;
  mutable std::string open_text_;  // of the nodes that are open, while open_version_ holds
  mutable uint64_t open_version_ = UINT64_MAX;
  std::shared_ptr<const GraphData> data_;
  uint64_t generation_ = 0;  // of the context
  uint64_t graph_ = 0;       // grows with each other graph
  std::optional<NodeColors> colors_;
  std::optional<HeatPaint> heat_;
  std::shared_ptr<const HeatFacts> heat_facts_;  // that heat_ is of; null: none
  const Theme* theme_ = nullptr;
  std::string painted_;  // what the colours are of
  uint64_t style_version_ = 0;
  std::vector<LegendEntry> legend_;
  GraphCanvas canvas_, lanes_canvas_;
  LaneList lane_list_;
  bool shows_list_ = false;  // instead of columns, in the last frame
  graph::LanePicture lanes_;
  uint64_t lanes_version_ = 0;
  bool fitted_ = false, follows_size_ = true;
  std::pair<float, float> fitted_size_;
  std::vector<uint32_t> tints_;  // by colour of a kernel
  KernelPaint kernels_;
  std::shared_ptr<const HostRuns> host_runs_;
  bool paints_places_ = false;  // the colours show where things run
  mutable std::unordered_map<uint32_t, uint32_t> kernel_of_group_;  // what FindKernelOf found
  uint32_t highlighted_kernel_ = graph::kNoKernel;
  std::string sought_;
  GraphHitsKey sought_key_;
  uint64_t sought_version_ = 0;
  std::unordered_set<uint32_t> found_;
  std::shared_ptr<const GraphHits> hits_;
  graph::NodeId focus_;
  graph::NodeId chosen_;  // by the user in this picture, not by following the selection
  std::pair<uint64_t, uint32_t> summed_ = {0, 0};  // graph and group that sums_ are of
  graph::GroupSums sums_;
  uint64_t followed_ = UINT64_MAX;
  bool followed_complete_ = false;
  std::unordered_set<uint32_t> highlighted_;
};

// --- graph_export.cc
// What is said above the pictures; `loud` ends the headline in the colour of the host.
struct SheetWords {
  std::string headline, loud, shown;
};

// `panes` as GraphPane::ToSvgPane gives them; `shown_color` of the ribbon, as ImGui has colours.
std::string ToSheet(std::vector<graph::SvgPane> panes, const SheetWords& words, const Theme& theme,
                    uint32_t shown_color, std::span<const LegendEntry> legend);

}  // namespace hloscope::viewer
