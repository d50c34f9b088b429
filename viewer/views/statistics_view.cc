// Statistics: what took how long in the marked range of the timeline, or in all of it; or what of
// it is on the critical path.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <functional>

#include "core/base/jobs.h"
#include "profiler/range_statistics.h"
#include "viewer/facts/path_facts.h"
#include "viewer/facts/profile_model.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/timeline_camera.h"
#include "viewer/widgets/row_cursor.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using profiler::DurationStatistics;
using Rows = std::vector<DurationStatistics>;

struct StatisticsKey {
  using Value = Rows;
  std::string path;
  int64_t begin = 0, end = 0;
  auto operator<=>(const StatisticsKey&) const = default;
};

class StatisticsView : public View {
 public:
  void Draw(Frame& frame) override {
    const Pending<ProfileModel>* profile = ProfileOf(frame.context);
    if (profile == nullptr) {
      Sentence(frame, "no trace is open: `hloscope open DUMP TRACE` opens one with the dump");
      return;
    }
    if (!ShowPending(frame, *profile, "the trace")) return;
    const profiler::EventStore& store = (*profile)->store();
    const TimelineRange& marked = frame.context.marks.Of<TimelineMarks>().range;
    profiler::TimeRange range{store.range().begin, store.range().end + 1};
    if (marked.is_set) range = marked.range;
    // While the range is being dragged nothing is computed.
    if (!ImGui::IsMouseDown(ImGuiMouseButton_Left) || !asked_) {
      range_ = range;
      asked_ = true;
    }
    ImGui::AlignTextToFramePadding();
    Label(frame.theme, Color::kTextSecondary,
          marked.is_set ? fmt::format("{} from {}", TimeText(static_cast<double>(range.length())),
                                      ExactTimeText(range.begin - store.range().begin))
                        : "whole trace; drag on the time axis, or Shift+drag, to "
                          "select a range");
    SameLineIfRoom(CheckboxWidth("Critical path"));
    ImGui::Checkbox("Critical path", &frame.context.marks.Of<TimelineMarks>().critical_path);
    Help(Command::kCriticalPath);
    path_.reset();
    if (frame.context.marks.Of<TimelineMarks>().critical_path) {
      DrawPath(frame, profile->value);
      return;
    }
    const Pending<Rows>& rows = Ask(frame.context, **profile);
    if (!ShowPending(frame, rows, "the statistics")) return;
    if (rows->empty()) {
      Sentence(frame, "no events in this range");
      return;
    }
    rows_ = rows.value;
    DrawTable(frame, **profile, *rows);
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    const Pending<ProfileModel>* profile = ProfileOf(context);
    if (format == ExportFormat::kCsv && path_ != nullptr && profile != nullptr && profile->ready())
      return PathCsv(**profile, path_->path);
    const bool is_there = rows_ != nullptr && profile != nullptr && profile->ready();
    if (format != ExportFormat::kCsv || !is_there) return View::Export(format, context);
    std::string out = "event,inside_ps,count,min_ps,p50_ps,p90_ps,p99_ps,max_ps\n";
    for (const DurationStatistics& s : *rows_) {
      out += fmt::format("{},{},{},{},{},{},{},{}\n",
                         CsvCell((*profile)->store().text(profiler::NameId(s.key))), s.inside,
                         s.count, s.min, s.p50, s.p90, s.p99, s.max);
    }
    return out;
  }

  std::string HighlightedItems(Context& context) const override {
    const Pending<ProfileModel>* profile = ProfileOf(context);
    if (path_ != nullptr && profile != nullptr && profile->ready() && !path_->path.times.empty()) {
      const profiler::PathTime& first = path_->path.times.front();
      return fmt::format("path {} {}\n", first.count, PathName(**profile, first));
    }
    if (rows_ == nullptr || rows_->empty() || profile == nullptr || !profile->ready()) return {};
    return fmt::format("{} {}\n", rows_->front().count,
                       (*profile)->store().text(profiler::NameId(rows_->front().key)));
  }

 private:
  // The instruction, or the event that belongs to none.
  static std::string PathName(const ProfileModel& model, const profiler::PathTime& time) {
    if (!time.target.valid()) return std::string(model.store().text(time.name));
    const hlo::Module& module = *model.attribution->modules()[time.target.module].module;
    return std::string(module.name(time.target.instruction));
  }

  static std::string PathCsv(const ProfileModel& model, const profiler::CriticalPath& path) {
    std::string out = "name,busy_ps,steps,wait_before_ps\n";
    for (const profiler::PathTime& time : path.times) {
      out += fmt::format("{},{},{},{}\n", CsvCell(PathName(model, time)), time.busy, time.count,
                         time.wait);
    }
    return out + fmt::format("\"waiting after the last step\",0,0,{}\n", path.last_wait);
  }

