// The map of a memory plan: places grow downwards, as lanes do.
#include "viewer/views/memory_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "viewer/graph/heat_paint.h"
#include "viewer/model/document.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/widgets/heat_ramp.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
Color ColorOfKind(AllocationKind kind) {
  switch (kind) {
    case AllocationKind::kTemporary:
      return Color::kContraction;
    case AllocationKind::kParameter:
      return Color::kParameter;
    case AllocationKind::kResult:
      return Color::kMovement;
    case AllocationKind::kConstant:
      return Color::kFusion;
    case AllocationKind::kThreadLocal:
      return Color::kControl;
  }
  return Color::kFusion;
}

void MemoryMap::Show(std::shared_ptr<const MemoryPlan> plan,
                     std::shared_ptr<const dump::BufferTable> table, int32_t module) {
  plan_ = std::move(plan);
  table_ = std::move(table);
  module_ = module;
  points_.SetWhole({0, static_cast<int64_t>(plan_->live.size()) * kPoint});
  bytes_.SetWhole({0, std::max<int64_t>(std::min(plan_->height, int64_t{1} << 59), 1)});
}

void MemoryMap::Draw(Frame& frame) {
  Place(frame);
  if (width_ < 60 * scale_ || height_ < 40 * scale_) return;
  Handle(frame);
  DrawBoxes(frame);
  if (plan_->has_lives) DrawCurve(frame);
  if (plan_->has_lives) DrawPoint(frame);
  DrawHover(frame);
}

void MemoryMap::FitAll() {
  points_.FitAll();
  bytes_.FitAll();
}

std::string MemoryMap::Arrangement() const {
  return fmt::format("{} {},{}", static_cast<const void*>(plan_.get()), points_.Text(),
                     bytes_.Text());
}

void MemoryMap::SetArrangement(std::string_view arrangement) {
  const std::string mine = fmt::format("{} ", static_cast<const void*>(plan_.get()));
  if (plan_ == nullptr || !arrangement.starts_with(mine)) return;
  const std::string_view both = arrangement.substr(mine.size());
  const size_t comma = std::min(both.find(','), both.size() - 1);
  points_.SetText(both.substr(0, comma));
  bytes_.SetText(both.substr(comma + 1));
}

// The place on the scale of the heat of each value; none where heat is off.
void MemoryMap::FindHeat(Context& context) {
  std::shared_ptr<const HeatFacts> facts = HeatInView(context);
  if (facts != nullptr && (!facts->missing.empty() || facts->module != module_)) facts = nullptr;
  if (facts == heat_ && places_.size() == (facts == nullptr ? 0 : table_->values.size())) return;
  heat_ = std::move(facts);
  places_.clear();
  if (heat_ == nullptr) return;
  std::unordered_map<std::string_view, double> by_name;
  for (uint32_t i = 0; i < heat_->values.size(); ++i) {
    if (heat_->values[i] > 0)
      by_name.emplace(heat_->of->name(hlo::InstructionId(i)), heat_->PlaceOf(heat_->values[i]));
  }
  for (const dump::BufferValue& value : table_->values) {
    const auto found = by_name.find(value.instruction);
    places_.push_back(found == by_name.end() ? 0 : found->second);
  }
}

// Of a box: by its heat, else by what it is for.
uint32_t MemoryMap::FillOf(const Theme& theme, const MemoryBox& box, bool is_small) const {
  if (heat_ == nullptr) return theme.With(ColorOfKind(box.kind), is_small ? 0.9F : 0.4F);
  const double place = places_[static_cast<size_t>(box.value)];
  return place > 0 ? HeatColor(theme, place) : theme[Color::kPanel];
}

