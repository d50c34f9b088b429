// Timeline: the lanes of a profile. Wheel zooms, dragging pans, dragging with Shift or on the axis
// marks a range.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <cmath>

#include "viewer/facts/profile_model.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/task_cache.h"
#include "viewer/views/timeline_painter.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using profiler::EventId;
using profiler::EventStore;
using profiler::TimeRange;

class TimelineView : public View {
 public:
  void Draw(Frame& frame) override {
    const Pending<ProfileModel>* profile = ProfileOf(frame.context);
    if (profile == nullptr) {
      Sentence(frame,
               "no trace is open: record one with jax.profiler.trace(FOLDER) in Python, then open "
               "it with hloscope open DUMP TRACE (FOLDER/plugins/profile/…/HOST.xplane.pb).");
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
    const Pending<TimelineFacts>& facts = TimelineFactsOf(frame.context, shown_);
    scene_.facts = facts.ready() ? facts.value.get() : nullptr;
    if (scene_.facts != nullptr) DrawLegend(frame, *scene_.facts);
    const bool has_steps = scene_.facts != nullptr && !scene_.facts->steps.empty();
    scene_.axis = kTimelineAxis + (has_steps ? kTimelineSteps : 0);
    Place(frame);
    if (scene_.width < 40 * scene_.scale || scene_.height < 30 * scene_.scale) return;
    Handle(frame, model);
    painter_.Draw(frame, shown_, scene_, SelectedEvent(frame.context));
    DrawHover(frame, model);
  }

  bool Run(Command command, Frame& frame) override {
    const Pending<ProfileModel>* profile = ProfileOf(frame.context);
    if (profile == nullptr || !profile->ready() || shown_ == nullptr) return false;
    switch (command) {
      case Command::kFitAll:
        scene_.camera.FitAll();
        return true;
      case Command::kFit:
        return FitSelection(frame.context);
      default:
        return false;
    }
  }

  std::string Arrangement() const override {
    return fmt::format("{} {}", static_cast<const void*>(shown_.get()), scene_.camera.Text());
  }
  void SetArrangement(std::string_view arrangement) override {
    const std::string mine = fmt::format("{} ", static_cast<const void*>(shown_.get()));
    if (shown_ != nullptr && arrangement.starts_with(mine))
      scene_.camera.SetText(arrangement.substr(mine.size()));
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || shown_ == nullptr) return View::Export(format, context);
    const EventStore& store = shown_->store();
    const auto begin = static_cast<int64_t>(scene_.camera.begin());
    const TimeRange range{begin, begin + static_cast<int64_t>(scene_.camera.length())};
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
    if (scene_.facts != nullptr && scene_.facts->has_overlap())
      out += OverlapText(*scene_.facts) + "\n";
    if (const EventId e = SelectedEvent(context); e.valid()) {
      out += fmt::format("event {}\n", shown_->store().text(shown_->store().name(e)));
    }
    return out;
  }

 private:
  void Show(const std::shared_ptr<const ProfileModel>& model) {
    shown_ = model;
    scene_.rows.Show(model->store());
    scene_.camera.SetWhole(model->store().range());
    scene_.scroll = 0;
    painter_.Forget();
  }

