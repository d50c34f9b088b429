// Words and switches above the lanes.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <utility>

#include "viewer/facts/path_facts.h"
#include "viewer/facts/profile_model.h"
#include "viewer/model/document.h"
#include "viewer/model/marks.h"
#include "viewer/model/requests.h"
#include "viewer/timeline/timeline_painter.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

// Words one after another, on a new line where they do not fit.
class LegendLine {
 public:
  explicit LegendLine(Frame& frame) : frame_(frame) {}

  void Entry(Color color, const std::string& text, const char* help) {
    Room(ImGui::CalcTextSize(text.c_str()).x + 18 * frame_.scale);
    Label(frame_.theme, color, "■");
    ImGui::SameLine(0, 4 * frame_.scale);
    Label(frame_.theme, Color::kTextSecondary, text);
    if (ImGui::IsItemHovered()) ImGui::SetTooltip("%s", help);
  }
  void Words(const std::string& text, Color color = Color::kTextSecondary) {
    Room(ImGui::CalcTextSize(text.c_str()).x);
    Label(frame_.theme, color, text);
  }
  void Room(float width) {
    if (!is_first_) SameLineIfRoom(width + 4 * frame_.scale);
    is_first_ = false;
    ImGui::AlignTextToFramePadding();  // switches are in the same line
  }

 private:
  Frame& frame_;
  bool is_first_ = true;
};

std::string HelpOf(Command command) {
  const CommandRow& row = RowOf(command);
  return fmt::format("{}{}{}", row.help, row.keys.empty() ? "" : ": ", row.keys);
}

}  // namespace

std::string OverlapText(const TimelineFacts& facts) {
  return fmt::format(
      "collectives: {:.0f} % overlap with compute",
      100 * static_cast<double>(facts.hidden) / static_cast<double>(facts.collective));
}

void DrawTimelineLegend(Frame& frame, const TimelineFacts& facts) {
  LegendLine line(frame);
  for (size_t c = 0; c < kTimelineCategories; ++c) {
    const auto category = static_cast<TimelineCategory>(c);
    const bool is_host = category == TimelineCategory::kHost;
    if (facts.busy[c] == 0 && !is_host) continue;
    std::string text(WordOf(category));
    if (!is_host) text += " " + TimeText(static_cast<double>(facts.busy[c]));
    line.Entry(ColorOf(category), text,
               is_host ? "host threads, and host events not attributed to an instruction"
                       : "time during which an event of this kind runs");
  }
  if (!facts.steps.empty()) {
    line.Words(CountedText(facts.steps.size(), facts.step_word));
    if (ImGui::IsItemHovered()) ImGui::SetTooltip("click a name above the lanes to select it");
  }
  if (facts.has_overlap()) {
    line.Words(OverlapText(facts), Color::kText);
    if (ImGui::IsItemHovered())
      ImGui::SetTooltip("%s of %s of collectives overlap compute on the same device",
                        TimeText(static_cast<double>(facts.hidden)).c_str(),
                        TimeText(static_cast<double>(facts.collective)).c_str());
  }
  line.Room(CheckboxWidth("Critical path"));
  ImGui::Checkbox("Critical path", &frame.context.marks.Of<TimelineMarks>().critical_path);
  if (ImGui::IsItemHovered()) ImGui::SetTooltip("%s", HelpOf(Command::kCriticalPath).c_str());
}

void DrawPathSums(Frame& frame, const Pending<PathFacts>* path, std::string_view of_what) {
  if (path == nullptr || path->waiting()) {
    Sentence(frame, "finding the critical path …");
    return;
  }
  if (!ShowPending(frame, *path, "the critical path")) return;
  LegendLine line(frame);
  line.Words(PathText((*path)->path, of_what), Color::kText);
  if (ImGui::IsItemHovered()) ImGui::SetTooltip("%s", PathHelp((*path)->path).c_str());
  for (size_t c = 0; c < kTimelineCategories; ++c) {
    if ((*path)->busy[c] == 0) continue;
    const auto category = static_cast<TimelineCategory>(c);
    line.Entry(
        ColorOf(category),
        fmt::format("{} {}", WordOf(category), TimeText(static_cast<double>((*path)->busy[c]))),
        "time of this kind on the critical path");
  }
  const auto unsure = (*path)->path.links[static_cast<size_t>(profiler::PathLink::kTime)];
  if (unsure > 0) {
    line.Words(fmt::format("{} of {} links inferred from timing only", CountText(unsure),
                           CountText(std::ssize((*path)->path.steps))),
               Color::kWarning);
    if (ImGui::IsItemHovered())
      ImGui::SetTooltip("%s", std::string(ExplanationOf(profiler::PathLink::kTime)).c_str());
  }
}

void DrawTraceComparison(Frame& frame, const SecondTrace& second, std::string_view first_path) {
  if (!second.problem.empty()) {
    Sentence(frame, "cannot show the second profile: " + second.problem);
    return;
  }
  if (second.model == nullptr) {
    Sentence(frame, "loading the second profile …");
    return;
  }
  const bool swapped = frame.context.marks.Of<TimelineMarks>().profiles_swapped;
  auto [before, after] = NamesApart(std::string(first_path), second.model->path);
  if (swapped) std::swap(before, after);
  LegendLine line(frame);
  line.Words(fmt::format("before: {}, after: {}, aligned {}", SafeText(before, 60),
                         SafeText(after, 60), second.partners->aligned_by),
             Color::kText);
  if (ImGui::IsItemHovered()) {
    ImGui::SetTooltip("%s", SafeLines(fmt::format("before: {}\nafter: {}\naligned {}", before,
                                                  after, second.partners->aligned_by))
                                .c_str());
  }
  if (const std::string missing = second.partners->MissingText(swapped); !missing.empty()) {
    line.Words(missing, Color::kWarning);
    if (ImGui::IsItemHovered())
      ImGui::SetTooltip("%s", SafeLines(second.partners->MissingNames(swapped)).c_str());
  }
  line.Room(ButtonWidth("Swap"));
  if (ImGui::Button("Swap")) frame.context.requests.Run(Command::kSwapProfiles);
  if (ImGui::IsItemHovered()) ImGui::SetTooltip("%s", HelpOf(Command::kSwapProfiles).c_str());
  if (frame.context.document.second_profile().empty()) return;
  line.Room(ButtonWidth("Stop comparing"));
  if (ImGui::Button("Stop comparing")) frame.context.requests.Run(Command::kStopComparing);
  if (ImGui::IsItemHovered()) ImGui::SetTooltip("%s", HelpOf(Command::kStopComparing).c_str());
}

}  // namespace hloscope::viewer