void MemoryMap::Place(Frame& frame) {
  scale_ = frame.scale;
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  left_ = at.x + kGutter * scale_;
  curve_top_ = at.y + kAxisHeight * scale_;
  curve_ = plan_->has_lives ? std::min(kCurve * scale_, room.y * 0.35F) : 0;
  top_ = curve_top_ + curve_ + 8 * scale_;
  width_ = room.x - kGutter * scale_;
  height_ = at.y + room.y - top_;
  ImGui::InvisibleButton("##map", ImVec2(std::max(room.x, 1.0F), std::max(room.y, 1.0F)));
  ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
  hovered_ = ImGui::IsItemHovered();
  held_ = ImGui::IsItemActive();
}

// The first row is at the top: places grow downwards, as lanes do.
float MemoryMap::XOf(double point) const {
  const double x = points_.XOf(point * kPoint, width_);
  return left_ + static_cast<float>(std::clamp(x, -1e4, 1e5));
}

float MemoryMap::YOf(int64_t byte) const {
  const double y = bytes_.XOf(static_cast<double>(byte), height_);
  return top_ + static_cast<float>(std::clamp(y, -1e4, 1e5));
}

int32_t MemoryMap::PointAt(float x) const {
  const double point = std::floor(points_.TimeAt(x - left_, width_) / kPoint);
  return static_cast<int32_t>(std::clamp(point, 0.0, static_cast<double>(plan_->live.size()) - 1));
}

std::string MemoryMap::NameAt(int32_t point) const {
  const bool exists = point >= 0 && static_cast<size_t>(point) < table_->program.size();
  return exists ? SafeText(table_->program[static_cast<size_t>(point)], 60) : "the whole program";
}

void MemoryMap::Handle(Frame& frame) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool is_map = io.MousePos.y >= top_;
  if (hovered_ && io.MouseWheel != 0) {
    const double factor = std::pow(1.25, io.MouseWheel);
    const bool is_high = io.KeyCtrl || io.MousePos.x < left_;
    if (is_high) bytes_.Zoom(std::clamp((io.MousePos.y - top_) / height_, 0.0F, 1.0F), factor);
    if (!is_high) points_.Zoom((io.MousePos.x - left_) / width_, factor);
  }
  if (held_ && is_map && (io.MouseDelta.x != 0 || io.MouseDelta.y != 0)) {
    points_.Pan(-io.MouseDelta.x / width_);
    bytes_.Pan(-io.MouseDelta.y / height_);
  }
  if (held_ && !is_map && plan_->has_lives) MarkPoint(frame.context, PointAt(io.MousePos.x));
  const ImVec2 moved = ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 0);
  const bool is_click = hovered_ && ImGui::IsMouseReleased(ImGuiMouseButton_Left) &&
                        std::abs(moved.x) + std::abs(moved.y) < 4;
  if (is_click && is_map) Click(frame.context);
  if (frame.focused && !io.WantTextInput && !io.KeyCtrl && !io.KeyAlt) HandleKeys(frame.context);
}

void MemoryMap::HandleKeys(Context& context) {
  SteerByKeys(points_, hovered_ ? (ImGui::GetIO().MousePos.x - left_) / width_ : 0.5);
  const int32_t step = (ImGui::IsKeyPressed(ImGuiKey_RightArrow) ? 1 : 0) -
                       (ImGui::IsKeyPressed(ImGuiKey_LeftArrow) ? 1 : 0);
  if (step != 0 && plan_->has_lives) {
    const auto last = static_cast<int32_t>(plan_->live.size()) - 1;
    MarkPoint(context, std::clamp(Marked(context) + step, 0, last));
  }
}

void MemoryMap::MarkPoint(Context& context, int32_t point) const {
  context.marks.Of<MemoryPoint>() = {module_, point};
}

int32_t MemoryMap::Marked(Context& context) const {
  const MemoryPoint& marked = context.marks.Of<MemoryPoint>();
  const bool is_here = marked.module == module_ && marked.point >= 0 &&
                       static_cast<size_t>(marked.point) < plan_->live.size();
  return is_here ? marked.point : plan_->peak_point;
}

