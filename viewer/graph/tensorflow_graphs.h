// The Graph screen of a dump with graphs of TensorFlow: one of them, or before and after marking
// side by side.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "viewer/graph/tensorflow_canvas.h"

namespace hloscope::viewer {

class TensorFlowGraphs {
 public:
  // True where they are shown in place of the graphs of modules: there is no module, or one of
  // their nodes was selected or they were asked for last.
  bool IsShown(Context& context);
  // Of the dump that IsShown was asked about.
  bool has_any() const { return main_graph_ >= 0; }
  void Choose() { is_chosen_ = true; }

  void Draw(Frame& frame);
  bool Run(Command command, Frame& frame);
  Result<std::string> Export(ExportFormat format) const;
  std::string HighlightedItems() const;

 private:
  struct Side {
    int32_t file = -1;
    bool of_second = false;
    bool operator==(const Side&) const = default;
  };
  // Which graphs are drawn, from left to right: one or two.
  std::vector<Side> SidesOf(Context& context);
  int32_t ShownFile() const { return file_ >= 0 ? file_ : main_graph_; }
  const Side& BesideOf(Context& context);
  void DrawToolbar(Frame& frame);
  void DrawHead(Frame& frame, const graph::TensorFlowPane& pane) const;
  void Show(Context& context, size_t which, const Side& side);
  void DrawSide(Frame& frame, size_t which, const Side& side);
  void Choose(Frame& frame, size_t which, graph::NodeId id);
  OpenScopes& OpenIn(const Side& side) { return open_[{side.file, side.of_second}]; }
  void Toggle(size_t which, graph::NodeId id);
  // The scope around what is selected; false: there is none.
  bool CloseAround(size_t which);

  std::array<TensorFlowCanvas, 2> canvases_;
  std::map<std::pair<int32_t, bool>, OpenScopes> open_;  // by file and dump
  // What the canvases show.
  std::array<OpenScopes, 2> shown_open_;
  std::array<Side, 2> shown_side_;
  std::vector<Side> sides_;
  size_t active_ = 0;
  uint64_t generation_ = 0, version_ = 0;
  std::vector<int32_t> files_;                        // the graphs of the dump
  int32_t main_graph_ = -1;                           // of them; -1: there is none
  int32_t file_ = -1;                                 // that is shown; -1: the main one
  Side beside_;                                       // of the one that is shown, …
  std::pair<int32_t, uint64_t> beside_of_ = {-1, 0};  // … and the reading of the second dump
  bool is_chosen_ = false, shows_beside_ = true, minimap_ = true, wants_find_ = false;
  std::string sought_;
};

}  // namespace hloscope::viewer
