// MemoryMap: live bytes over program order and, below them, the values of a memory plan as boxes of
// offset and live range, with one camera. Lengths are pixels of the screen.
#pragma once

#include <imgui/imgui.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/facts/heat.h"
#include "viewer/facts/memory/memory_plan.h"
#include "viewer/model/timeline_camera.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

Color ColorOfKind(AllocationKind kind);

class MemoryMap {
 public:
  // Another plan of a module: all of it is in view.
  void Show(std::shared_ptr<const MemoryPlan> plan, std::shared_ptr<const dump::BufferTable> table,
            int32_t module);
  const std::shared_ptr<const MemoryPlan>& plan() const { return plan_; }
  const std::shared_ptr<const dump::BufferTable>& table() const { return table_; }
  int32_t module() const { return module_; }
  // The heat that boxes are filled by; null where it is off.
  void FindHeat(Context& context);
  const HeatFacts* heat() const { return heat_.get(); }
  // In the room that is left; input first.
  void Draw(Frame& frame);
  void FitAll();
  // False: nothing here is selected.
  bool FitSelection(Context& context);
  // The camera, and back; ignored where another plan is in view by now.
  std::string Arrangement() const;
  void SetArrangement(std::string_view arrangement);
  // Of a point of the program: the name of its instruction.
  std::string NameAt(int32_t point) const;
  // Whether a value of the table is selected, or belongs to what is.
  bool IsHighlighted(Context& context, int32_t value) const;

 private:
  // Logical pixels.
  static constexpr float kGutter = 180, kAxisHeight = 20, kCurve = 110;
  // One point of the program in units of the camera, which counts to a thousandth of it.
  static constexpr int64_t kPoint = 1000;

  uint32_t FillOf(const Theme& theme, const MemoryBox& box, bool is_small) const;
  void Place(Frame& frame);
  float XOf(double point) const;
  float YOf(int64_t byte) const;
  int32_t PointAt(float x) const;
  void Handle(Frame& frame);
  void HandleKeys(Context& context);
  void MarkPoint(Context& context, int32_t point) const;
  int32_t Marked(Context& context) const;
  const MemoryBox* BoxUnder() const;
  void Click(Context& context) const;
  void DrawBoxes(Frame& frame) const;
  void DrawPlaces(Frame& frame, ImDrawList& list) const;
  void DrawBox(Frame& frame, const MemoryBox& box, ImDrawList& list) const;
  void DrawNames(Frame& frame, ImDrawList& list) const;
  void DrawStripes(Frame& frame, Color color, ImVec2 low, ImVec2 high, ImDrawList& list) const;
  // --- memory_curve.cc
  void DrawCurve(Frame& frame) const;
  std::string PointText(int32_t point) const;
  void DrawPoint(Frame& frame) const;
  void DrawHover(Frame& frame) const;

  std::shared_ptr<const MemoryPlan> plan_;
  std::shared_ptr<const dump::BufferTable> table_;
  int32_t module_ = -1;
  std::shared_ptr<const HeatFacts> heat_;  // null: off
  std::vector<double> places_;             // by value, on its scale
  TimelineCamera points_, bytes_;
  float scale_ = 1, left_ = 0, curve_top_ = 0, curve_ = 0, top_ = 0, width_ = 0, height_ = 0;
  bool hovered_ = false, held_ = false;
};

}  // namespace hloscope::viewer
