// A picture of a graph on an ImGui draw list: camera, level of detail, pointer.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/analysis/place/placement.h"
#include "core/graph/kernel_map.h"
#include "core/graph/labels.h"
#include "core/graph/looks.h"
#include "core/graph/picture.h"
#include "core/graph/spatial_index.h"
#include "viewer/model/verdict_table.h"
#include "viewer/widgets/view.h"

struct ImDrawList;
struct ImVec2;

namespace hloscope::viewer {

// What a box looks like beyond its text.
struct BoxStyle {
  uint32_t color = 0;  // of the stripe, or of the whole box where it is small; 0xAABBGGRR
  uint32_t fill = 0;   // of all of the box, opaque, and what is written on it: its heat; 0: none
  uint32_t ink = 0;
  analysis::Place place = analysis::Place::kUndecided;
  const analysis::Transfer* transfer = nullptr;
  uint32_t kernel = graph::kNoKernel;             // that all of the box is in
  uint32_t tint = 0;                              // the colour of that kernel; 0: in none
  uint32_t hull = 0;                              // the same where the kernel has several boxes
  uint32_t weight = 1;                            // how much is in it: whose name is shown first
  std::optional<Verdict> verdict = std::nullopt;  // whose mark the box bears
  // Of what a pass changed: its outline in `color`, and a sign on it. Empty: by its place.
  std::optional<graph::Outline> change = std::nullopt;
  std::string_view sign = {};
  std::string_view note = {};  // said above the box at every zoom, in the colour of the host
  bool is_quiet = false;       // its text is secondary
};

// How a wire looks that a pass made or took away.
struct WireStyle {
  uint32_t color = 0;  // 0: as any other
  bool is_dashed = false;
};

// Written on a wire, around a point of the picture; empty: nothing.
struct WireLabel {
  std::string text;
  graph::Point at;
  uint32_t color = 0;
};

// A broad area behind all else, titled at its top: the lane of a device.
struct CanvasBand {
  graph::Area area;
  std::string title;
};

inline constexpr size_t kMinColumns = 6;  // of text that is cut

// What a canvas asks of the view around it.
struct CanvasScene {
  // What nodes are: those of a tree, or where that is null, what the two functions say.
  const graph::Tree* tree = nullptr;
  std::function<graph::NodeText(graph::NodeId)> text;
  std::function<bool(graph::NodeId)> is_group;
  const graph::Picture* picture = nullptr;
  std::span<const graph::Box> ghosts = {};        // faint outlines of what is not in the picture
  std::function<WireStyle(uint32_t)> wire_style;  // by wire; may be empty
  std::function<WireLabel(uint32_t)> wire_label;  // likewise
  std::span<const CanvasBand> bands = {};
  // Lines below the two of a box, in its colour: boxes are then as high as their lines need, and
  // text is as large as the zoom says. May be empty.
  std::function<std::vector<std::string>(graph::NodeId)> lines;
  uint64_t graph = 0;    // another number for another graph
  uint64_t version = 0;  // of the picture and of the style
  std::function<BoxStyle(graph::NodeId)> style;
  std::function<std::string(graph::NodeId)> explain;  // shown where the pointer rests
  std::function<const analysis::Transfer*(graph::NodeId)> transfer;
  graph::NodeId selected;
  const std::unordered_set<uint32_t>* highlighted = nullptr;  // by NodeId
  const std::unordered_set<uint32_t>* found = nullptr;        // hits of a search, by NodeId
  uint32_t highlighted_kernel = graph::kNoKernel;
  // A closed box that contains the highlighted kernel under another name, and its label; or
  // invalid.
  graph::NodeId enclosing;
  std::string enclosing_note;

  graph::NodeText TextOf(graph::NodeId id) const {
    return tree == nullptr ? text(id) : graph::TextOf(*tree, id);
  }
  std::string Title(graph::NodeId id) const {
    return tree == nullptr ? text(id).title : tree->Title(id);
  }
  // What is written on a box that has room for so many columns only.
  std::string TitleWithin(graph::NodeId id, const graph::NodeText& whole, size_t columns) const {
    if (tree != nullptr) return graph::TitleWithin(*tree, id, whole, columns);
    return columns >= kMinColumns ? graph::Elide(whole.title, columns) : std::string();
  }
  bool IsGroup(graph::NodeId id) const {
    return tree == nullptr ? is_group(id) : (*tree)[id].kind != graph::NodeKind::kInstruction;
  }
};

struct CanvasEvents {
  graph::NodeId hovered, clicked, opened;  // double-clicked
  graph::NodeId jump;                      // the node that a label of a jump leads to
  bool moved = false;                      // the camera, by the user
};

class GraphCanvas {
 public:
  // Middle of the canvas in the picture, and logical pixels of the screen for one of the picture.
  float x = 0, y = 0, zoom = 1;
  // The horizontal zoom is this many times the vertical one.
  float stretch = 1;
  // Pictures of panes are stretched to their width; others keep their proportions.
  bool fills_width = false;

  // Draws into the rest of the current window and handles the pointer.
  CanvasEvents Draw(Frame& frame, const char* id, ImVec2 size, const CanvasScene& scene,
                    bool minimap);
  // All of the picture in the width of the canvas; in its height as far as text can be read then,
  // else from its top.
  void Fit(const graph::Picture& picture);
  // How high a picture of that width has to be, so that Fit fills the height of the canvas.
  float HeightToFill(float wide) const;
  // Brings that part of a picture into view, no larger than it is.
  void FitArea(const graph::Area& area);
  // The same of a box where not all of it is in view, no larger than it is drawn.
  void FitBox(const graph::Box& box);
  void Center(const graph::Box& box);
  // The same without leaving columns that are in view.
  void Bring(const graph::Box& box, const graph::Picture& picture);
  // True if all of it is.
  bool ShowsAll(const graph::Box& box) const;
  // True if a good part of the box is on the canvas as it was last drawn.
  bool Shows(const graph::Box& box) const;
  void Zoom(float factor);
  graph::NodeId NearestToMiddle(const graph::Picture& picture) const;
  // The area of a box on the screen, in pixels, cut to the canvas; nullopt where it is not on it.
  std::optional<graph::Area> OnScreen(const graph::Box& box) const;
  // Size of the last frame, in logical pixels.
  float width() const { return width_; }
  float height() const { return height_; }

 private:
  struct Painter;
  void FillWidth(const graph::Area& area, float most);
  float MostZoom(float wide) const;
  void Prepare(const CanvasScene& scene);
  void DropSingleHulls(const graph::Picture& picture);
  void HandlePointer(Frame& frame, const CanvasScene& scene, CanvasEvents& events);
  graph::NodeId HitTest(const graph::Picture& picture, float px, float py) const;
  const graph::NodeText& TextOf(const CanvasScene& scene, graph::NodeId id);
  void DrawMinimap(Frame& frame, const CanvasScene& scene, CanvasEvents& events);

  float width_ = 800, height_ = 600;      // logical pixels
  float left_ = 0, top_ = 0, scale_ = 1;  // of the canvas on the screen, pixels
  uint64_t graph_ = 0, version_ = UINT64_MAX;
  const graph::Picture* indexed_ = nullptr;
  graph::SpatialIndex index_;
  std::vector<BoxStyle> styles_;
  std::unordered_map<uint32_t, graph::NodeText> texts_;
  std::unordered_map<uint32_t, std::vector<graph::NodeId>> leaving_, arriving_;  // jumps
  graph::NodeId hovered_;
};

}  // namespace hloscope::viewer
