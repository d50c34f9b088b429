#include "viewer/divergence/divergence_outcome.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "core/graph/count_text.h"
#include "core/hlo/index_text.h"
#include "viewer/lab/hover_values.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/pass_search.h"
#include "viewer/model/tasks.h"
#include "viewer/widgets/verdict_mark.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

// What the last columns of both tables say; blank where nothing differs.
struct Difference {
  int64_t mismatched = 0;
  double max_abs_error = 0, max_rel_error = 0;
  uint64_t max_ulp = 0;
};
void DrawDifference(const Difference& difference) {
  ImGui::TableNextColumn();
  RightLabel(SomeText(difference.mismatched));
  ImGui::TableNextColumn();
  RightLabel(ErrorText(difference.max_abs_error));
  ImGui::TableNextColumn();
  RightLabel(ErrorText(difference.max_rel_error));
  ImGui::TableNextColumn();
  RightLabel(UlpText(difference.max_ulp));
}

bool IsSelected(Frame& frame, const Experiment& experiment, const Finding& finding) {
  Navigation& navigation = frame.context.navigation;
  const ExperimentRequest& request = experiment.request();
  return navigation.module() == request.module_index &&
         navigation.InstructionIn(request.stage) == finding.instruction;
}
void Select(Frame& frame, const Experiment& experiment, const Finding& finding) {
  const ExperimentRequest& request = experiment.request();
  frame.context.navigation.Select(
      Selection::OfInstruction(request.module_index, request.stage, finding.instruction));
}

void DrawFinding(Frame& frame, const Experiment& experiment, const Finding& finding) {
  Context& context = frame.context;
  const hlo::Module& module = *experiment.module();
  const int32_t stage = experiment.request().stage;
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::PushID(static_cast<int>(finding.instruction.index));
  if (Row(frame, "##finding", IsSelected(frame, experiment, finding), false))
    Select(frame, experiment, finding);
  if (ImGui::IsItemHovered()) {
    const int32_t index = experiment.request().module_index;
    context.marks.Of<Hovered>() = {Selection::OfInstruction(index, stage, finding.instruction),
                                   ImGui::GetFrameCount()};
    const std::string values = HoverValues(context, index, stage, module, finding.instruction);
    const std::string note = finding.note.empty() ? "" : SafeText(finding.note, 800) + "\n";
    ImGui::SetTooltip("%s%s", note.c_str(), SafeLines(values).c_str());
  }
  ImGui::SameLine(0, 0);
  FittedLabel(module.name(finding.instruction));
  ImGui::TableNextColumn();
  Label(frame.theme, Color::kTextSecondary, hlo::ToString(module[finding.instruction].opcode));
  ImGui::TableNextColumn();
  VerdictLabel(frame, finding.verdict);
  DrawDifference(
      {finding.mismatched, finding.max_abs_error, finding.max_rel_error, finding.max_ulp});
  ImGui::PopID();
}

// "12 of 14 results have the same bits, the largest error is 1.2e-07 (3 ULP)".
std::string LargestOf(const VerdictCounts& counts, const Difference& largest, int64_t compared) {
  std::string text = fmt::format("{} of {} bit-identical", CountText(counts[Verdict::kSameBits]),
                                 graph::CountedText(static_cast<size_t>(compared), "result"));
  if (largest.max_abs_error > 0) {
    text += fmt::format(", the largest error is {} ({} ULP)", ErrorText(largest.max_abs_error),
                        UlpText(largest.max_ulp));
  }
  return text;
}

// What was compared with a bound is within it or beyond it, and the same only where bits are.
std::string OutcomeText(const debug::RunReport& report) {
  VerdictCounts counts;
  Difference largest;
  int64_t compared = 0;
  for (const debug::RunOutput& output : report.outputs) {
    if (!output.compared) continue;
    ++compared;
    counts.Add(VerdictOf(output.comparison));
    largest.max_abs_error = std::max(largest.max_abs_error, output.comparison.max_abs_error);
    largest.max_ulp = std::max(largest.max_ulp, output.comparison.max_ulp);
  }
  const bool judged =
      report.status == debug::RunStatus::kEqual || report.status == debug::RunStatus::kDiffers;
  if (report.status == debug::RunStatus::kRan) return "ran; nothing was compared";
  if (!judged || compared == 0) return debug::StatusText(report);
  if (report.status == debug::RunStatus::kDiffers) {
    const int64_t beyond = counts[Verdict::kBeyond] + counts[Verdict::kNotFinite];
    return fmt::format("beyond tolerance: {} of {}", CountText(beyond),
                       graph::CountedText(static_cast<size_t>(compared), "result"));
  }
  if (counts[Verdict::kSameBits] == compared) {
    return fmt::format("bit-identical: {}",
                       graph::CountedText(static_cast<size_t>(compared), "result"));
  }
  return "within tolerance: " + LargestOf(counts, largest, compared);
}

void DrawOutput(Frame& frame, const debug::RunOutput& output, int64_t nans) {
  const debug::LeafComparison& leaf = output.comparison;
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  Label(hlo::ShapeIndexText(leaf.index));
  ImGui::TableNextColumn();
  Label(hlo::ToString(leaf.shape, false));
  ImGui::TableNextColumn();
  VerdictLabel(frame, output.missing    ? Verdict::kFailed
                      : output.compared ? VerdictOf(leaf)
                                        : Verdict::kNotCompared);
  DrawDifference({leaf.mismatched, leaf.max_abs_error, leaf.max_rel_error, leaf.max_ulp});
  ImGui::TableNextColumn();
  if (nans > 0) RightLabel(frame.theme, Color::kError, CountText(nans));
}

