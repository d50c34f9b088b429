// LaneList: what runs where as a list, for panes that are too narrow for a column each: the lanes
// below one another, what is in each with its full name and a bar of time or bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/lanes.h"
#include "viewer/graph/contents.h"
#include "viewer/graph/graph_canvas.h"

namespace hloscope::viewer {

class LaneList {
 public:
  // "kernels 81" of a lane.
  using Title = std::function<std::string(const graph::LaneSpan& lane)>;
  // `contents` of the stage itself gives the bars; null: there are none. `size` in pixels.
  CanvasEvents Draw(Frame& frame, const char* id, ImVec2 size, const graph::LanePicture& lanes,
                    const CanvasScene& scene, const std::shared_ptr<const Contents>& contents,
                    const Title& title);
  // Where a node stood when the list was last drawn, in pixels; nullopt: it was not in view.
  std::optional<graph::Area> OnScreen(graph::NodeId node) const;

 private:
  struct Row {
    const graph::LaneSpan* lane = nullptr;  // of a heading; null: a box
    graph::NodeId node;
    uint32_t count = 0;  // of a group's instructions, those in this lane; 0: all
    graph::Lane in = graph::Lane::kKernels;
    BoxStyle style;
    double amount = 0;
    int64_t holds = 0;  // kernels in this lane
  };
  void Fill(const graph::LanePicture& lanes, const CanvasScene& scene,
            const std::shared_ptr<const Contents>& contents);
  void DrawHeading(Frame& frame, const Row& row, ImVec2 at, float width, const Title& title) const;
  void DrawRow(Frame& frame, const Row& row, ImVec2 at, float width,
               const CanvasScene& scene) const;
  float DrawValue(Frame& frame, const Row& row, ImVec2 at, float width,
                  const CanvasScene& scene) const;

  std::vector<Row> rows_;
  uint64_t graph_ = 0, version_ = UINT64_MAX;
  std::shared_ptr<const Contents> contents_;  // that rows_ are of
  double most_ = 0;                           // the longest bar
  graph::NodeId followed_;
  std::unordered_map<uint32_t, graph::Area> shown_;  // by node, of the last frame
};

}  // namespace hloscope::viewer
