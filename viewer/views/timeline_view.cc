// Timeline: the lanes of a profile. Wheel zooms, dragging pans, dragging with Shift or on the axis
// marks a range.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <cmath>

#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/profile_model.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/timeline_camera.h"
#include "viewer/model/timeline_rows.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using profiler::EventId;
using profiler::EventStore;
using profiler::Slice;
using profiler::TimeRange;

constexpr float kGutter = 190, kAxis = 26;
constexpr double kNarrowest = 2.5;  // pixels of an event that is drawn by itself

// What every event of the lit instructions is, by time, for the marks on the axis.
struct LitEvents {
  std::vector<EventId> events;  // by start
};
struct LitKey {
  using Value = LitEvents;
  std::string path;
  uint32_t module = 0;
  std::vector<uint32_t> instructions;
  auto operator<=>(const LitKey&) const = default;
};

class TimelineView : public View {
 public:
  void Draw(Frame& frame) override {
    const Pending<ProfileModel>* profile = ProfileOf(frame.context);
    if (profile == nullptr) {
      Sentence(frame,
               "no trace is open: open one with hloscope open DUMP TRACE. "
               "In Python, with "
               "jax.profiler.trace(FOLDER): … writes one to FOLDER/plugins/profile.");
      return;
    }
    if (!ShowPending(frame, *profile, "the trace")) return;
    const ProfileModel& model = **profile;
    if (model.store().size() == 0) {
      Sentence(frame, "the trace has no events");
      return;
    }
    if (shown_ != profile->value) Show(profile->value);
    FindLit(frame.context, model);
    Place(frame);
    if (width_ < 40 * scale_ || height_ < 30 * scale_) return;
    Handle(frame, model);
    DrawStrips(frame, model);
    DrawMarked(frame);
    DrawAxis(frame, model);
    DrawHover(frame, model);
  }

  bool Run(Command command, Frame& frame) override {
    const Pending<ProfileModel>* profile = ProfileOf(frame.context);
    if (profile == nullptr || !profile->ready() || shown_ == nullptr) return false;
    switch (command) {
      case Command::kFitAll:
        camera_.FitAll();
        return true;
      case Command::kFit:
        return FitSelection(frame.context);
      default:
        return false;
    }
  }