// What equal bits hide: " (2 results hold NaN)".
std::string NanText(const Experiment& experiment) {
  const auto nans = experiment.output_nans();
  const auto count =
      static_cast<size_t>(std::ranges::count_if(nans, [](int64_t n) { return n > 0; }));
  if (count == 0) return {};
  return fmt::format("; {} {} NaN", graph::CountedText(count, "result"),
                     count == 1 ? "holds" : "hold");
}

// "generated inputs, seed 3", "inputs from a.npz".
std::string InputsOf(const Experiment& experiment) {
  const std::string inputs = InputsText(experiment.request());
  return experiment.request().inputs.files.empty() ? "generated inputs, " + inputs : inputs;
}

}  // namespace

bool DrawVerdictProgress(Frame& frame, int32_t module) {
  Context& context = frame.context;
  const Pending<debug::DivergeVerdict>* verdict = VerdictOn(context, module);
  const AskedVerdict* asked = AskedOn(context, module);
  if (verdict == nullptr || !verdict->waiting() || asked == nullptr) return false;
  if (ImGui::Button("Cancel")) context.tasks.Cancel(verdict->task);
  Help("stop this search");
  ImGui::SameLine();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - asked->since;
  float part = -1.0F * static_cast<float>(frame.seconds);
  for (const TaskState& task : context.tasks.Running()) {
    if (task.id != verdict->task || task.total <= 0) continue;
    part = static_cast<float>(task.done) / static_cast<float>(task.total);
  }
  const std::string text =
      fmt::format("{}, {:.1f} s", SearchTitle(asked->question), passed.count());
  ImGui::ProgressBar(part, ImVec2(-1, 0), SafeText(text, 120).c_str());
  return true;
}

std::string VerdictText(const Experiment& experiment) {
  const debug::RunReport* report = experiment.report();
  if (report == nullptr) return experiment.running() ? "running" : "not run yet";
  if (experiment.request().compare.find) {
    const char* what =
        *experiment.request().compare.find == debug::NonFiniteKind::kNan ? "NaN" : "infinity";
    if (report->first_nonfinite) {
      const debug::NonFinite& first = *report->first_nonfinite;
      return fmt::format("the first {} appears in {} ({}) in {}, with {}{}", what,
                         first.instruction, first.opcode, first.computation, InputsOf(experiment),
                         first.reaches_output ? "; it reaches an output" : "");
    }
    if (report->error) return report->error->ToString();
    return fmt::format("no {} found with {}", what, InputsOf(experiment));
  }
  if (report->first_divergent) {
    return fmt::format("{} and {} first differ beyond tolerance at {}", report->platform,
                       report->reference, report->first_divergent->instruction);
  }
  std::string text = OutcomeText(*report) + NanText(experiment);
  if (report->error) text += ": " + report->error->ToString();
  return text;
}

void DrawOutputs(Frame& frame, const debug::RunReport& report, std::span<const int64_t> nans) {
  const bool compared = std::ranges::any_of(report.outputs, &debug::RunOutput::compared);
  // A part of them at a time: the instructions below have room too.
  constexpr size_t kMaxRows = 6;
  const float rows = static_cast<float>(std::min(report.outputs.size(), kMaxRows)) + 1.2F;
  constexpr ImGuiTableFlags kFlags =
      ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY;
  const ImVec2 size(0, rows * (ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y));
  if (!compared || !ImGui::BeginTable("##outputs", 8, kFlags, size)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  for (const char* title :
       {"result", "shape", "verdict", "mismatched", "max error", "relative", "ULP", "NaN"}) {
    ImGui::TableSetupColumn(title);
  }
  static constexpr std::array kHelp = {"index in the result tuple",
                                       "element type and dimensions",
                                       "how its values compare",
                                       "elements beyond tolerance",
                                       "largest absolute error",
                                       "largest relative error",
                                       "largest error in units of the last place",
                                       "elements that are NaN on the platform"};
  HeaderRow(kHelp);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(report.outputs.size()));
  while (clipper.Step()) {
    for (int r = clipper.DisplayStart; r < clipper.DisplayEnd; ++r) {
      const auto at = static_cast<size_t>(r);
      DrawOutput(frame, report.outputs[at], at < nans.size() ? nans[at] : 0);
    }
  }
  ImGui::EndTable();
}

void DrawFindings(Frame& frame, const Experiment& experiment, const std::vector<size_t>& rows,
                  RowCursor& cursor) {
  constexpr ImGuiTableFlags kFlags =
      ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingFixedFit;
  if (!ImGui::BeginTable("##findings", 7, kFlags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("instruction", ImGuiTableColumnFlags_WidthStretch);
  for (const char* title : {"opcode", "verdict", "mismatched", "max error", "relative", "ULP"}) {
    ImGui::TableSetupColumn(title);
  }
  static constexpr std::array kHelp = {"instruction of the module",
                                       "its opcode",
                                       "how its values compare",
                                       "elements beyond tolerance",
                                       "largest absolute error",
                                       "largest relative error",
                                       "largest error in units of the last place"};
  HeaderRow(kHelp);
  const auto finding = [&](int r) -> const Finding& {
    return experiment.findings()[rows[static_cast<size_t>(r)]];
  };
  cursor.Draw(frame,
              {.count = static_cast<int>(rows.size()),
               .is_selected = [&](int r) { return IsSelected(frame, experiment, finding(r)); },
               .is_highlighted = {},
               .choose = [&](int r) { Select(frame, experiment, finding(r)); },
               .draw = [&](int r) { DrawFinding(frame, experiment, finding(r)); }});
  ImGui::EndTable();
}

}  // namespace hloscope::viewer
