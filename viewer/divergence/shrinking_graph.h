// ShrinkingGraph: the graph of a module that becomes smaller, laid out again in the background
// whenever it does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "viewer/graph/graph_canvas.h"
#include "viewer/graph/graph_colors.h"

namespace hloscope::viewer {

class ShrinkingGraph {
 public:
  // Draws `module`, or what came before it while it is being laid out. `values` says what is known
  // of an instruction of it, where the pointer rests.
  using Values = std::function<std::string(const hlo::Module&, hlo::InstructionId)>;
  void Draw(Frame& frame, const std::shared_ptr<const hlo::Module>& module, float width,
            float height, Values values);
  // Brings everything into view, now and after each change.
  void Fit() { is_moved_ = false; }
  // "9 boxes"; empty: nothing is drawn yet.
  std::string Summary() const;

 private:
  void Want(const std::shared_ptr<const hlo::Module>& module);
  const Pending<GraphData>& LayOut(Context& context) const;
  void Take(const Pending<GraphData>& made, const Theme& theme);
  void Toggle(graph::NodeId id);
  CanvasScene Scene(const graph::Picture& picture) const;

  std::shared_ptr<const hlo::Module> wanted_;  // that is laid out, or was
  uint64_t number_ = 0;                        // of wanted_
  graph::Anchors anchors_;                     // previous positions
  std::shared_ptr<const GraphData> shown_;
  std::optional<NodeColors> colors_;
  bool is_dark_ = false;  // the theme that colors_ are of
  uint64_t graph_ = 0, style_version_ = 0;
  bool is_moved_ = false;  // the camera, by the user
  GraphCanvas canvas_;
  Values values_;
  std::unordered_set<uint32_t> highlighted_;
};

}  // namespace hloscope::viewer