const MemoryBox* MemoryMap::BoxUnder() const {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (mouse.x < left_ || mouse.y < top_) return nullptr;
  const MemoryBox* best = nullptr;
  for (const MemoryBox& box : plan_->boxes) {
    const bool is_in = XOf(box.first) <= mouse.x &&
                       mouse.x < std::max(XOf(box.last + 1), XOf(box.first) + 3) &&
                       YOf(box.bottom) <= mouse.y &&
                       mouse.y < std::max(YOf(box.bottom + box.size), YOf(box.bottom) + 3);
    // Of several the one that lives shortest, then the smallest.
    if (!is_in) continue;
    const bool is_better =
        best == nullptr || box.last - box.first < best->last - best->first ||
        (box.last - box.first == best->last - best->first && box.size < best->size);
    if (is_better) best = &box;
  }
  return best;
}

void MemoryMap::Click(Context& context) const {
  const MemoryBox* box = BoxUnder();
  if (box != nullptr) context.navigation.Select(Selection::OfBuffer(module_, box->value));
}

bool MemoryMap::FitSelection(Context& context) {
  for (const MemoryBox& box : plan_->boxes) {
    if (!IsHighlighted(context, box.value)) continue;
    const int64_t room = std::max<int64_t>(box.last - box.first, 4);
    points_.Fit({(box.first - room) * kPoint, (box.last + 1 + room) * kPoint});
    bytes_.Fit({box.bottom - box.size, box.bottom + 2 * box.size});
    return true;
  }
  return false;
}

bool MemoryMap::IsHighlighted(Context& context, int32_t value) const {
  const Selection& now = context.navigation.selection();
  if (now.kind == SelectionKind::kBuffer && now.module == module_ && now.buffer == value)
    return true;
  return now.kind > SelectionKind::kStage && context.navigation.counterparts().module == module_ &&
         context.navigation.counterparts().HasBuffer(value);
}

// --- Drawing ----------------------------------------------------------------------------------
void MemoryMap::DrawBoxes(Frame& frame) const {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImVec2 low(left_, top_), high(left_ + width_, top_ + height_);
  list.AddRectFilled(low, high, frame.theme[Color::kCanvas]);
  DrawPlaces(frame, list);
  list.PushClipRect(low, high, true);
  for (const MemoryBox& box : plan_->boxes) DrawBox(frame, box, list);
  DrawNames(frame, list);
  list.PopClipRect();
}

void MemoryMap::DrawPlaces(Frame& frame, ImDrawList& list) const {
  list.PushClipRect(ImVec2(left_ - kGutter * scale_, top_), ImVec2(left_ + width_, top_ + height_),
                    true);
  float free = top_;
  for (const AllocationPlace& place : plan_->places) {
    const float y0 = YOf(place.bottom), y1 = YOf(place.bottom + place.size);
    if (y1 < top_ || y0 > top_ + height_ || y1 - y0 < 1.5F) continue;
    list.AddLine(ImVec2(left_, y0), ImVec2(left_ + width_, y0), frame.theme[Color::kLine]);
    const float y = std::max(y0, top_) + 1 * scale_;
    if (y < free || y1 - y < 14 * scale_) continue;
    free = y + 17 * scale_;
    const dump::BufferAllocation& a = table_->allocations[static_cast<size_t>(place.allocation)];
    std::string name = fmt::format("{} {}", ToString(place.kind), a.index);
    if (place.kind == AllocationKind::kParameter)
      name = fmt::format("parameter {}", a.parameter_number);
    const float x = left_ - (kGutter - 6) * scale_;
    list.AddText(ImVec2(x, y), frame.theme[Color::kTextSecondary], name.c_str());
    const std::string size = BytesText(place.size);
    const float text = ImGui::CalcTextSize(size.c_str()).x;
    list.AddText(ImVec2(left_ - text - 6 * scale_, y), frame.theme[Color::kTextSecondary],
                 size.c_str());
  }
  list.PopClipRect();
}

