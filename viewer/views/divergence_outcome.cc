// Tables of the divergence lab.
#include "viewer/views/divergence_outcome.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/pass_search.h"
#include "viewer/model/tasks.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

std::string ErrorText(double error) {
  if (error == 0) return "0";
  return std::isfinite(error) ? fmt::format("{:.2e}", error) : "inf";
}

std::string UlpText(uint64_t ulp) {
  return ulp > 999'999'999 ? "far" : CountText(static_cast<int64_t>(ulp));
}

void DrawFinding(Frame& frame, const Experiment& experiment, const Finding& finding) {
  Context& context = frame.context;
  const hlo::Module& module = *experiment.module();
  const int32_t stage = experiment.request().stage;
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::PushID(static_cast<int>(finding.instruction.index));
  const bool selected = context.navigation.InstructionIn(stage) == finding.instruction;
  if (Row(frame, "##finding", selected, false)) {
    context.navigation.Select(
        Selection::OfInstruction(experiment.request().module_index, stage, finding.instruction));
  }
  if (!finding.note.empty() && ImGui::IsItemHovered()) {
    ImGui::SetTooltip("%s", SafeText(finding.note, 800).c_str());
  }
  ImGui::SameLine();
  FittedLabel(module.name(finding.instruction));
  ImGui::TableNextColumn();
  Label(frame.theme, Color::kTextSecondary, hlo::ToString(module[finding.instruction].opcode));
  ImGui::TableNextColumn();
  const bool plain = finding.verdict == Verdict::kSameBits;
  Label(frame.theme, plain ? Color::kTextSecondary : ColorOf(finding.verdict),
        ToString(finding.verdict));
  const bool compared = finding.verdict != Verdict::kFailed;
  ImGui::TableNextColumn();
  RightLabel(compared ? CountText(finding.mismatched) : "");
  ImGui::TableNextColumn();
  RightLabel(compared ? ErrorText(finding.max_abs_error) : "");
  ImGui::TableNextColumn();
  RightLabel(compared ? ErrorText(finding.max_rel_error) : "");
  ImGui::TableNextColumn();
  RightLabel(compared ? UlpText(finding.max_ulp) : "");
  ImGui::PopID();
}

}  // namespace

bool DrawVerdictProgress(Frame& frame, int32_t module) {
  Context& context = frame.context;
  const Pending<debug::DivergeVerdict>* verdict = VerdictOn(context, module);
  const AskedVerdict* asked = AskedOn(context, module);
  if (verdict == nullptr || !verdict->waiting() || asked == nullptr) return false;
  if (ImGui::Button("Cancel")) context.tasks.Cancel(verdict->task);
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
  if (experiment.request().find) {
    const char* what =
        *experiment.request().find == debug::NonFiniteKind::kNan ? "NaN" : "infinity";
    if (report->first_nonfinite) {
      const debug::NonFinite& first = *report->first_nonfinite;
      return fmt::format("the first {} appears in {} ({}) in {}{}", what, first.instruction,
                         first.opcode, first.computation,
                         first.reaches_output ? "; it reaches an output" : "");
    }
    if (report->error) return report->error->ToString();
    return fmt::format("no {} found", what);
  }
  if (report->first_divergent) {
    return fmt::format("{} and {} first differ at {}", report->platform, report->reference,
                       report->first_divergent->instruction);
  }
  std::string text(debug::ToString(report->status));
  if (report->error) text += ": " + report->error->ToString();
  return text;
}

void DrawOutputs(Frame& frame, const debug::RunReport& report) {
  const bool compared = std::ranges::any_of(report.outputs, &debug::RunOutput::compared);
  if (!compared ||
      !ImGui::BeginTable("##outputs", 6, ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_RowBg))
    return;
  for (const char* title : {"result", "shape", "mismatched", "max error", "relative", "ULP"}) {
    ImGui::TableSetupColumn(title);
  }
  ImGui::TableHeadersRow();
  constexpr size_t kMostShown = 12;
  for (size_t i = 0; i < std::min(report.outputs.size(), kMostShown); ++i) {
    const debug::LeafComparison& leaf = report.outputs[i].comparison;
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    Label(fmt::format("{{{}}}", fmt::join(leaf.index, ",")));
    ImGui::TableNextColumn();
    Label(hlo::ToString(leaf.shape, false));
    ImGui::TableNextColumn();
    RightLabel(frame.theme, leaf.equal() ? Color::kText : Color::kBeyondBound,
               fmt::format("{} of {}", CountText(leaf.mismatched), CountText(leaf.elements)));
    ImGui::TableNextColumn();
    RightLabel(ErrorText(leaf.max_abs_error));
    ImGui::TableNextColumn();
    RightLabel(ErrorText(leaf.max_rel_error));
    ImGui::TableNextColumn();
    RightLabel(UlpText(leaf.max_ulp));
  }
  ImGui::EndTable();
  if (report.outputs.size() > kMostShown) {
    Sentence(frame, fmt::format("and {} more results", report.outputs.size() - kMostShown));
  }
}

void DrawFindings(Frame& frame, const Experiment& experiment, const std::vector<size_t>& rows) {
  constexpr ImGuiTableFlags kFlags =
      ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingFixedFit;
  if (!ImGui::BeginTable("##findings", 7, kFlags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("instruction", ImGuiTableColumnFlags_WidthStretch);
  for (const char* title : {"opcode", "verdict", "mismatched", "max error", "relative", "ULP"}) {
    ImGui::TableSetupColumn(title);
  }
  ImGui::TableHeadersRow();
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(rows.size()));
  while (clipper.Step()) {
    for (int r = clipper.DisplayStart; r < clipper.DisplayEnd; ++r) {
      DrawFinding(frame, experiment, experiment.findings()[rows[static_cast<size_t>(r)]]);
    }
  }
  ImGui::EndTable();
}

}  // namespace hloscope::viewer
