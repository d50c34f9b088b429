// Timeline: the lanes of a profile, and of a second one under or above them. Wheel zooms, dragging
// pans, dragging with Shift or on the axis marks a range.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "viewer/facts/path_facts.h"
#include "viewer/facts/profile_model.h"
#include "viewer/facts/trace_partners.h"
#include "viewer/model/document.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/model/task_cache.h"
#include "viewer/timeline/timeline_painter.h"
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
      Forget();
      Sentence(frame,
               "no trace is open: record one with jax.profiler.trace(FOLDER), then open FOLDER "
               "(Ctrl+O) or drop it here");
      return;
    }
    if (!ShowPending(frame, *profile, "the trace")) return;
    const ProfileModel& model = **profile;
    if (model.store().size() == 0 && model.store().sample_count() == 0) {
      Sentence(frame, "the trace has no events");
      return;
    }
    TakeMarks(frame.context);
    second_ = SecondTraceOf(frame.context, profile->value);
    Show(frame.context, profile->value);
    Highlight(frame.context);
    DrawAbove(frame);
    Place(frame);
    if (scene_.width < 40 * scene_.scale || scene_.height < 30 * scene_.scale) return;
    Handle(frame);
    FoldEmptyLanes();
    painter_.Draw(frame, scene_);
    if (hovered_ && !held_) {
      DrawLaneHover(frame, scene_);
      DrawTimelineHover(frame, scene_, second_, Under());
    }
  }

  std::optional<bool> IsStrip(const Context& context) const override {
    if (context.document.dump().waiting()) return std::nullopt;
    return ProfilePaths(context).empty();
  }

  bool Run(Command command, Frame& frame) override {
    const Pending<ProfileModel>* profile = ProfileOf(frame.context);
    if (profile == nullptr || !profile->ready() || shown() == nullptr) return false;
    switch (command) {
      case Command::kCriticalPath:
        frame.context.marks.Of<TimelineMarks>().critical_path =
            !frame.context.marks.Of<TimelineMarks>().critical_path;
        return true;
      case Command::kSwapProfiles:
        if (scene_.traces[1].model == nullptr) return false;
        frame.context.marks.Of<TimelineMarks>().profiles_swapped =
            !frame.context.marks.Of<TimelineMarks>().profiles_swapped;
        return true;
      case Command::kFitAll:
        scene_.camera.FitAll();
        return true;
      case Command::kFit:
        return FitSelection(frame.context);
      default:
        return false;
    }
  }

  std::string State() const override { return shows_path_ ? "critical-path" : ""; }
  void SetState(std::string_view state) override { wants_path_ = state == "critical-path"; }
  std::string Arrangement() const override {
    return fmt::format("{} {}", static_cast<const void*>(shown().get()), scene_.camera.Text());
  }
  void SetArrangement(std::string_view arrangement) override {
    const std::string mine = fmt::format("{} ", static_cast<const void*>(shown().get()));
    if (shown() != nullptr && arrangement.starts_with(mine))
      scene_.camera.SetText(arrangement.substr(mine.size()));
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    if (format != ExportFormat::kCsv || shown() == nullptr) return View::Export(format, context);
    return TimelineCsv(scene_);
  }

  std::string HighlightedItems(Context& context) const override {
    if (shown() == nullptr) return {};
    std::string out = fmt::format("highlighted {}\n", highlighted_events_[0]);
    const TimelineFacts* facts = scene_.first().facts.get();
    if (facts != nullptr && facts->has_overlap()) out += OverlapText(*facts) + "\n";
    if (const EventId e = SelectedEvent(context, scene_); e.valid())
      out += fmt::format("event {}\n", shown()->store().text(shown()->store().name(e)));
    if (scene_.path != nullptr)
      out += PathText(scene_.path->path, RangeWord(context, scene_)) + "\n";
    if (scene_.traces[1].model != nullptr) {
      out += fmt::format("{} above, highlighted {} in the second, aligned {}\n",
                         scene_.rows.strips().front().trace == 0 ? "first" : "second",
                         highlighted_events_[1], second_.partners->aligned_by);
    }
    return out;
  }

 private:
  static constexpr const char* kBefore = "before";
  static constexpr const char* kAfter = "after";

  const std::shared_ptr<const ProfileModel>& shown() const { return scene_.traces[0].model; }

  // What other views have set, and what was kept from the last start.
  void TakeMarks(Context& context) {
    if (wants_path_) context.marks.Of<TimelineMarks>().critical_path = *wants_path_;
    wants_path_.reset();
    shows_path_ = context.marks.Of<TimelineMarks>().critical_path;
  }

  void Show(Context& context, const std::shared_ptr<const ProfileModel>& model) {
    TimelineTrace& first = scene_.traces[0];
    TimelineTrace& second = scene_.traces[1];
    const bool swapped = context.marks.Of<TimelineMarks>().profiles_swapped;
    const bool is_other = first.model != model;
    const bool is_changed = is_other || second.model != second_.model || swapped != shows_swapped_;
    const Pending<TimelineFacts>& facts = TimelineFactsOf(context, model);
    first.facts = facts.ready() ? facts.value : nullptr;
    const Pending<PathFacts>* path = shows_path_ ? PathFactsOf(context, model) : nullptr;
    scene_.path = path != nullptr && path->ready() ? path->value : nullptr;
    if (!is_changed) return;
    if (is_other) scene_.rows = TimelineRows();
    first.model = model;
    second.model = second_.model;
    second.facts = second_.facts;
    second.shift = second_.model == nullptr ? 0 : second_.partners->shift;
    const bool is_alone = second.model == nullptr;
    first.label = is_alone ? "" : swapped ? kAfter : kBefore;
    second.label = is_alone ? "" : swapped ? kBefore : kAfter;
    shows_swapped_ = swapped;
    highlighted_version_ = UINT64_MAX;
    Arrange();
  }

  // What was of a trace that is closed.
  void Forget() {
    if (shown() == nullptr) return;
    scene_ = {};
    second_ = {};
    painter_.Forget();
  }

  // Lanes without an event in sight become one row; true: rows moved.
  bool Refold() {
    sight_ = scene_.camera.range();
    is_arranged_ = false;
    std::map<uint8_t, TimeRange> sight;
    for (size_t t = 0; t < kTimelineTraces; ++t) {
      if (scene_.traces[t].model != nullptr)
        sight[static_cast<uint8_t>(t)] = scene_.InSight(scene_.traces[t]);
    }
    if (!scene_.rows.SetSight(sight)) return false;
    painter_.Forget();
    return true;
  }

  // Not while the user drags: lanes would move under the pointer. What is under it stays there.
  void FoldEmptyLanes() {
    if (ImGui::IsAnyMouseDown() || (scene_.camera.range() == sight_ && !is_arranged_)) return;
    const float at =
        hovered_ ? (ImGui::GetIO().MousePos.y - scene_.top) / scene_.scale + scene_.scroll : 0;
    const TimelineStrip* under = hovered_ ? scene_.rows.At(at) : nullptr;
    const bool is_kept = under != nullptr && under->row.has_value();
    const TimelineStrip before = is_kept ? *under : TimelineStrip();
    if (!Refold()) return;
    const TimelineStrip* after =
        is_kept ? scene_.rows.Of(before.trace, before.row.value_or(0)) : nullptr;
    if (after != nullptr) scene_.scroll = std::max(0.0F, scene_.scroll + after->y - before.y);
  }

  // What comes first stands above. The camera stays where it shows the same traces.
  void Arrange() {
    std::vector<TimelineRows::Trace> order;
    TimeRange whole = shown()->store().range();
    for (size_t t = 0; t < kTimelineTraces; ++t) {
      const TimelineTrace& trace = scene_.traces[shows_swapped_ ? 1 - t : t];
      if (trace.model == nullptr) continue;
      order.push_back({static_cast<uint8_t>(&trace - scene_.traces.data()), &trace.model->store()});
      const TimeRange own = trace.model->store().range();
      whole.begin = std::min(whole.begin, own.begin + trace.shift);
      whole.end = std::max(whole.end, own.end + trace.shift);
    }
    scene_.rows.Show(std::move(order));
    is_arranged_ = true;
    if (scene_.camera.whole() != whole) scene_.camera.SetWhole(whole);
    scene_.scroll = 0;
    painter_.Forget();
  }

  // The lines above the lanes.
  void DrawAbove(Frame& frame) {
    const TimelineFacts* facts = scene_.first().facts.get();
    if (facts != nullptr) DrawTimelineLegend(frame, *facts);
    if (shows_path_)
      DrawPathSums(frame, PathFactsOf(frame.context, shown()), RangeWord(frame.context, scene_));
    if (ProfileOf(frame.context, 1) != nullptr) DrawTraceComparison(frame, second_, shown()->path);
    const bool has_steps = facts != nullptr && !facts->steps.empty();
    scene_.axis = kTimelineAxis + (has_steps ? kTimelineSteps : 0);
  }

  void Highlight(Context& context) {
    context.navigation.counterparts();
    const bool is_whole = context.navigation.counterparts_complete();
    if (highlighted_version_ == context.navigation.version() && highlighted_was_whole_ == is_whole)
      return;
    highlighted_version_ = context.navigation.version();
    highlighted_was_whole_ = is_whole;
    highlighted_events_ = FindHighlighted(context, second_, scene_);
    painter_.Forget();
  }

  bool FitSelection(Context& context) {
    EventId e = SelectedEvent(context, scene_);
    const TimelineTrace& first = scene_.first();
    for (hlo::InstructionId id : first.highlighted) {
      const profiler::InstructionTime* time =
          shown()->attribution->TimeOf(first.highlighted_modules[0], id);
      if (time != nullptr && !SelectedEvent(context, scene_).valid()) e = time->longest;
    }
    if (!e.valid()) return false;
    const EventStore& store = shown()->store();
    const int64_t room = std::max<int64_t>(store.duration(e) * 2, 1000);
    scene_.camera.Fit({store.start(e) - room, store.end(e) + room});
    Refold();
    if (const TimelineStrip* strip = scene_.rows.Of(0, store.RowOf(e))) {
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

  void Handle(Frame& frame) {
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
    HandleMouse(frame);
    if (frame.focused && !io.WantTextInput) HandleKeys(frame);
    const float most = std::max(0.0F, scene_.rows.height() - scene_.height / scene_.scale);
    scene_.scroll = std::clamp(scene_.scroll, 0.0F, most);
  }

  void HandleMouse(Frame& frame) {
    const ImGuiIO& io = ImGui::GetIO();
    const bool is_left = ImGui::IsMouseDown(ImGuiMouseButton_Left);
    if (hovered_ && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
      marking_ = io.KeyShift || io.MousePos.y < scene_.top;
      mark_from_ = scene_.TimeAt(io.MousePos.x);
    }
    const bool is_marking = held_ && marking_ && is_left;
    frame.context.marks.Of<TimelineMarks>().range.is_dragged = is_marking;
    if (is_marking && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 3)) {
      Mark(frame.context, mark_from_, scene_.TimeAt(io.MousePos.x));
    } else if (held_ && !marking_ && (io.MouseDelta.x != 0 || io.MouseDelta.y != 0)) {
      scene_.camera.Pan(-io.MouseDelta.x / scene_.width);
      scene_.scroll -= io.MouseDelta.y / scene_.scale;
    }
    const ImVec2 moved = ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 0);
    const bool is_click = hovered_ && ImGui::IsMouseReleased(ImGuiMouseButton_Left) &&
                          std::abs(moved.x) + std::abs(moved.y) < 4;
    if (!is_click) return;
    const TimelineStrip* strip = scene_.StripAt(io.MousePos.y);
    if (io.MousePos.y < scene_.top) {
      ClickAxis(frame.context);
    } else if (strip != nullptr && strip->is_head()) {
      scene_.rows.Toggle(*strip);
      painter_.Forget();
    } else if (const TimelinePoint at = Under(); at.event.valid()) {
      const Selection selected = SelectionAt(scene_, second_, at);
      if (selected.kind != SelectionKind::kNothing) frame.context.navigation.Select(selected);
    }
  }

  // On the name of a step: it is marked. Elsewhere nothing is any more.
  void ClickAxis(Context& context) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    TimelineRange& marked = context.marks.Of<TimelineMarks>().range;
    marked.is_set = false;
    const TimelineFacts* facts = scene_.first().facts.get();
    const float below = scene_.top - mouse.y;  // of the lanes
    if (facts == nullptr || facts->steps.empty() || mouse.x < scene_.left ||
        below > (kTimelineSteps + 5) * scene_.scale)
      return;
    const TimeRange step = StepAt(scene_.first(), static_cast<int64_t>(scene_.TimeAt(mouse.x)));
    if (step.length() > 0) marked = {.range = step, .is_set = true, .is_dragged = false};
  }

  void Mark(Context& context, double from, double to) {
    TimelineRange& marked = context.marks.Of<TimelineMarks>().range;
    marked.range = {static_cast<int64_t>(std::min(from, to)),
                    static_cast<int64_t>(std::max(from, to))};
    marked.is_set = marked.range.length() > 0;
  }

  void HandleKeys(Frame& frame) {
    const ImGuiIO& io = ImGui::GetIO();
    if (io.KeyCtrl || io.KeyAlt) return;
    const ProfileModel& model = *shown();
    SteerByKeys(scene_.camera, hovered_ ? (io.MousePos.x - scene_.left) / scene_.width : 0.5);
    const bool is_right = ImGui::IsKeyPressed(ImGuiKey_RightArrow);
    if (is_right || ImGui::IsKeyPressed(ImGuiKey_LeftArrow)) {
      const EventId now = SelectedEvent(frame.context, scene_);
      const EventId next = now.valid() ? model.store().Neighbour(now, is_right) : EventId(0u);
      if (!next.valid()) return;
      frame.context.navigation.Select(SelectionOf(model, next));
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
      Refold();
    }
    const TimelineStrip* strip = scene_.rows.Of(0, store.RowOf(e));
    if (strip == nullptr) return;
    const float bottom = strip->y + TimelineRows::kRowHeight - scene_.height / scene_.scale;
    scene_.scroll = std::clamp(scene_.scroll, bottom, std::max(bottom, strip->y));
  }

  TimelinePoint Under() const {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    return scene_.PointAt(mouse.x, mouse.y);
  }

  TimelineScene scene_;
  SecondTrace second_;
  bool shows_swapped_ = false, shows_path_ = false;
  std::optional<bool> wants_path_;  // as it was kept
  bool hovered_ = false, held_ = false, marking_ = false;
  TimeRange sight_;           // lanes without an event in it are one row
  bool is_arranged_ = false;  // since that was found
  double mark_from_ = 0;
  uint64_t highlighted_version_ = UINT64_MAX;
  bool highlighted_was_whole_ = false;
  std::array<int64_t, kTimelineTraces> highlighted_events_ = {};
  TimelinePainter painter_;
};

}  // namespace

std::unique_ptr<View> MakeTimelineView() { return std::make_unique<TimelineView>(); }

}  // namespace hloscope::viewer
