// Memory: live bytes over program order, and below them the buffers as boxes of place and life.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "core/dump/own_compilation.h"
#include "viewer/facts/heat.h"
#include "viewer/facts/memory_groups.h"
#include "viewer/facts/memory_plan.h"
#include "viewer/graph/graph_legend.h"
#include "viewer/graph/heat_list.h"
#include "viewer/graph/heat_paint.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/timeline_camera.h"
#include "viewer/widgets/heat_ramp.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

constexpr float kGutter = 180, kAxisHeight = 20, kCurve = 110;
// One point of the program in units of the camera, which counts to a thousandth of it.
constexpr int64_t kPoint = 1000;

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

class MemoryView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
    if (!ShowDump(frame)) return;
    const int32_t module = context.navigation.module();
    if (module < 0) {
      Sentence(frame, "no module in this dump");
      return;
    }
    const Pending<dump::BufferTable>& buffers = context.data.Buffers(module);
    if (!ShowPending(frame, buffers, "the buffer assignment")) return;
    if (!buffers->has_values()) {
      Sentence(frame, dump::IsOwnCompilation(*context.document.dump(), module)
                          ? "no memory plan: the module runs instruction by instruction; see the "
                            "top of fusion_decisions.txt"
                          : "no buffer assignment of this module: --xla_dump_to=DIR "
                            "--xla_dump_hlo_as_text (or as_proto) writes one");
      return;
    }
    const Pending<MemoryPlan>& plan = Plan(context, module, buffers.value);
    if (!ShowPending(frame, plan, "the buffer layout")) return;
    if (plan_ != plan.value) Show(plan.value, buffers.value, module);
    FindHeat(context);
    DrawHead(frame);
    if (plan_->boxes.empty()) {
      Sentence(frame, "the buffer assignment is empty");
      return;
    }
    DrawGroups(frame);
    Place(frame);
    if (width_ < 60 * scale_ || height_ < 40 * scale_) return;
    Handle(frame);
    DrawBoxes(frame);
    if (plan_->has_lives) DrawCurve(frame);
    if (plan_->has_lives) DrawPoint(frame);
    DrawHover(frame);
  }

  bool Run(Command command, Frame& frame) override {
    if (plan_ == nullptr) return false;
    if (command == Command::kFitAll) {
      points_.FitAll();
      bytes_.FitAll();
      return true;
    }
    return command == Command::kFit && FitSelection(frame.context);
  }

  std::string Arrangement() const override {
    return fmt::format("{} {},{}", static_cast<const void*>(plan_.get()), points_.Text(),
                       bytes_.Text());
  }
  void SetArrangement(std::string_view arrangement) override {
    const std::string mine = fmt::format("{} ", static_cast<const void*>(plan_.get()));
    if (plan_ == nullptr || !arrangement.starts_with(mine)) return;
    const std::string_view both = arrangement.substr(mine.size());
    const size_t comma = std::min(both.find(','), both.size() - 1);
    points_.SetText(both.substr(0, comma));
    bytes_.SetText(both.substr(comma + 1));
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || plan_ == nullptr) return View::Export(format, context);
    std::string out = "point,instruction,live_bytes\n";
    for (size_t p = 0; p < plan_->live.size(); ++p) {
      out += fmt::format("{},{},{}\n", p, CsvCell(NameAt(static_cast<int32_t>(p))), plan_->live[p]);
    }
    return out;
  }

  std::string HighlightedItems(Context& context) const override {
    if (plan_ == nullptr) return {};
    std::string out = fmt::format("peak {} at {}\n", plan_->peak, plan_->peak_point);
    for (const MemoryBox& box : plan_->boxes) {
      if (!IsHighlighted(context, box.value)) continue;
      const dump::BufferValue& value = table_->values[static_cast<size_t>(box.value)];
      out += fmt::format("{} {}\n", value.instruction, value.size);
    }
    return out;
  }

 private:
  static const Pending<MemoryPlan>& Plan(Context& context, int32_t module,
                                         const std::shared_ptr<const dump::BufferTable>& table) {
    return context.cache.Get(PartKey<MemoryPlan>{module}, "laying out buffers",
                             [table](TaskControl&) {
                               return Result<std::shared_ptr<const MemoryPlan>>(
                                   std::make_shared<const MemoryPlan>(PlanOf(*table)));
                             });
  }

  void Show(const std::shared_ptr<const MemoryPlan>& plan,
            const std::shared_ptr<const dump::BufferTable>& table, int32_t module) {
    plan_ = plan;
    table_ = table;
    module_ = module;
    points_.SetWhole({0, static_cast<int64_t>(plan->live.size()) * kPoint});
    bytes_.SetWhole({0, std::max<int64_t>(std::min(plan->height, int64_t{1} << 59), 1)});
  }

  // The place on the scale of the heat of each value; none where heat is off.
  void FindHeat(Context& context) {
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
  uint32_t FillOf(const Theme& theme, const MemoryBox& box, bool is_small) const {
    if (heat_ == nullptr) return theme.With(ColorOfKind(box.kind), is_small ? 0.9F : 0.4F);
    const double place = places_[static_cast<size_t>(box.value)];
    return place > 0 ? HeatColor(theme, place) : theme[Color::kPanel];
  }

  void DrawHead(Frame& frame) const {
    std::string text = fmt::format("{} total", BytesText(table_->total_bytes));
    if (plan_->has_lives) {
      text += fmt::format(", {} live at the peak, at {}", BytesText(plan_->peak),
                          NameAt(plan_->peak_point));
    }
    if (plan_->unplaced > 0) {
      text += fmt::format("; {} without known live range or offset",
                          CountedText(plan_->unplaced, "value"));
    }
    FittedLabel(text);
    DrawLegend(frame);
  }

  void DrawLegend(Frame& frame) const {
    DrawHeatMenu(frame, 220 * frame.scale);
    ImGui::SameLine(0, 14 * frame.scale);
    if (heat_ != nullptr) {
      viewer::DrawLegend(frame, HeatLegend(frame.theme, *heat_));
    } else {
      DrawKinds(frame);
    }
    const bool has_aliases = std::ranges::any_of(plan_->boxes, &MemoryBox::aliases);
    if (has_aliases) Sentence(frame, "striped: aliasing buffers");
    if (!plan_->has_lives) {
      Sentence(frame,
               "no live ranges in the dump, so buffers span the whole program; "
               "--xla_dump_hlo_as_text writes them");
    }
  }

  void DrawKinds(Frame& frame) const {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    bool is_first = true;
    for (AllocationKind kind :
         {AllocationKind::kTemporary, AllocationKind::kParameter, AllocationKind::kResult,
          AllocationKind::kConstant, AllocationKind::kThreadLocal}) {
      int64_t bytes = 0;
      for (const AllocationPlace& place : plan_->places)
        bytes += place.kind == kind ? place.size : 0;
      if (bytes == 0) continue;
      if (!is_first) ImGui::SameLine(0, 14 * frame.scale);
      is_first = false;
      const ImVec2 at = ImGui::GetCursorScreenPos();
      const float side = 11 * frame.scale, y = at.y + 3 * frame.scale;
      list.AddRectFilled(ImVec2(at.x, y), ImVec2(at.x + side, y + side),
                         frame.theme[ColorOfKind(kind)]);
      ImGui::Dummy(ImVec2(side, side));
      ImGui::SameLine(0, 5 * frame.scale);
      Label(frame.theme, Color::kTextSecondary,
            fmt::format("{} {}", ToString(kind), BytesText(bytes)));
    }
  }

  // What the peak is made of; null while that is found out.
  const MemoryGroups* Groups(Context& context) const {
    const int32_t stage = context.document.dump()->FinalStage(module_);
    std::shared_ptr<const hlo::Module> module;
    if (stage >= 0) {
      const Pending<hlo::Module>& read = context.data.Module(module_, stage);
      if (read.waiting()) return nullptr;
      module = read.value;
    }
    return context.cache
        .Get(PartKey<MemoryGroups>{module_}, "sorting buffers into groups",
             [table = table_, plan = plan_, module](TaskControl&) {
               return Computed<MemoryGroups>(
                   std::make_shared<const MemoryGroups>(GroupsOf(*table, *plan, module.get())));
             })
        .value.get();
  }

  static std::string WordsText(const MemoryGroup& group, size_t most) {
    std::string text;
    for (size_t i = 0; i < std::min(most, group.words.size()); ++i) {
      text += fmt::format("{}{} {}", i == 0 ? "" : ", ", group.words[i].first,
                          BytesText(group.words[i].second));
    }
    if (group.words.size() > most) text += fmt::format(", {} more", group.words.size() - most);
    return text;
  }

  std::string ShareText(const MemoryGroup& group, int64_t total) const {
    const double share =
        100 * static_cast<double>(group.bytes) / static_cast<double>(std::max<int64_t>(total, 1));
    return share < 0.05 ? "< 0.1 %" : fmt::format("{:.1f} %", share);
  }

  void SelectGroup(Context& context, const MemoryGroup& group) const {
    if (group.largest >= 0) context.navigation.Select(Selection::OfBuffer(module_, group.largest));
  }

  // Where there is room a table, else a line; a click selects the largest buffer of the group.
  void DrawGroups(Frame& frame) const {
    const MemoryGroups* groups = Groups(frame.context);
    if (groups == nullptr) return Sentence(frame, "sorting buffers into groups …");
    if (groups->groups.empty()) return;
    constexpr float kRoomForTable = 440;
    if (ImGui::GetContentRegionAvail().y < kRoomForTable * frame.scale)
      return DrawGroupLine(frame, *groups);
    if (!ImGui::BeginTable("##groups", 5, ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_RowBg))
      return;
    const float unit = frame.scale;
    ImGui::TableSetupColumn(plan_->has_lives ? "at the peak" : "all buffers",
                            ImGuiTableColumnFlags_WidthFixed, 120 * unit);
    ImGui::TableSetupColumn("bytes", ImGuiTableColumnFlags_WidthFixed, 76 * unit);
    ImGui::TableSetupColumn("share", ImGuiTableColumnFlags_WidthFixed, 64 * unit);
    ImGui::TableSetupColumn("buffers", ImGuiTableColumnFlags_WidthFixed, 64 * unit);
    ImGui::TableSetupColumn("by scope", ImGuiTableColumnFlags_WidthStretch);
    static constexpr std::array kHelp = {"purpose of the buffers", "total bytes", "share of total",
                                         "number of buffers", "scopes with most bytes"};
    HeaderRow(kHelp);
    for (const MemoryGroup& group : groups->groups) {
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      const std::string title(TitleOf(group.use));
      if (Row(frame, title, false, IsHighlighted(frame.context, group.largest)))
        SelectGroup(frame.context, group);
      Help(fmt::format("{}\nclick: largest buffer", HelpOf(group.use)));
      ImGui::TableNextColumn();
      RightLabel(BytesText(group.bytes));
      ImGui::TableNextColumn();
      RightLabel(ShareText(group, groups->total));
      ImGui::TableNextColumn();
      RightLabel(frame.theme, Color::kTextSecondary, CountText(group.values));
      ImGui::TableNextColumn();
      ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
      FittedLabel(WordsText(group, 12));
      ImGui::PopStyleColor();
    }
    ImGui::EndTable();
  }

  void DrawGroupLine(Frame& frame, const MemoryGroups& groups) const {
    bool is_first = true;
    for (const MemoryGroup& group : groups.groups) {
      const std::string text = fmt::format("{} {}, {}", TitleOf(group.use), BytesText(group.bytes),
                                           ShareText(group, groups.total));
      const float width = ImGui::CalcTextSize(text.c_str()).x;
      if (!is_first) {
        ImGui::SameLine(0, 16 * frame.scale);
        if (ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
      }
      is_first = false;
      if (ImGui::Selectable((text + "##group").c_str(), IsHighlighted(frame.context, group.largest),
                            0, ImVec2(width, 0)))
        SelectGroup(frame.context, group);
      Help(fmt::format("{}\n{}\nclick: largest buffer", HelpOf(group.use), WordsText(group, 6)));
    }
  }

  void Place(Frame& frame) {
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
  float XOf(double point) const {
    const double x = points_.XOf(point * kPoint, width_);
    return left_ + static_cast<float>(std::clamp(x, -1e4, 1e5));
  }
  float YOf(int64_t byte) const {
    const double y = bytes_.XOf(static_cast<double>(byte), height_);
    return top_ + static_cast<float>(std::clamp(y, -1e4, 1e5));
  }
  int32_t PointAt(float x) const {
    const double point = std::floor(points_.TimeAt(x - left_, width_) / kPoint);
    return static_cast<int32_t>(
        std::clamp(point, 0.0, static_cast<double>(plan_->live.size()) - 1));
  }

  std::string NameAt(int32_t point) const {
    const bool exists = point >= 0 && static_cast<size_t>(point) < table_->program.size();
    return exists ? SafeText(table_->program[static_cast<size_t>(point)], 60) : "the whole program";
  }

  void Handle(Frame& frame) {
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

  void HandleKeys(Context& context) {
    SteerByKeys(points_, hovered_ ? (ImGui::GetIO().MousePos.x - left_) / width_ : 0.5);
    const int32_t step = (ImGui::IsKeyPressed(ImGuiKey_RightArrow) ? 1 : 0) -
                         (ImGui::IsKeyPressed(ImGuiKey_LeftArrow) ? 1 : 0);
    if (step != 0 && plan_->has_lives) {
      const auto last = static_cast<int32_t>(plan_->live.size()) - 1;
      MarkPoint(context, std::clamp(Marked(context) + step, 0, last));
    }
  }

  void MarkPoint(Context& context, int32_t point) const {
    context.marks.Of<MemoryPoint>() = {module_, point};
  }
  int32_t Marked(Context& context) const {
    const MemoryPoint& marked = context.marks.Of<MemoryPoint>();
    const bool is_here = marked.module == module_ && marked.point >= 0 &&
                         static_cast<size_t>(marked.point) < plan_->live.size();
    return is_here ? marked.point : plan_->peak_point;
  }

  const MemoryBox* BoxUnder() const {
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

  void Click(Context& context) const {
    const MemoryBox* box = BoxUnder();
    if (box != nullptr) context.navigation.Select(Selection::OfBuffer(module_, box->value));
  }

  bool FitSelection(Context& context) {
    for (const MemoryBox& box : plan_->boxes) {
      if (!IsHighlighted(context, box.value)) continue;
      const int64_t room = std::max<int64_t>(box.last - box.first, 4);
      points_.Fit({(box.first - room) * kPoint, (box.last + 1 + room) * kPoint});
      bytes_.Fit({box.bottom - box.size, box.bottom + 2 * box.size});
      return true;
    }
    return false;
  }

  bool IsHighlighted(Context& context, int32_t value) const {
    const Selection& now = context.navigation.selection();
    if (now.kind == SelectionKind::kBuffer && now.module == module_ && now.buffer == value)
      return true;
    return now.kind > SelectionKind::kStage &&
           context.navigation.counterparts().module == module_ &&
           context.navigation.counterparts().HasBuffer(value);
  }

  // --- Drawing ----------------------------------------------------------------------------------
  void DrawBoxes(Frame& frame) const {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 low(left_, top_), high(left_ + width_, top_ + height_);
    list.AddRectFilled(low, high, frame.theme[Color::kCanvas]);
    DrawPlaces(frame, list);
    list.PushClipRect(low, high, true);
    for (const MemoryBox& box : plan_->boxes) DrawBox(frame, box, list);
    DrawNames(frame, list);
    list.PopClipRect();
  }

  void DrawPlaces(Frame& frame, ImDrawList& list) const {
    list.PushClipRect(ImVec2(left_ - kGutter * scale_, top_),
                      ImVec2(left_ + width_, top_ + height_), true);
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

  void DrawBox(Frame& frame, const MemoryBox& box, ImDrawList& list) const {
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
  void DrawNames(Frame& frame, ImDrawList& list) const {
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
      list.AddText(ImGui::GetFont(), 13 * scale_, ImVec2(clip.x, clip.y), ink, name.c_str(),
                   nullptr, 0, &clip);
    }
  }

  void DrawStripes(Frame& frame, Color color, ImVec2 low, ImVec2 high, ImDrawList& list) const {
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

  void DrawCurve(Frame& frame) const {
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
  std::string PointText(int32_t point) const {
    return fmt::format("{}point {} of {}: {}, {} live",
                       point == plan_->peak_point ? "the peak, " : "", CountText(point),
                       CountText(static_cast<int64_t>(plan_->live.size())), NameAt(point),
                       BytesText(plan_->live[static_cast<size_t>(point)]));
  }
  void DrawPoint(Frame& frame) const {
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

  void DrawHover(Frame& frame) const {
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
    Label(SafeText(
        value.instruction.empty() ? "value of an unknown instruction" : value.instruction, 80));
    ImGui::PopFont();
    Label(fmt::format("{} {}", BytesText(value.size), SafeText(value.shape, 80)));
    Label(frame.theme, Color::kTextSecondary,
          fmt::format("{}, allocation {}, offset {}", ToString(box->kind), value.allocation,
                      value.offset));
    auto name = [&](int32_t p) { return NameAt(p); };
    Label(frame.theme, Color::kTextSecondary,
          fmt::format("live range: {} ({}) to {} ({})", name(box->first), box->first,
                      name(box->last), box->last));
    if (box->aliases) Label(frame.theme, Color::kTextSecondary, "aliases another live value");
    if (box->shares_place)
      Label(frame.theme, Color::kTextSecondary, "its memory is reused by another value");
    ImGui::EndTooltip();
  }

  std::shared_ptr<const MemoryPlan> plan_;
  std::shared_ptr<const dump::BufferTable> table_;
  int32_t module_ = -1;
  std::shared_ptr<const HeatFacts> heat_;  // null: off
  std::vector<double> places_;             // by value, on its scale
  TimelineCamera points_, bytes_;
  float scale_ = 1, left_ = 0, curve_top_ = 0, curve_ = 0, top_ = 0, width_ = 0, height_ = 0;
  bool hovered_ = false, held_ = false;
};

}  // namespace

std::unique_ptr<View> MakeMemoryView() { return std::make_unique<MemoryView>(); }

}  // namespace hloscope::viewer
