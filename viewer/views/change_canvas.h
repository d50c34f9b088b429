// ChangeCanvas: the two pictures of a pass with one camera.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/graph/change_picture.h"
#include "viewer/commands/commands.h"
#include "viewer/graph/graph_canvas.h"
#include "viewer/graph/graph_colors.h"
#include "viewer/graph/heat_paint.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// What is drawn, made in the background.
struct ChangeDrawing {
  std::shared_ptr<const graph::ChangeGraph> graph;
  graph::ChangePicture picture;
};

class ChangeCanvas {
 public:
  // Another drawing: what is in the middle of the camera stays there where both have it and the
  // user chose the camera, else what changed is brought into view.
  void Show(std::shared_ptr<const ChangeDrawing> drawing);
  const ChangeDrawing* drawing() const { return drawing_.get(); }
  // Draws one side; the pointer of either moves the camera of both.
  CanvasEvents Draw(Frame& frame, graph::Side side, float width, float height, bool minimap);
  void EndFrame();
  // Moves the camera; false: it is no command for that.
  bool Run(Command command);

  // Fills the boxes of both sides; null: by what changed.
  using Heat = std::array<std::shared_ptr<const HeatPaint>, 2>;
  void SetHeat(const Heat& heat) {
    if (heat != heat_) ++style_version_;
    heat_ = heat;
  }
  // Of either side; null: off.
  const HeatPaint* heat() const { return heat_[heat_[0] == nullptr ? 1 : 0].get(); }
  void Highlight(std::unordered_set<uint32_t> highlighted, graph::NodeId selected);
  graph::NodeId selected() const { return selected_; }
  void Reveal(graph::NodeId id);
  void FitChanges() {
    wants_fit_ = true;
    is_moved_ = false;
  }
  // The user did not choose the camera: it goes where the changes are.
  bool is_fitted() const { return !is_moved_; }
  void FitAll();
  void Zoom(float factor);
  void SetZoom(float zoom);
  // Where the arrow keys lead on that side; invalid: nowhere.
  graph::NodeId Step(graph::Side side, Command direction) const;
  // Middle and zoom.
  std::array<float, 3> camera() const { return {canvas(0).x, canvas(0).y, canvas(0).zoom}; }
  void SetCamera(std::array<float, 3> camera);
  // What a box is, in sentences.
  std::string Explain(graph::NodeId id) const;

 private:
  const GraphCanvas& canvas(size_t k) const { return canvases_[k]; }
  CanvasScene SceneOf(graph::Side side) const;
  BoxStyle StyleOf(graph::Side side, graph::NodeId id, const Theme& theme) const;
  bool IsClosedFrame(graph::NodeId id) const;
  void KeepMiddle(const ChangeDrawing& earlier);
  void FitNow();
  void LookWhereMostChanged();
  void Link(size_t from);

  std::shared_ptr<const ChangeDrawing> drawing_;
  Heat heat_;
  std::array<GraphCanvas, 2> canvases_;
  std::unordered_set<uint32_t> highlighted_, highlighted_now_;
  graph::NodeId selected_, hovered_, hovered_next_;
  const Theme* theme_ = nullptr;
  bool is_dark_ = false;
  uint64_t graph_ = 0, style_version_ = 0;
  bool is_moved_ = false;  // the camera, by the user
  bool wants_fit_ = false;
};

}  // namespace hloscope::viewer
