// The screen Graph and devices: what you wrote, what was fused and where it runs, side by side, one
// selection and linked cameras.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/overview.h"
#include "viewer/graph/contents_pane.h"
#include "viewer/graph/graph_kernels.h"
#include "viewer/graph/graph_look.h"
#include "viewer/graph/graph_pane.h"
#include "viewer/graph/tensorflow_graphs.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

class GraphView : public View {
 public:
  void Draw(Frame& frame) override;
  bool Run(Command command, Frame& frame) override;
  std::string State() const override { return look_.Text(); }
  void SetState(std::string_view state) override { look_.SetText(state); }
  std::string Arrangement() const override;
  void SetArrangement(std::string_view arrangement) override;
  Result<std::string> Export(ExportFormat format, Context& context) const override;
  std::string HighlightedItems(Context& context) const override;

 private:
  bool HasSource() const { return stage_ > 0; }
  void ShowWhole() { part_ = source_part_ = GraphPart(); }
  // The program that the rows are of: what was written, as far as it is known.
  GraphPane& Program() { return HasSource() ? source_ : fusions_; }
  static int32_t ShownStage(const Context& context, int32_t module);
  void FindKernels(Frame& frame);
  void FindHeat(Frame& frame);
  KernelPaint PaintOf(size_t which) const;
  void LookFirst(Frame& frame);
  uint32_t KernelInView(Frame& frame) const;
  void DrawRibbonOver(Frame& frame);
  bool IsLarge() const;
  bool ShowsRows() const;
  bool ReadyToDraw(Frame& frame);
  void Prepare(Frame& frame, GraphPane& pane, size_t which);
  void DrawRows(Frame& frame, ImVec2 room);
  float ListWidth(const Frame& frame) const;
  void DrawPanes(Frame& frame, float legend);
  void DrawSplitter(size_t left, size_t right, float gap, float height, float pixels);
  void DrawPane(Frame& frame, size_t which);
  void DrawTitle(Frame& frame, GraphPane& pane, size_t which) const;
  std::shared_ptr<const Contents> LaneContents(Context& context) const;
  const std::vector<LegendEntry>& Legend() const;
  // --- graph_view_words.cc
  void DrawToolbar(Frame& frame);
  void DrawMore(Frame& frame);
  void DrawPartButtons(Frame& frame, bool side_by_side);
  void Summary(Frame& frame);
  std::string TitleOf(const Context& context, size_t which) const;
  void DrawHeadline(Frame& frame);
  void DrawMemory(Frame& frame) const;
  SheetWords Words() const;
  // --- graph_view_commands.cc
  GraphPane& Active();
  bool RunOnPart(Command command, Frame& frame);
  bool RunOnLook(Command command);
  bool RunOnFolds(Command command);
  void Act(Frame& frame, const ContentEvents& events);
  void DrawScope(graph::NodeId scope);
  bool RunOnRows(Command command, Frame& frame);
  void Choose(Frame& frame, GraphPane& pane, graph::NodeId id, bool bring);
  void LinkLanes();
  void LinkCameras();
  void Across(GraphPane& from, GraphPane& to, bool backwards);

  TensorFlowGraphs tensorflow_;
  bool shows_tensorflow_ = false;  // in the last frame
  GraphPane source_, fusions_;
  uint64_t generation_ = 0;
  int32_t module_ = -1, stage_ = -1;
  GraphPart part_, source_part_;
  ContentsPane rows_;
  hlo::InstructionId path_from_;
  GraphLook look_;
  bool devices_linked_ = false, legend_shown_ = true;
  size_t active_ = kFusions;
  std::optional<size_t> moved_;
  const GraphData* first_frame_of_ = nullptr;
  std::shared_ptr<const StageKernels> kernels_;
  std::shared_ptr<const graph::Overview> overview_;
  std::shared_ptr<const SourceKernels> sources_;
  uint32_t shown_kernel_ = graph::kNoKernel, hovered_kernel_ = graph::kNoKernel;
  uint32_t hovered_next_ = graph::kNoKernel;
  std::shared_ptr<const HeatFacts> heat_list_, heat_;  // of this frame
  float list_width_ = 0;
  std::string sought_;
  bool wants_find_ = false;
};

}  // namespace hloscope::viewer