  // What is on the critical path, and the waits before it.
  void DrawPath(Frame& frame, const std::shared_ptr<const ProfileModel>& model) {
    const Pending<PathFacts>* path = PathFactsOf(frame.context, model);
    if (path == nullptr || path->waiting()) {
      Sentence(frame, "finding the critical path …");
      return;
    }
    if (!ShowPending(frame, *path, "the critical path")) return;
    path_ = path->value;
    Label(PathText(path_->path,
                   frame.context.marks.Of<TimelineMarks>().range.is_set ? "range" : "trace"));
    Help(PathHelp(path_->path));
    if (path_->path.times.empty()) return;
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                       ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV |
                                       ImGuiTableFlags_SizingFixedFit;
    if (!ImGui::BeginTable("##path", 5, kFlags)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("on the critical path", ImGuiTableColumnFlags_WidthStretch);
    for (const char* title : {"busy", "share", "steps", "wait before"})
      ImGui::TableSetupColumn(title, 0, 82 * frame.scale);
    static constexpr std::array kHelp = {"instruction, or event name", "time on the critical path",
                                         "share of the path", "occurrences on the path",
                                         "idle time before it"};
    HeaderRow(kHelp);
    const auto time = [&](int i) -> const profiler::PathTime& {
      return path_->path.times[static_cast<size_t>(i)];
    };
    DrawRows(
        frame, *model, static_cast<int>(path_->path.times.size()),
        [&](int i) { return time(i).longest; },
        [&](int i) { DrawPathRow(frame, *model, time(i), i); });
    ImGui::EndTable();
  }

  static bool IsSelected(const Context& context, profiler::EventId event) {
    const Selection& now = context.navigation.selection();
    return now.kind == SelectionKind::kEvent && now.event == static_cast<int64_t>(event.index);
  }

  // Rows that each stand for one event.
  void DrawRows(Frame& frame, const ProfileModel& model, int count,
                const std::function<profiler::EventId(int)>& event_of,
                const std::function<void(int)>& draw) {
    Context& context = frame.context;
    cursor_.Draw(
        frame,
        {.count = count,
         .is_selected = [&](int i) { return IsSelected(context, event_of(i)); },
         .is_highlighted = {},
         .choose = [&](int i) { context.navigation.Select(SelectionOf(model, event_of(i))); },
         .draw = draw});
  }

  void DrawPathRow(Frame& frame, const ProfileModel& model, const profiler::PathTime& time,
                   int number) const {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    const bool is_selected = IsSelected(frame.context, time.longest);
    if (Row(frame, fmt::format("##path{}", number), is_selected, false))
      frame.context.navigation.Select(SelectionOf(model, time.longest));
    ImGui::SameLine(0, 0);
    FittedLabel(PathName(model, time));
    const double length = static_cast<double>(std::max<int64_t>(path_->path.range.length(), 1));
    for (const std::string& text :
         {TimeText(static_cast<double>(time.busy)),
          fmt::format("{:.1f} %", 100 * static_cast<double>(time.busy) / length),
          CountText(time.count), TimeText(static_cast<double>(time.wait))}) {
      ImGui::TableNextColumn();
      RightLabel(text);
    }
  }

  const Pending<Rows>& Ask(Context& context, const ProfileModel& model) {
    const StatisticsKey key{model.path, range_.begin, range_.end};
    if (key != key_) context.cache.Drop(key_);
    key_ = key;
    return context.cache.Get(
        key, "summing up",
        [profile = model.profile,
         range = range_](TaskControl& control) -> Result<std::shared_ptr<const Rows>> {
          HLOSCOPE_ASSIGN_OR_RETURN(
              Rows found, profiler::Statistics(*profile->store, {.range = range},
                                               SharedJobs(AvailableCpus()), control.stop()));
          return std::make_shared<const Rows>(std::move(found));
        });
  }

  void DrawTable(Frame& frame, const ProfileModel& model, const Rows& rows) {
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                       ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV |
                                       ImGuiTableFlags_SizingFixedFit;
    if (!ImGui::BeginTable("##statistics", 9, kFlags)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("event", ImGuiTableColumnFlags_WidthStretch);
    for (const char* title : {"in range", "count", "mean", "min", "median", "p90", "p99", "max"}) {
      ImGui::TableSetupColumn(title, 0, 74 * frame.scale);
    }
    static constexpr std::array kHelp = {
        "name of the event", "total time in the range", "events in the range",
        "mean duration",     "shortest duration",       "median",
        "90th percentile",   "99th percentile",         "longest duration"};
    HeaderRow(kHelp);
    DrawRows(
        frame, model, static_cast<int>(rows.size()),
        [&](int i) { return rows[static_cast<size_t>(i)].longest; },
        [&](int i) { DrawRow(frame, model, rows[static_cast<size_t>(i)]); });
    ImGui::EndTable();
  }

  static void DrawRow(Frame& frame, const ProfileModel& model, const DurationStatistics& s) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    if (Row(frame, fmt::format("##name{}", s.key), IsSelected(frame.context, s.longest), false)) {
      frame.context.navigation.Select(SelectionOf(model, s.longest));
    }
    ImGui::SameLine(0, 0);
    FittedLabel(model.store().text(profiler::NameId(s.key)));
    const double times[] = {static_cast<double>(s.inside),
                            0,
                            s.mean(),
                            static_cast<double>(s.min),
                            static_cast<double>(s.p50),
                            static_cast<double>(s.p90),
                            static_cast<double>(s.p99),
                            static_cast<double>(s.max)};
    for (int c = 0; c < 8; ++c) {
      ImGui::TableNextColumn();
      RightLabel(c == 1 ? CountText(s.count) : TimeText(times[c]));
    }
  }

  profiler::TimeRange range_;
  bool asked_ = false;
  RowCursor cursor_;
  StatisticsKey key_;
  std::shared_ptr<const Rows> rows_;
  std::shared_ptr<const PathFacts> path_;  // null: all events are shown
};

}  // namespace

std::unique_ptr<View> MakeStatisticsView() { return std::make_unique<StatisticsView>(); }

}  // namespace hloscope::viewer
