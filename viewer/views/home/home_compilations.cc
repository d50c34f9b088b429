// What was compiled again, and what of TensorFlow XLA never got.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/base/counted.h"
#include "viewer/facts/answers.h"
#include "viewer/facts/dump_facts.h"
#include "viewer/model/document.h"
#include "viewer/model/navigation.h"
#include "viewer/views/home/home_sections.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

// "2 programs, 3 compilations too many, 1.2 s lost".
std::string AgainText(const debug::Recompilations& found) {
  if (found.programs.size() == 1) return debug::ToSentence(found.programs.front());
  double lost = -1;
  for (const debug::CompiledProgram& program : found.programs)
    if (program.lost_ms >= 0) lost = std::max(lost, 0.0) + program.lost_ms;
  return fmt::format("{}, {} too many, {} lost", Counted(found.programs.size(), "program"),
                     Counted(found.list.size(), "compilation"), debug::CompileTimeText(lost));
}

void DrawAgain(Frame& frame, const debug::Recompilation& one) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  const std::string title = one.modules.empty() ? one.program : one.modules.back();
  if (one.module < 0) {
    FittedLabel(title);
  } else if (Choice(title, fmt::format("again{}", one.module))) {
    frame.context.navigation.Select(Selection::OfModule(one.module));
  }
  ImGui::TableNextColumn();
  FittedLabel(debug::ToSentence(one.cause) + (one.place.empty() ? "" : ", called at " + one.place));
  ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
  ImGui::TableNextColumn();
  FittedLabel(debug::FixOf(one));
  ImGui::TableNextColumn();
  RightLabel(one.compile_ms < 0 ? std::string("–") : debug::CompileTimeText(one.compile_ms));
  ImGui::PopStyleColor();
}

void DrawOutside(Frame& frame, const OutsideNodes& row) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  RightLabel(CountText(std::ssize(row.names)));
  ImGui::TableNextColumn();
  FittedLabel(row.op);
  ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
  ImGui::TableNextColumn();
  std::string reason = row.reason.empty() ? "reason unknown" : row.reason;
  if (!row.fix.empty()) reason += "; fix: " + row.fix;
  FittedLabel(reason);
  ImGui::TableNextColumn();
  std::string names;
  for (const std::string& name : row.names) {
    if (names.size() > 400) break;
    names += (names.empty() ? "" : ", ") + name;
  }
  FittedLabel(names);
  ImGui::PopStyleColor();
}

}  // namespace

void DrawCompiledAgain(Frame& frame) {
  const debug::Recompilations* found = RecompilationsOf(frame.context);
  if (found == nullptr) return;
  Section(frame, "Compiled again", kHomeGap);
  Sentence(frame, AgainText(*found));
  if (!ImGui::BeginTable("##again", 4, ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_RowBg))
    return;
  ImGui::TableSetupColumn("module", ImGuiTableColumnFlags_WidthStretch, 0.8F);
  ImGui::TableSetupColumn("reason", ImGuiTableColumnFlags_WidthStretch, 2.0F);
  ImGui::TableSetupColumn("fix", ImGuiTableColumnFlags_WidthStretch, 1.6F);
  ImGui::TableSetupColumn("time", ImGuiTableColumnFlags_WidthFixed, 70 * frame.scale);
  static constexpr std::array kHelp = {
      "the module that was compiled again", "why no earlier compilation fitted",
      "what would save the compilation", "time that the compilation took, of the log"};
  HeaderRow(kHelp);
  constexpr size_t kMost = 40;
  for (size_t i = 0; i < std::min(kMost, found->list.size()); ++i) DrawAgain(frame, found->list[i]);
  ImGui::EndTable();
  if (found->list.size() > kMost)
    Sentence(frame, fmt::format("and {} more: `hloscope info` lists all",
                                CountText(std::ssize(found->list) - static_cast<int64_t>(kMost))));
}

void DrawTensorFlow(Frame& frame) {
  const Pending<dump::TensorFlowSummary>* graphs = TensorFlowOf(frame.context);
  if (graphs == nullptr) return;
  Section(frame, "TensorFlow: nodes outside all clusters", kHomeGap);
  if (!ShowPending(frame, *graphs, "TensorFlow's graphs")) return;
  const dump::TensorFlowSummary& summary = **graphs;
  Label(fmt::format("{} clusters, {} nodes outside",
                    CountText(static_cast<int64_t>(summary.clusters.size())),
                    CountText(static_cast<int64_t>(summary.unclustered.size()))));
  const std::vector<OutsideNodes> rows = OutsideTable(summary);
  constexpr size_t kMost = 40;
  if (rows.empty() ||
      !ImGui::BeginTable("##outside", 4, ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_RowBg))
    return;
  ImGui::TableSetupColumn("count", ImGuiTableColumnFlags_WidthFixed, 50 * frame.scale);
  ImGui::TableSetupColumn("operation", ImGuiTableColumnFlags_WidthStretch, 0.8F);
  ImGui::TableSetupColumn("reason", ImGuiTableColumnFlags_WidthStretch, 2.0F);
  ImGui::TableSetupColumn("names", ImGuiTableColumnFlags_WidthStretch, 0.6F);
  static constexpr std::array kHelp = {"nodes", "operation of TensorFlow",
                                       "why they are in no cluster, and what would change it",
                                       "names of the nodes"};
  HeaderRow(kHelp);
  for (size_t i = 0; i < std::min(kMost, rows.size()); ++i) DrawOutside(frame, rows[i]);
  ImGui::EndTable();
  if (rows.size() > kMost)
    Sentence(frame, fmt::format("and {} more operations: `hloscope info` lists all nodes",
                                CountText(std::ssize(rows) - static_cast<int64_t>(kMost))));
}

}  // namespace hloscope::viewer
