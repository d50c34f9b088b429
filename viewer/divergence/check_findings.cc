// A table, and the way from a finding to the panel Thread.
#include "viewer/divergence/check_findings.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>

#include "core/debug/run/finding_text.h"
#include "core/graph/count_text.h"
#include "core/hlo/analysis/find_instruction.h"
#include "viewer/lab/thread_trace.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using replay::RunFinding;

std::array<uint32_t, 3> Index(const std::array<int64_t, 3>& index) {
  return {static_cast<uint32_t>(index[0]), static_cast<uint32_t>(index[1]),
          static_cast<uint32_t>(index[2])};
}

std::string ThreadText(const RunFinding::Side& side) {
  return fmt::format("{}; {}", IndexText(Index(side.block)), IndexText(Index(side.thread)));
}

// Kernels of a dump belong to its final stage, whatever stage was run.
void SelectInstruction(Context& context, int32_t module, const RunFinding& finding) {
  const int32_t stage = context.document.dump()->FinalStage(module);
  const Pending<hlo::Module>& final = context.data.Module(module, stage);
  if (!final.ready()) return;
  const hlo::InstructionId id = hlo::FindInstruction(*final, finding.instruction);
  if (id.valid()) context.navigation.Select(Selection::OfInstruction(module, stage, id));
}

void ShowThread(Context& context, int32_t module, const RunFinding& finding,
                const RunFinding::Side& side) {
  context.marks.Of<ThreadMarks>().wanted = WantedThread{.module = module,
                                                        .kernel = finding.kernel,
                                                        .block = Index(side.block),
                                                        .thread = Index(side.thread),
                                                        .line = static_cast<uint32_t>(side.line)};
  context.requests.Show("thread");
}

void DrawThreadButton(Frame& frame, int32_t module, const RunFinding& finding,
                      const std::optional<RunFinding::Side>& side, const char* label) {
  ImGui::TableNextColumn();
  if (!side || finding.kernel.empty()) return;
  if (ImGui::SmallButton(fmt::format("{}##{}", ThreadText(*side), label).c_str()))
    ShowThread(frame.context, module, finding, *side);
  Help("step through this thread: " + debug::SideText(*side));
}

void DrawCheckFinding(Frame& frame, int32_t module, const RunFinding& finding) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  if (Row(frame, "##check", false, false)) SelectInstruction(frame.context, module, finding);
  Help(debug::FindingText(finding));
  ImGui::SameLine(0, 0);
  Label(frame.theme, Color::kBeyondBound, finding.kind);
  ImGui::TableNextColumn();
  FittedLabel(finding.instruction);
  ImGui::TableNextColumn();
  FittedLabel(finding.kernel);
  ImGui::TableNextColumn();
  if (finding.at) RightLabel(std::to_string(finding.at->line));
  ImGui::TableNextColumn();
  FittedLabel(finding.at ? finding.at->form + " " + finding.what : finding.what);
  ImGui::TableNextColumn();
  if (!finding.memory.empty()) Label(fmt::format("{} of {}", finding.byte, finding.memory));
  DrawThreadButton(frame, module, finding, finding.at, "at");
  DrawThreadButton(frame, module, finding, finding.other, "other");
  ImGui::TableNextColumn();
  RightLabel(CountText(finding.count));
}

}  // namespace

void DrawCheckFindings(Frame& frame, const Experiment& experiment) {
  const debug::RunReport* report = experiment.report();
  if (report == nullptr || report->checks.empty()) return;
  Label(frame.theme, Color::kBeyondBound,
        fmt::format("the checks of the simulated GPU found {}",
                    graph::CountedText(report->checks.size(), "fault")));
  // A part of them at a time: the results below have room too.
  constexpr size_t kMaxRows = 6;
  const float rows = static_cast<float>(std::min(report->checks.size(), kMaxRows)) + 1.2F;
  constexpr ImGuiTableFlags kFlags =
      ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY;
  const ImVec2 size(0, rows * (ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y));
  if (!ImGui::BeginTable("##checks", 9, kFlags, size)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("check");
  ImGui::TableSetupColumn("instruction", ImGuiTableColumnFlags_WidthStretch, 1);
  ImGui::TableSetupColumn("kernel", ImGuiTableColumnFlags_WidthStretch, 1);
  ImGui::TableSetupColumn("line");
  ImGui::TableSetupColumn("what", ImGuiTableColumnFlags_WidthStretch, 2);
  ImGui::TableSetupColumn("byte");
  ImGui::TableSetupColumn("thread");
  ImGui::TableSetupColumn("other");
  ImGui::TableSetupColumn("times");
  static constexpr std::array kHelp = {"kind of finding",
                                       "instruction that launched the kernel",
                                       "function in the PTX",
                                       "line of the PTX",
                                       "the PTX instruction, and what is wrong with it",
                                       "address and memory space",
                                       "block and thread; click to step through it",
                                       "block and thread of the other access",
                                       "number of occurrences"};
  HeaderRow(kHelp);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(report->checks.size()));
  while (clipper.Step()) {
    for (int r = clipper.DisplayStart; r < clipper.DisplayEnd; ++r) {
      ImGui::PushID(r);
      DrawCheckFinding(frame, experiment.request().module_index,
                       report->checks[static_cast<size_t>(r)]);
      ImGui::PopID();
    }
  }
  ImGui::EndTable();
}

}  // namespace hloscope::viewer