void MemoryMap::DrawBox(Frame& frame, const MemoryBox& box, ImDrawList& list) const {
  const float x0 = XOf(box.first), x1 = std::max(XOf(box.last + 1), x0 + 1);
  const float y0 = YOf(box.bottom), y1 = std::max(YOf(box.bottom + box.size), y0 + 1);
  if (x1 < left_ || x0 > left_ + width_ || y1 < top_ || y0 > top_ + height_) return;
  const bool is_highlighted = IsHighlighted(frame.context, box.value);
  const Color color = ColorOfKind(box.kind);
  const bool is_small = x1 - x0 < 4 || y1 - y0 < 4;
  list.AddRectFilled(ImVec2(x0, y0), ImVec2(x1, y1), FillOf(frame.theme, box, is_small));
  if (box.aliases && !is_small) DrawStripes(frame, color, ImVec2(x0, y0), ImVec2(x1, y1), list);
  if (!is_small) list.AddRect(ImVec2(x0, y0), ImVec2(x1, y1), frame.theme.With(color, 0.9F));
  if (is_highlighted) {
    list.AddRect(ImVec2(x0 - 1, y0 - 1), ImVec2(x1 + 1, y1 + 1), frame.theme[Color::kAccent], 0,
                 2 * scale_);
  }
}

// Names of boxes in order; one that would overlap another is left out.
void MemoryMap::DrawNames(Frame& frame, ImDrawList& list) const {
  constexpr size_t kMaxNames = 300;
  std::vector<ImVec4> taken;
  for (const MemoryBox& box : plan_->boxes) {
    const float x0 = std::max(XOf(box.first), left_),
                x1 = std::min(XOf(box.last + 1), left_ + width_);
    const float y0 = std::max(YOf(box.bottom), top_),
                y1 = std::min(YOf(box.bottom + box.size), top_ + height_);
    if (x1 - x0 < 40 * scale_ || y1 - y0 < 16 * scale_) continue;
    const dump::BufferValue& value = table_->values[static_cast<size_t>(box.value)];
    const std::string name = SafeText(value.instruction, 80) + "  " + BytesText(value.size);
    const ImVec4 clip(x0 + 4 * scale_, y0 + 1 * scale_, x1 - 2, y0 + 17 * scale_);
    const float end = std::min(clip.x + ImGui::CalcTextSize(name.c_str()).x, clip.z);
    const bool is_free = std::ranges::none_of(taken, [&](const ImVec4& other) {
      return clip.x < other.z && other.x < end && clip.y < other.w && other.y < clip.w;
    });
    if (!is_free || taken.size() >= kMaxNames) continue;
    taken.emplace_back(clip.x, clip.y, end, clip.w);
    const uint32_t ink = heat_ == nullptr ? frame.theme[Color::kText]
                                          : InkOn(frame.theme, FillOf(frame.theme, box, false));
    list.AddText(ImGui::GetFont(), 13 * scale_, ImVec2(clip.x, clip.y), ink, name.c_str(), nullptr,
                 0, &clip);
  }
}

void MemoryMap::DrawStripes(Frame& frame, Color color, ImVec2 low, ImVec2 high,
                            ImDrawList& list) const {
  const ImVec2 from(std::max(low.x, left_), std::max(low.y, top_));
  const ImVec2 to(std::min(high.x, left_ + width_), std::min(high.y, top_ + height_));
  if (to.x <= from.x || to.y <= from.y) return;
  list.PushClipRect(from, to, true);
  const float step = 9 * scale_, rise = to.y - from.y;
  for (float x = from.x - rise; x < to.x; x += step) {
    list.AddLine(ImVec2(x, to.y), ImVec2(x + rise, from.y), frame.theme.With(color, 0.5F));
  }
  list.PopClipRect();
}

}  // namespace hloscope::viewer