  // What the colours mean, how long each runs, and what runs beside each other.
  static void DrawLegend(Frame& frame, const TimelineFacts& facts) {
    bool is_first = true;
    const auto room = [&](const std::string& text, float before) {
      if (!is_first) SameLineIfRoom(ImGui::CalcTextSize(text.c_str()).x + before * frame.scale);
      is_first = false;
    };
    for (size_t c = 0; c < kTimelineCategories; ++c) {
      const auto category = static_cast<TimelineCategory>(c);
      const bool is_host = category == TimelineCategory::kHost;
      if (facts.busy[c] == 0 && !is_host) continue;
      std::string text(WordOf(category));
      if (!is_host) text += " " + TimeText(static_cast<double>(facts.busy[c]));
      room(text, 34);
      Label(frame.theme, ColorOf(category), "■");
      ImGui::SameLine(0, 4 * frame.scale);
      Label(frame.theme, Color::kTextSecondary, text);
      if (ImGui::IsItemHovered())
        ImGui::SetTooltip(is_host ? "threads of the host, and what belongs to no instruction there"
                                  : "time in which any event of this kind runs");
    }
    if (!facts.steps.empty()) {
      const std::string text = fmt::format("{} {}{}", CountText(std::ssize(facts.steps)),
                                           facts.step_word, facts.steps.size() == 1 ? "" : "s");
      room(text, 18);
      Label(frame.theme, Color::kTextSecondary, text);
    }
    if (!facts.has_overlap()) return;
    const std::string text = OverlapText(facts);
    room(text, 18);
    Label(text);
    if (ImGui::IsItemHovered())
      ImGui::SetTooltip("%s of %s of collectives run while the same device computes",
                        TimeText(static_cast<double>(facts.hidden)).c_str(),
                        TimeText(static_cast<double>(facts.collective)).c_str());
  }
  static std::string OverlapText(const TimelineFacts& facts) {
    return fmt::format(
        "collectives: {:.0f} % beside compute",
        100 * static_cast<double>(facts.hidden) / static_cast<double>(facts.collective));
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
    scene_.lit.clear();
    scene_.lit_module = model.ModuleFor(found.module);
    if (const EventId e = SelectedEvent(context); e.valid()) {
      const profiler::Target target = model.attribution->TargetOf(e);
      if (target.valid()) {
        scene_.lit_module = target.module;
        scene_.lit.push_back(target.instruction);
      }
    }
    if (context.navigation.selection().kind > SelectionKind::kStage) {
      scene_.lit.insert(scene_.lit.end(), found.kernel_instructions.begin(),
                        found.kernel_instructions.end());
      scene_.lit.insert(scene_.lit.end(), found.final_instructions.begin(),
                        found.final_instructions.end());
    }
    if (!scene_.lit_module) scene_.lit.clear();
    lit_events_ = 0;
    for (hlo::InstructionId id : scene_.lit) {
      const profiler::InstructionTime* time = model.attribution->TimeOf(*scene_.lit_module, id);
      if (time != nullptr) lit_events_ = std::max(lit_events_, time->count);
    }
    if (lit_events_ == 0) scene_.lit.clear();
    painter_.Forget();
  }

  bool FitSelection(Context& context) {
    EventId e = SelectedEvent(context);
    if (!e.valid() && !scene_.lit.empty()) {
      for (hlo::InstructionId id : scene_.lit) {
        const profiler::InstructionTime* time = shown_->attribution->TimeOf(*scene_.lit_module, id);
        if (time != nullptr) e = time->longest;
      }
    }
    if (!e.valid()) return false;
    const EventStore& store = shown_->store();
    const int64_t room = std::max<int64_t>(store.duration(e) * 2, 1000);
    scene_.camera.Fit({store.start(e) - room, store.end(e) + room});
    if (const TimelineStrip* strip = scene_.rows.Of(store.RowOf(e))) {
      scene_.scroll = std::max(0.0F, strip->y - scene_.height / scene_.scale / 3);
    }
    return true;
  }

  void Place(Frame& frame) {
    scene_.scale = frame.scale;
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    scene_.left = at.x + kTimelineGutter * scene_.scale;
    scene_.top = at.y + scene_.axis * scene_.scale;
    scene_.width = room.x - kTimelineGutter * scene_.scale;
    scene_.height = room.y - scene_.axis * scene_.scale;
    ImGui::InvisibleButton("##lanes", ImVec2(std::max(room.x, 1.0F), std::max(room.y, 1.0F)),
                           ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight |
                               ImGuiButtonFlags_MouseButtonMiddle);
    ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
    hovered_ = ImGui::IsItemHovered();
    held_ = ImGui::IsItemActive();
  }

