// The curve of live bytes above the map, the point that is marked on it, and what is under the
// pointer.
#include <fmt/format.h>

#include <algorithm>

#include "viewer/views/memory_map.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {

void MemoryMap::DrawCurve(Frame& frame) const {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float bottom = curve_top_ + curve_;
  list.AddRectFilled(ImVec2(left_, curve_top_), ImVec2(left_ + width_, bottom),
                     frame.theme[Color::kCanvas]);
  const double most = std::max(static_cast<double>(plan_->peak), 1.0) * 1.08;
  list.PushClipRect(ImVec2(left_, curve_top_), ImVec2(left_ + width_, bottom), true);
  // The most of every column of pixels.
  for (float x = left_; x < left_ + width_; x += 1) {
    const int32_t first = PointAt(x), last = std::max(first, PointAt(x + 1) - 1);
    int64_t live = 0;
    for (int32_t p = first; p <= last; ++p)
      live = std::max(live, plan_->live[static_cast<size_t>(p)]);
    const bool is_outside =
        points_.TimeAt(x - left_, width_) < 0 ||
        points_.TimeAt(x - left_, width_) >= static_cast<double>(plan_->live.size()) * kPoint;
    if (is_outside) continue;
    const float y = bottom - static_cast<float>(static_cast<double>(live) / most) * curve_;
    list.AddRectFilled(ImVec2(x, y), ImVec2(x + 1, bottom),
                       frame.theme.With(Color::kContraction, 0.45F));
    list.AddRectFilled(ImVec2(x, y), ImVec2(x + 1, y + 1.5F * scale_),
                       frame.theme[Color::kContraction]);
  }
  list.PopClipRect();
  const float x = left_ - (kGutter - 6) * scale_;
  list.AddText(ImVec2(x, curve_top_), frame.theme[Color::kText], "live bytes");
  list.AddText(ImVec2(x, curve_top_ + 18 * scale_), frame.theme[Color::kTextSecondary],
               fmt::format("peak {}", BytesText(plan_->peak)).c_str());
}

// The marked point, its instruction and bytes; and the peak.
std::string MemoryMap::PointText(int32_t point) const {
  return fmt::format("{}point {} of {}: {}, {} live",
                     point == plan_->peak_point ? "the peak, " : "", CountText(point),
                     CountText(static_cast<int64_t>(plan_->live.size())), NameAt(point),
                     BytesText(plan_->live[static_cast<size_t>(point)]));
}

void MemoryMap::DrawPoint(Frame& frame) const {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const int32_t point = Marked(frame.context);
  if (point < 0) return;
  const float axis = curve_top_ - kAxisHeight * scale_;
  auto line = [&](int32_t at, Color color) {
    const float x = (XOf(at) + XOf(at + 1)) / 2;
    if (x < left_ || x > left_ + width_) return;
    list.AddLine(ImVec2(x, curve_top_), ImVec2(x, top_ + height_), frame.theme.With(color, 0.9F),
                 1.5F * scale_);
  };
  line(plan_->peak_point, Color::kWarning);
  if (point != plan_->peak_point) line(point, Color::kAccent);
  const Color color = point == plan_->peak_point ? Color::kWarning : Color::kAccent;
  list.AddText(ImVec2(left_ + 2 * scale_, axis + 1 * scale_), frame.theme[color],
               FittedText(PointText(point), width_ - 4 * scale_).c_str());
}

void MemoryMap::DrawHover(Frame& frame) const {
  if (!hovered_ || held_) return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (mouse.y < curve_top_ && plan_->has_lives) {
    if (const int32_t point = Marked(frame.context); point >= 0) Help(PointText(point));
    return;
  }
  if (mouse.y < top_ && mouse.x >= left_ && plan_->has_lives) {
    const auto p = static_cast<size_t>(PointAt(mouse.x));
    Help(fmt::format("{}: {} live\nclick to mark this point", NameAt(static_cast<int32_t>(p)),
                     BytesText(plan_->live[p])));
    return;
  }
  const MemoryBox* box = BoxUnder();
  if (box == nullptr) return;
  const dump::BufferValue& value = table_->values[static_cast<size_t>(box->value)];
  ImGui::BeginTooltip();
  ImGui::PushFont(frame.strong, 0);
  Label(SafeText(value.instruction.empty() ? "value of an unknown instruction" : value.instruction,
                 80));
  ImGui::PopFont();
  Label(fmt::format("{} {}", BytesText(value.size), SafeText(value.shape, 80)));
  Label(frame.theme, Color::kTextSecondary,
        fmt::format("{}, allocation {}, offset {}", ToString(box->kind), value.allocation,
                    value.offset));
  auto name = [&](int32_t p) { return NameAt(p); };
  Label(frame.theme, Color::kTextSecondary,
        fmt::format("live range: {} ({}) to {} ({})", name(box->first), box->first, name(box->last),
                    box->last));
  if (box->aliases) Label(frame.theme, Color::kTextSecondary, "aliases another live value");
  if (box->shares_place)
    Label(frame.theme, Color::kTextSecondary, "its memory is reused by another value");
  ImGui::EndTooltip();
}

}  // namespace hloscope::viewer
