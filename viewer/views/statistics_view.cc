// Statistics: what took how long in the marked range of the timeline, or in all of it.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>

#include "core/base/jobs.h"
#include "profiler/range_statistics.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/facts/profile_model.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/timeline_camera.h"
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
      Sentence(
          frame,
          "no trace is open");
      return;
    }
    if (!ShowPending(frame, *profile, "the trace")) return;
    const profiler::EventStore& store = (*profile)->store();
    const TimelineRange& marked = frame.context.marks.timeline;
    profiler::TimeRange range{store.range().begin, store.range().end + 1};
    if (marked.is_set) range = marked.range;
    // While the range is being dragged nothing is computed.
    if (!ImGui::IsMouseDown(ImGuiMouseButton_Left) || !asked_) {
      range_ = range;
      asked_ = true;
    }
    Label(frame.theme, Color::kTextSecondary,
          marked.is_set ? fmt::format("{} from {}", TimeText(static_cast<double>(range.length())),
                                      ExactTimeText(range.begin - store.range().begin))
                        : "whole trace; drag on the time axis, or Shift+drag, to "
                          "select a range");
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

  std::string Lit(Context& context) const override {
    const Pending<ProfileModel>* profile = ProfileOf(context);
    if (rows_ == nullptr || rows_->empty() || profile == nullptr || !profile->ready()) return {};
    return fmt::format("{} {}\n", rows_->front().count,
                       (*profile)->store().text(profiler::NameId(rows_->front().key)));
  }

 private:
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

  static void DrawTable(Frame& frame, const ProfileModel& model, const Rows& rows) {
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                       ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV |
                                       ImGuiTableFlags_SizingFixedFit;
    if (!ImGui::BeginTable("##statistics", 9, kFlags)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("event", ImGuiTableColumnFlags_WidthStretch);
    for (const char* title : {"in range", "count", "mean", "min", "median", "p90", "p99", "max"}) {
      ImGui::TableSetupColumn(title, 0, 74 * frame.scale);
    }
    ImGui::TableHeadersRow();
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows.size()));
    while (clipper.Step()) {
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        DrawRow(frame, model, rows[static_cast<size_t>(i)]);
      }
    }
    ImGui::EndTable();
  }

  static void DrawRow(Frame& frame, const ProfileModel& model, const DurationStatistics& s) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    const Selection& now = frame.context.navigation.selection();
    const bool is_selected =
        now.kind == SelectionKind::kEvent && now.event == static_cast<int64_t>(s.longest.index);
    if (Row(frame, fmt::format("##name{}", s.key), is_selected, false)) {
      frame.context.navigation.Select(SelectionOf(frame.context, model, s.longest));
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
  StatisticsKey key_;
  std::shared_ptr<const Rows> rows_;
};

}  // namespace

std::unique_ptr<View> MakeStatisticsView() { return std::make_unique<StatisticsView>(); }

}  // namespace hloscope::viewer