  void Handle(Frame& frame, const ProfileModel& model) {
    const ImGuiIO& io = ImGui::GetIO();
    if (hovered_ && io.MouseWheel != 0) {
      if (io.KeyShift || io.MousePos.x < scene_.left) {
        scene_.scroll -= io.MouseWheel * 3 * TimelineRows::kRowHeight;
      } else {
        scene_.camera.Zoom((io.MousePos.x - scene_.left) / scene_.width,
                           std::pow(1.25, io.MouseWheel));
      }
    }
    if (hovered_ && io.MouseWheelH != 0) scene_.camera.Pan(-0.1 * io.MouseWheelH);
    HandleMouse(frame, model);
    if (frame.focused && !io.WantTextInput) HandleKeys(frame, model);
    const float most = std::max(0.0F, scene_.rows.height() - scene_.height / scene_.scale);
    scene_.scroll = std::clamp(scene_.scroll, 0.0F, most);
  }

  void HandleMouse(Frame& frame, const ProfileModel& model) {
    const ImGuiIO& io = ImGui::GetIO();
    const bool is_left = ImGui::IsMouseDown(ImGuiMouseButton_Left);
    if (hovered_ && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
      marking_ = io.KeyShift || io.MousePos.y < scene_.top;
      mark_from_ = scene_.TimeAt(io.MousePos.x);
    }
    if (held_ && marking_ && is_left && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 3)) {
      Mark(frame.context, mark_from_, scene_.TimeAt(io.MousePos.x));
    } else if (held_ && !marking_ && (io.MouseDelta.x != 0 || io.MouseDelta.y != 0)) {
      scene_.camera.Pan(-io.MouseDelta.x / scene_.width);
      scene_.scroll -= io.MouseDelta.y / scene_.scale;
    }
    const ImVec2 moved = ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 0);
    const bool is_click = hovered_ && ImGui::IsMouseReleased(ImGuiMouseButton_Left) &&
                          std::abs(moved.x) + std::abs(moved.y) < 4;
    if (!is_click) return;
    if (io.MousePos.y < scene_.top) {
      frame.context.marks.timeline.is_set = false;
      return;
    }
    const TimelineStrip* strip = StripAt(io.MousePos.y);
    if (strip != nullptr && !strip->row) {
      scene_.rows.Toggle(strip->group);
      painter_.Forget();
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
    SteerByKeys(scene_.camera, hovered_ ? (io.MousePos.x - scene_.left) / scene_.width : 0.5);
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
    const TimeRange seen = scene_.camera.range();
    if (store.start(e) < seen.begin || store.end(e) > seen.end) {
      const double middle =
          static_cast<double>(store.start(e)) + 0.5 * static_cast<double>(store.duration(e));
      scene_.camera.Pan((middle - scene_.camera.begin()) / scene_.camera.length() - 0.5);
    }
    const TimelineStrip* strip = scene_.rows.Of(store.RowOf(e));
    if (strip == nullptr) return;
    const float bottom = strip->y + TimelineRows::kRowHeight - scene_.height / scene_.scale;
    scene_.scroll = std::clamp(scene_.scroll, bottom, std::max(bottom, strip->y));
  }

  const TimelineStrip* StripAt(float y) const {
    return y < scene_.top ? nullptr
                          : scene_.rows.At((y - scene_.top) / scene_.scale + scene_.scroll);
  }

  EventId EventUnder(const ProfileModel& model) const {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const TimelineStrip* strip = StripAt(mouse.y);
    if (strip == nullptr || !strip->row || mouse.x < scene_.left) return {};
    const auto tolerance = static_cast<int64_t>(scene_.camera.length() / scene_.width * 3);
    return model.store().EventAt(*strip->row, static_cast<int64_t>(scene_.TimeAt(mouse.x)),
                                 tolerance);
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
  TimelineScene scene_;
  bool hovered_ = false, held_ = false, marking_ = false;
  double mark_from_ = 0;
  uint64_t lit_version_ = UINT64_MAX;
  bool lit_was_whole_ = false;
  int64_t lit_events_ = 0;
  TimelinePainter painter_;
};

}  // namespace

std::unique_ptr<View> MakeTimelineView() { return std::make_unique<TimelineView>(); }

}  // namespace hloscope::viewer
