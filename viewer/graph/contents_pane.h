// The contents of a program as rows that fold in place: its scopes in program order, what each
// became, and what that takes where it runs.
#pragma once

#include <imgui/imgui.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "viewer/graph/contents.h"
#include "viewer/graph/graph_pane.h"

namespace hloscope::viewer {

struct ContentEvents {
  graph::NodeId chosen;                // a row
  graph::NodeId drawn;                 // a scope that is to be drawn as a graph
  uint32_t kernel = graph::kNoKernel;  // that was chosen
  uint32_t hovered_kernel = graph::kNoKernel;
};
struct ContentTitles {
  std::string wrote, became;
};

class ContentsPane {
 public:
  // The groups of `pane` as rows. `contents` null: nothing is counted yet.
  ContentEvents Draw(Frame& frame, GraphPane& pane, const std::shared_ptr<const Contents>& contents,
                     const KernelPaint& paint, uint32_t shown_kernel, const ContentTitles& titles,
                     ImVec2 room);
  // Up, Down, Left (close, or the scope around), Right (open); else as a graph.
  ContentEvents Step(Command command);
  // The next selection is nobody's choice: what is in view stays in view.
  void StayOnce() { stays_ = true; }
  void CloseAll();
  void OpenAll();
  // Rows of a scope in program order, or the largest first: by what the bars show, or by the peak.
  enum class Order : uint8_t { kProgram, kAmount, kPeak };
  void SwitchOrder(Order order);
  void SwitchOrder() { SwitchOrder(Order::kAmount); }
  bool is_largest_first() const { return order_ == Order::kAmount; }
  // The rows that are there, also those that are not in view.
  std::string Csv() const;
  size_t rows() const { return rows_.size(); }
  const std::vector<LegendEntry>& legend() const { return legend_; }

 private:
  struct Row {
    graph::NodeId node;  // invalid: a kernel that was not traced, or their heading
    uint32_t kernel = graph::kNoKernel;
    int depth = 0;
  };
  struct Columns {
    float left = 0, became = 0, runs = 0, peak = 0,
          right = 0;  // where they begin on the screen, and the end
  };
  // --- contents_rows.cc
  void FillRows();
  void FindHits();
  void OpenWhole();
  void OpenLargest(size_t rows, int depth);
  void OpenToFill(size_t rows);
  void Toggle(const Row& row);
  bool CanOpen(const Row& row) const;
  bool IsOpen(const Row& row) const;
  graph::NodeId RowOf(hlo::InstructionId id) const;
  size_t FindRow(graph::NodeId node) const;
  ContentSums SumsOf(const Row& row) const;
  uint32_t KernelOf(const Row& row, const ContentSums& sums) const;
  std::string NameOf(const Row& row) const;
  // --- contents_pane.cc
  void OpenFirst(float room);
  std::string FiguresOf(const ContentSums& sums) const;
  void DrawHead(Frame& frame, const Columns& columns, const ContentTitles& titles);
  void DrawRow(Frame& frame, size_t index, const Columns& columns, ContentEvents& events);
  void DrawName(Frame& frame, const Row& row, const ContentSums& sums, ImVec2 at, float end);
  void DrawBecame(Frame& frame, const ContentSums& sums, uint32_t kernel, ImVec2 at, float end);
  void DrawBar(Frame& frame, const ContentSums& sums, ImVec2 at, float end);
  void DrawPeak(Frame& frame, const ContentSums& sums, ImVec2 at, float end);
  void DrawRibbon(Frame& frame, const Columns& columns, float first) const;  // its middle
  void DrawText(Frame& frame, ImVec2 at, float end, Color color, const std::string& text,
                bool is_right);
  void DrawText(Frame& frame, ImVec2 at, float end, uint32_t color, const std::string& text,
                bool is_right);
  void DrawWhole(Frame& frame, ImVec2 at, float end, Color color, const std::string& text,
                 const std::string& brief);

  std::vector<Row> rows_;
  std::shared_ptr<const GraphHits> hits_;
  std::unordered_set<uint32_t> found_;  // rows that hits are in
  bool stale_ = true, stays_ = false;
  std::shared_ptr<const GraphData> data_;     // that the rows are of
  std::shared_ptr<const Contents> contents_;  // null: nothing is counted
  KernelPaint paint_;
  uint32_t shown_kernel_ = graph::kNoKernel;
  std::vector<LegendEntry> legend_;
  std::vector<bool> open_;  // by node
  bool lists_unassigned_ = false;
  Order order_ = Order::kProgram;
  graph::NodeId focus_;
  hlo::InstructionId followed_;  // the selection that focus_ went to
  // Of a row, in logical pixels: at least, and as it is drawn.
  float least_row_ = 24, row_height_ = 24;
  double most_ = 0;  // the amount of the longest bar
  std::string cut_;  // what the text under the pointer would be; empty: it is whole
};

}  // namespace hloscope::viewer