  std::string Arrangement() const override {
    return fmt::format("{} {}", static_cast<const void*>(shown_.get()), camera_.Text());
  }
  void SetArrangement(std::string_view arrangement) override {
    const std::string mine = fmt::format("{} ", static_cast<const void*>(shown_.get()));
    if (shown_ != nullptr && arrangement.starts_with(mine))
      camera_.SetText(arrangement.substr(mine.size()));
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || shown_ == nullptr) return View::Export(format, context);
    const EventStore& store = shown_->store();
    const auto begin = static_cast<int64_t>(camera_.begin());
    const TimeRange range{begin, begin + static_cast<int64_t>(camera_.length())};
    constexpr size_t kMost = 1'000'000;
    size_t count = 0;
    std::string out = "lane,row,event,start_ps,duration_ps\n";
    for (uint32_t row = 0; row < store.rows().size(); ++row) {
      const profiler::Lane& lane = store.lanes()[store.rows()[row].lane.index];
      const auto [first, last] = store.EventsIn(row, range);
      count += last.index - first.index;
      if (count > kMost)
        return UnsupportedError("more than a million events are visible", "zoom in");
      for (uint64_t e = first.index; e < last.index; ++e) {
        const EventId event(e);
        out += fmt::format("{},{},{},{},{}\n", CsvCell(store.text(lane.name)), row,
                           CsvCell(store.text(store.name(event))), store.start(event),
                           store.duration(event));
      }
    }
    return out;
  }

  std::string Lit(Context& context) const override {
    if (shown_ == nullptr) return {};
    std::string out = fmt::format("lit {}\n", lit_events_);
    if (const EventId e = SelectedEvent(context); e.valid()) {
      out += fmt::format("event {}\n", shown_->store().text(shown_->store().name(e)));
    }
    return out;
  }

 private:
  void Show(const std::shared_ptr<const ProfileModel>& model) {
    shown_ = model;
    rows_.Show(model->store());
    camera_.SetWhole(model->store().range());
    scroll_ = 0;
    drawn_.clear();
  }

  EventId SelectedEvent(const Context& context) const {
    const Selection& now = context.navigation.selection();
    if (now.kind != SelectionKind::kEvent || now.event < 0) return {};
    const auto index = static_cast<uint64_t>(now.event);
    return index < shown_->store().size() ? EventId(static_cast<size_t>(index)) : EventId();
  }

  // The instructions of the attribution that stand for the selection.
  void FindLit(Context& context, const ProfileModel& model) {
    const Counterparts& found = context.navigation.counterparts();
    const bool is_whole = context.navigation.counterparts_complete();
    if (lit_version_ == context.navigation.version() && lit_was_whole_ == is_whole) return;
    lit_version_ = context.navigation.version();
    lit_was_whole_ = is_whole;
    lit_.clear();
    lit_module_ = model.ModuleFor(found.module);
    if (const EventId e = SelectedEvent(context); e.valid()) {
      const profiler::Target target = model.attribution->TargetOf(e);
      if (target.valid()) {
        lit_module_ = target.module;
        lit_.push_back(target.instruction);
      }
    }
    if (context.navigation.selection().kind > SelectionKind::kStage) {
      lit_.insert(lit_.end(), found.kernel_instructions.begin(), found.kernel_instructions.end());
      lit_.insert(lit_.end(), found.final_instructions.begin(), found.final_instructions.end());
    }
    if (!lit_module_) lit_.clear();
    lit_events_ = 0;
    for (hlo::InstructionId id : lit_) {
      const profiler::InstructionTime* time = model.attribution->TimeOf(*lit_module_, id);
      if (time != nullptr) lit_events_ = std::max(lit_events_, time->count);
    }
    if (lit_events_ == 0) lit_.clear();
    drawn_.clear();
  }

  bool IsLit(const ProfileModel& model, EventId e) const {
    if (lit_.empty()) return false;
    const profiler::Target target = model.attribution->TargetOf(e);
    return target.valid() && target.module == *lit_module_ &&
           std::ranges::find(lit_, target.instruction) != lit_.end();
  }

  bool FitSelection(Context& context) {
    EventId e = SelectedEvent(context);
    if (!e.valid() && !lit_.empty()) {
      for (hlo::InstructionId id : lit_) {
        const profiler::InstructionTime* time = shown_->attribution->TimeOf(*lit_module_, id);
        if (time != nullptr) e = time->longest;
      }
    }
    if (!e.valid()) return false;
    const EventStore& store = shown_->store();
    const int64_t room = std::max<int64_t>(store.duration(e) * 2, 1000);
    camera_.Fit({store.start(e) - room, store.end(e) + room});
    if (const TimelineStrip* strip = rows_.Of(store.RowOf(e))) {
      scroll_ = std::max(0.0F, strip->y - height_ / scale_ / 3);
    }
    return true;
  }

  void Place(Frame& frame) {
    scale_ = frame.scale;
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    left_ = at.x + kGutter * scale_;
    top_ = at.y + kAxis * scale_;
    width_ = room.x - kGutter * scale_;
    height_ = room.y - kAxis * scale_;
    ImGui::InvisibleButton("##lanes", ImVec2(std::max(room.x, 1.0F), std::max(room.y, 1.0F)),
                           ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight |
                               ImGuiButtonFlags_MouseButtonMiddle);
    ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
    hovered_ = ImGui::IsItemHovered();
    held_ = ImGui::IsItemActive();
  }

  double TimeAt(float x) const { return camera_.TimeAt(x - left_, width_); }
  float XOf(double time) const {
    return left_ + static_cast<float>(std::clamp(camera_.XOf(time, width_), -1e4, 1e5));
  }

  void Handle(Frame& frame, const ProfileModel& model) {
    const ImGuiIO& io = ImGui::GetIO();
    if (hovered_ && io.MouseWheel != 0) {
      if (io.KeyShift || io.MousePos.x < left_) {
        scroll_ -= io.MouseWheel * 3 * TimelineRows::kRowHeight;
      } else {
        camera_.Zoom((io.MousePos.x - left_) / width_, std::pow(1.25, io.MouseWheel));
      }
    }
    if (hovered_ && io.MouseWheelH != 0) camera_.Pan(-0.1 * io.MouseWheelH);
    HandleMouse(frame, model);
    if (frame.focused && !io.WantTextInput) HandleKeys(frame, model);
    const float most = std::max(0.0F, rows_.height() - height_ / scale_);
    scroll_ = std::clamp(scroll_, 0.0F, most);
  }

  void HandleMouse(Frame& frame, const ProfileModel& model) {
    const ImGuiIO& io = ImGui::GetIO();
    const bool is_left = ImGui::IsMouseDown(ImGuiMouseButton_Left);
    if (hovered_ && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
      marking_ = io.KeyShift || io.MousePos.y < top_;
      mark_from_ = TimeAt(io.MousePos.x);
    }
    if (held_ && marking_ && is_left && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 3)) {
      Mark(frame.context, mark_from_, TimeAt(io.MousePos.x));
    } else if (held_ && !marking_ && (io.MouseDelta.x != 0 || io.MouseDelta.y != 0)) {
      camera_.Pan(-io.MouseDelta.x / width_);
      scroll_ -= io.MouseDelta.y / scale_;
    }
    const ImVec2 moved = ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 0);
    const bool is_click = hovered_ && ImGui::IsMouseReleased(ImGuiMouseButton_Left) &&
                          std::abs(moved.x) + std::abs(moved.y) < 4;
    if (!is_click) return;
    if (io.MousePos.y < top_) {
      frame.context.marks.timeline.is_set = false;
      return;
    }
    const TimelineStrip* strip = StripAt(io.MousePos.y);
    if (strip != nullptr && !strip->row) {
      rows_.Toggle(strip->group);
      drawn_.clear();
    } else if (const EventId e = EventUnder(model); e.valid()) {
      frame.context.navigation.Select(SelectionOf(frame.context, model, e));
    }
  }

  void Mark(Context& context, double from, double to) {
    TimelineRange& marked = context.marks.timeline;
    marked.range = {static_cast<int64_t>(std::min(from, to)),
                    static_cast<int64_t>(std::max(from, to))};
    marked.is_set = marked.range.length() > 0;
  }

  void HandleKeys(Frame& frame, const ProfileModel& model) {
    const ImGuiIO& io = ImGui::GetIO();
    if (io.KeyCtrl || io.KeyAlt) return;
    if (ImGui::IsKeyPressed(ImGuiKey_W)) camera_.Zoom(0.5, 1.4);
    if (ImGui::IsKeyPressed(ImGuiKey_S)) camera_.Zoom(0.5, 1 / 1.4);
    if (ImGui::IsKeyPressed(ImGuiKey_A)) camera_.Pan(-0.15);
    if (ImGui::IsKeyPressed(ImGuiKey_D)) camera_.Pan(0.15);
    const bool is_right = ImGui::IsKeyPressed(ImGuiKey_RightArrow);
    if (is_right || ImGui::IsKeyPressed(ImGuiKey_LeftArrow)) {
      const EventId now = SelectedEvent(frame.context);
      const EventId next = now.valid() ? model.store().Neighbour(now, is_right) : EventId(0u);
      if (!next.valid()) return;
      frame.context.navigation.Select(SelectionOf(frame.context, model, next));
      Reveal(model.store(), next);
    }
  }

  // Moves as little as brings the event into view.
  void Reveal(const EventStore& store, EventId e) {
    const TimeRange seen = camera_.range();
    if (store.start(e) < seen.begin || store.end(e) > seen.end) {
      const double middle =
          static_cast<double>(store.start(e)) + 0.5 * static_cast<double>(store.duration(e));
      camera_.Pan((middle - camera_.begin()) / camera_.length() - 0.5);
    }
    const TimelineStrip* strip = rows_.Of(store.RowOf(e));
    if (strip == nullptr) return;
    const float bottom = strip->y + TimelineRows::kRowHeight - height_ / scale_;
    scroll_ = std::clamp(scroll_, bottom, std::max(bottom, strip->y));
  }

  const TimelineStrip* StripAt(float y) const {
    return y < top_ ? nullptr : rows_.At((y - top_) / scale_ + scroll_);
  }

  EventId EventUnder(const ProfileModel& model) const {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const TimelineStrip* strip = StripAt(mouse.y);
    if (strip == nullptr || !strip->row || mouse.x < left_) return {};
    const auto tolerance = static_cast<int64_t>(camera_.length() / width_ * 3);
    return model.store().EventAt(*strip->row, static_cast<int64_t>(TimeAt(mouse.x)), tolerance);
  }

  // --- Drawing ----------------------------------------------------------------------------------
  struct Drawn {
    size_t strip;
    size_t first, last;  // of slices_
  };

  // The slices of every row in sight; kept while nothing moves.
  void Collect(const ProfileModel& model, size_t first, size_t last) {
    const TimeRange range = camera_.range();
    if (!drawn_.empty() && drawn_range_ == range && drawn_first_ == first && drawn_last_ == last &&
        drawn_width_ == width_) {
      return;
    }
    drawn_range_ = range;
    drawn_first_ = first;
    drawn_last_ = last;
    drawn_width_ = width_;
    drawn_.clear();
    slices_.clear();
    // A power of two, so that slices stay the same ones while the picture is moved and a little
    // zoomed.
    const double wanted = std::max(camera_.length() / width_ * kNarrowest * scale_, 1.0);
    const auto resolution = static_cast<int64_t>(std::exp2(std::floor(std::log2(wanted))));
    for (size_t s = first; s < last; ++s) {
      const TimelineStrip& strip = rows_.strips()[s];
      if (!strip.row) continue;
      const size_t begin = slices_.size();
      model.store().AppendSlices(*strip.row, range, resolution, slices_);
      drawn_.push_back({s, begin, slices_.size()});
    }
  }

  void DrawStrips(Frame& frame, const ProfileModel& model) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float bottom = top_ + height_;
    list.AddRectFilled(ImVec2(left_, top_), ImVec2(left_ + width_, bottom),
                       frame.theme[Color::kCanvas]);
    const auto [first, last] = rows_.Between(scroll_, scroll_ + height_ / scale_);
    Collect(model, first, last);
    list.PushClipRect(ImVec2(left_ - kGutter * scale_, top_), ImVec2(left_ + width_, bottom), true);
    for (size_t s = first; s < last; ++s) DrawStripHead(frame, model, rows_.strips()[s], list);
    list.PopClipRect();
    list.PushClipRect(ImVec2(left_, top_), ImVec2(left_ + width_, bottom), true);
    const EventId selected = SelectedEvent(frame.context);
    for (const Drawn& drawn : drawn_) {
      const float y = YOf(rows_.strips()[drawn.strip]);
      for (size_t i = drawn.first; i < drawn.last; ++i) {
        DrawSlice(frame, model, slices_[i], y, selected, list);
      }
    }
    list.PopClipRect();
  }

  float YOf(const TimelineStrip& strip) const { return top_ + (strip.y - scroll_) * scale_; }

  void DrawStripHead(Frame& frame, const ProfileModel& model, const TimelineStrip& strip,
                     ImDrawList& list) const {
    const EventStore& store = model.store();
    const float y = YOf(strip), x = left_ - kGutter * scale_;
    if (!strip.row) {
      list.AddRectFilled(ImVec2(x, y),
                         ImVec2(left_ + width_, y + TimelineRows::kHeadHeight * scale_),
                         frame.theme[Color::kRaised]);
      std::string name = rows_.is_folded(strip.group) ? "▸ " : "▾ ";
      name += SafeText(store.text(store.groups()[strip.group].name), 80);
      list.AddText(ImVec2(x + 6 * scale_, y + 3 * scale_), frame.theme[Color::kText], name.c_str());
      return;
    }
    if (!strip.is_first_of_lane) return;
    list.AddLine(ImVec2(x, y - 2 * scale_), ImVec2(left_ + width_, y - 2 * scale_),
                 frame.theme.With(Color::kLine, 0.6F));
    const std::string name =
        Fitted(store.text(store.lanes()[strip.lane.index].name), (kGutter - 18) * scale_);
    list.AddText(ImVec2(x + 12 * scale_, y + 1 * scale_), frame.theme[Color::kTextSecondary],
                 name.c_str());
  }

  static std::string Fitted(std::string_view name, float room) {
    for (size_t most = 60; most > 8; most -= 2) {
      std::string text = SafeText(name, most);
      if (ImGui::CalcTextSize(text.c_str()).x <= room) return text;
    }
    return SafeText(name, 8);
  }

  Color ColorOfEvent(const ProfileModel& model, EventId e) const {
    const profiler::Target target = model.attribution->TargetOf(e);
    if (!target.valid()) return Color::kFusion;
    const hlo::Module& m = *model.attribution->modules()[target.module].module;
    return ColorOf(m[target.instruction].opcode);
  }

  void DrawSlice(Frame& frame, const ProfileModel& model, const Slice& slice, float y,
                 EventId selected, ImDrawList& list) const {
    const float x0 = XOf(static_cast<double>(slice.begin));
    const float x1 = std::max(XOf(static_cast<double>(slice.end)), x0 + 1);
    const float bottom = y + (TimelineRows::kRowHeight - 1) * scale_;
    const Color color = ColorOfEvent(model, slice.longest);
    const bool is_known =
        color != Color::kFusion || model.attribution->TargetOf(slice.longest).valid();
    const bool is_lit = IsLit(model, slice.longest);
    const float strength = lit_.empty() || is_lit ? 1.0F : 0.4F;
    const bool is_selected = selected.valid() && slice.first.index <= selected.index &&
                             selected.index < slice.first.index + slice.count;
    if (x1 - x0 < 8 * scale_) {
      const int64_t length = std::max<int64_t>(slice.end - slice.begin, 1);
      const float share = static_cast<float>(slice.busy) / static_cast<float>(length);
      const float alpha = (is_known ? 0.35F + 0.65F * share : 0.35F) * strength;
      list.AddRectFilled(ImVec2(x0, y), ImVec2(x1, bottom), frame.theme.With(color, alpha));
    } else {
      list.AddRectFilled(ImVec2(x0, y), ImVec2(x1 - 1, bottom),
                         frame.theme.With(color, (is_known ? 0.34F : 0.2F) * strength));
      list.AddRectFilled(ImVec2(x0, y), ImVec2(x0 + 3 * scale_, bottom),
                         frame.theme.With(color, strength));
      DrawName(frame, model, slice, x0, x1, y, strength, list);
    }
    if (is_selected || (is_lit && x1 - x0 >= 8 * scale_)) {
      list.AddRect(ImVec2(x0, y), ImVec2(x1, bottom), frame.theme[Color::kAccent], 0,
                   (is_selected ? 2.0F : 1.0F) * scale_);
    }
  }

  void DrawName(Frame& frame, const ProfileModel& model, const Slice& slice, float x0, float x1,
                float y, float strength, ImDrawList& list) const {
    const float begin = std::max(x0, left_) + 5 * scale_;
    if (slice.count != 1 || x1 - begin < 24 * scale_) return;
    const std::string name = SafeText(model.store().text(model.store().name(slice.first)), 120);
    const ImVec4 clip(begin, y, x1 - 2 * scale_, y + TimelineRows::kRowHeight * scale_);
    const float size = 13 * scale_;
    list.AddText(ImGui::GetFont(), size, ImVec2(begin, y + 1 * scale_),
                 frame.theme.With(Color::kText, 0.35F + 0.65F * strength), name.c_str(), nullptr, 0,
                 &clip);
  }

  void DrawMarked(Frame& frame) const {
    const TimelineRange& marked = frame.context.marks.timeline;
    if (!marked.is_set) return;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float x0 = std::max(XOf(static_cast<double>(marked.range.begin)), left_);
    const float x1 = std::min(XOf(static_cast<double>(marked.range.end)), left_ + width_);
    if (x1 <= x0) return;
    const float axis = top_ - kAxis * scale_;
    list.AddRectFilled(ImVec2(x0, axis), ImVec2(x1, top_ + height_),
                       frame.theme.With(Color::kAccent, 0.14F));
    for (float x : {x0, x1}) {
      list.AddLine(ImVec2(x, axis), ImVec2(x, top_ + height_), frame.theme[Color::kAccent]);
    }
  }

  void DrawAxis(Frame& frame, const ProfileModel& model) const {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float axis = top_ - kAxis * scale_, x = left_ - kGutter * scale_;
    std::string base;
    for (const TimelineTick& tick : TicksOf(camera_, width_, 110 * scale_, base)) {
      const float at = XOf(tick.time);
      list.AddLine(ImVec2(at, top_ - 5 * scale_), ImVec2(at, top_ + height_),
                   frame.theme.With(Color::kLine, 0.7F));
      if (at + ImGui::CalcTextSize(tick.text.c_str()).x + 4 * scale_ > left_ + width_) continue;
      list.AddText(ImVec2(at + 4 * scale_, axis + 2 * scale_), frame.theme[Color::kTextSecondary],
                   tick.text.c_str());
    }
    const TimelineRange& marked = frame.context.marks.timeline;
    std::string left =
        base.empty() ? fmt::format("{} in view", TimeText(camera_.length())) : "from " + base;
    if (marked.is_set) {
      left = fmt::format("{} marked", TimeText(static_cast<double>(marked.range.length())));
    }
    list.AddText(ImVec2(x + 6 * scale_, axis + 2 * scale_), frame.theme[Color::kTextSecondary],
                 left.c_str());
    DrawMarks(frame, model, list);
  }

  // A mark on the axis wherever the lit instruction ran; at most one a pixel.
  void DrawMarks(Frame& frame, const ProfileModel& model, ImDrawList& list) const {
    if (lit_.empty()) return;
    const Pending<LitEvents>& lit = LitOf(frame.context, model);
    if (!lit.ready()) return;
    const EventStore& store = model.store();
    auto at = std::ranges::lower_bound(lit->events, camera_.range().begin, {},
                                       [&](EventId e) { return store.start(e); });
    while (at != lit->events.end() && store.start(*at) < camera_.range().end) {
      const float x = XOf(static_cast<double>(store.start(*at)));
      list.AddTriangleFilled(ImVec2(x - 3 * scale_, top_ - 6 * scale_),
                             ImVec2(x + 3 * scale_, top_ - 6 * scale_), ImVec2(x, top_),
                             frame.theme[Color::kAccent]);
      const auto next = static_cast<int64_t>(TimeAt(x + 2));
      at = std::lower_bound(at + 1, lit->events.end(), next,
                            [&](EventId e, int64_t time) { return store.start(e) < time; });
    }
  }

  const Pending<LitEvents>& LitOf(Context& context, const ProfileModel& model) const {
    LitKey key{.path = model.path, .module = *lit_module_, .instructions = {}};
    for (hlo::InstructionId id : lit_) key.instructions.push_back(id.index);
    return context.cache.Get(
        key, "finding events", [shown = shown_, lit = lit_, module = *lit_module_](TaskControl&) {
          auto found = std::make_shared<LitEvents>();
          for (hlo::InstructionId id : lit) {
            const std::vector<EventId> events = shown->attribution->EventsOf(module, id);
            found->events.insert(found->events.end(), events.begin(), events.end());
          }
          std::ranges::sort(found->events, {}, [&](EventId e) { return shown->store().start(e); });
          return Result<std::shared_ptr<const LitEvents>>(found);
        });
  }

  void DrawHover(Frame& frame, const ProfileModel& model) const {
    if (!hovered_ || held_) return;
    const EventId e = EventUnder(model);
    if (!e.valid()) return;
    const EventStore& store = model.store();
    ImGui::BeginTooltip();
    ImGui::PushFont(frame.strong, 0);
    Label(SafeText(store.text(store.name(e)), 100));
    ImGui::PopFont();
    Label(fmt::format("{} at {}", TimeText(static_cast<double>(store.duration(e))),
                      ExactTimeText(store.start(e) - store.range().begin)));
    const profiler::Target target = model.attribution->TargetOf(e);
    if (target.valid()) {
      const profiler::AttributedModule& owner = model.attribution->modules()[target.module];
      Label(frame.theme, Color::kTextSecondary,
            fmt::format("{}: {} ({})", owner.name, owner.module->name(target.instruction),
                        hlo::ToString((*owner.module)[target.instruction].opcode)));
    }
    size_t shown = 0;
    for (const profiler::Argument& argument : store.Arguments(e)) {
      if (argument.name.starts_with('_') || ++shown > 12) continue;
      const std::string value = std::visit(
          [](const auto& v) { return SafeText(fmt::format("{}", v), 80); }, argument.value);
      Label(frame.theme, Color::kTextSecondary,
            fmt::format("{} = {}", SafeText(argument.name, 40), value));
    }
    ImGui::EndTooltip();
  }

  std::shared_ptr<const ProfileModel> shown_;
  TimelineRows rows_;
  TimelineCamera camera_;
  float scroll_ = 0;  // logical pixels
  float scale_ = 1, left_ = 0, top_ = 0, width_ = 0, height_ = 0;
  bool hovered_ = false, held_ = false, marking_ = false;
  double mark_from_ = 0;
  uint64_t lit_version_ = UINT64_MAX;
  bool lit_was_whole_ = false;
  std::optional<uint32_t> lit_module_;
  std::vector<hlo::InstructionId> lit_;
  int64_t lit_events_ = 0;
  std::vector<Drawn> drawn_;
  std::vector<Slice> slices_;
  TimeRange drawn_range_;
  size_t drawn_first_ = 0, drawn_last_ = 0;
  float drawn_width_ = 0;
};

}  // namespace

std::unique_ptr<View> MakeTimelineView() { return std::make_unique<TimelineView>(); }

}  // namespace hloscope::viewer
