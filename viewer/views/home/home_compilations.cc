// What was compiled again, and what of TensorFlow XLA never got.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/base/counted.h"
#include "core/graph/count_text.h"
#include "viewer/facts/dump_facts.h"
#include "viewer/facts/outside_nodes.h"
#include "viewer/model/document.h"
#include "viewer/model/navigation.h"
#include "viewer/views/home/home_sections.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

// "2 programs: 3 compilations avoidable, 1.2 s lost".
std::string AgainText(const debug::Recompilations& found) {
  if (found.programs.size() == 1) return debug::ToSentence(found.programs.front());
  double lost = -1;
  for (const debug::CompiledProgram& program : found.programs)
    if (program.lost_ms >= 0) lost = std::max(lost, 0.0) + program.lost_ms;
  return fmt::format("{}: {} avoidable, {} lost", Counted(found.programs.size(), "program"),
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
  Section(frame, "Recompilations", kHomeGap);
  Sentence(frame, AgainText(*found));
  if (!ImGui::BeginTable("##again", 4, ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_RowBg))
    return;
  ImGui::TableSetupColumn("module", ImGuiTableColumnFlags_WidthStretch, 0.8F);
  ImGui::TableSetupColumn("reason", ImGuiTableColumnFlags_WidthStretch, 2.0F);
  ImGui::TableSetupColumn("fix", ImGuiTableColumnFlags_WidthStretch, 1.6F);
  ImGui::TableSetupColumn("time", ImGuiTableColumnFlags_WidthFixed, 70 * frame.scale);
  static constexpr std::array kHelp = {
      "recompiled module", "why no earlier compilation could be reused",
      "how to avoid the recompilation", "compile time, from the log"};
  HeaderRow(kHelp);
  constexpr size_t kMax = 40;
  for (size_t i = 0; i < std::min(kMax, found->list.size()); ++i) DrawAgain(frame, found->list[i]);
  ImGui::EndTable();
  if (found->list.size() > kMax)
    Sentence(frame, fmt::format("and {} more: `hloscope info` lists all",
                                CountText(std::ssize(found->list) - static_cast<int64_t>(kMax))));
}

void DrawTensorFlow(Frame& frame) {
  const Pending<dump::TensorFlowSummary>* graphs = TensorFlowOf(frame.context);
  if (graphs == nullptr) return;
  Section(frame, "TensorFlow: nodes outside all clusters", kHomeGap);
  if (!ShowPending(frame, *graphs, "TensorFlow graphs")) return;
  const dump::TensorFlowSummary& summary = **graphs;
  Label(fmt::format("{}, {} outside", graph::CountedText(summary.clusters.size(), "cluster"),
                    graph::CountedText(summary.unclustered.size(), "node")));
  const std::vector<OutsideNodes> rows = OutsideTable(summary);
  constexpr size_t kMax = 40;
  if (rows.empty() ||
      !ImGui::BeginTable("##outside", 4, ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_RowBg))
    return;
  ImGui::TableSetupColumn("count", ImGuiTableColumnFlags_WidthFixed, 50 * frame.scale);
  ImGui::TableSetupColumn("operation", ImGuiTableColumnFlags_WidthStretch, 0.8F);
  ImGui::TableSetupColumn("reason", ImGuiTableColumnFlags_WidthStretch, 2.0F);
  ImGui::TableSetupColumn("names", ImGuiTableColumnFlags_WidthStretch, 0.6F);
  static constexpr std::array kHelp = {"nodes", "TensorFlow operation",
                                       "why they are not clustered, and how to fix it",
                                       "names of the nodes"};
  HeaderRow(kHelp);
  for (size_t i = 0; i < std::min(kMax, rows.size()); ++i) DrawOutside(frame, rows[i]);
  ImGui::EndTable();
  if (rows.size() > kMax)
    Sentence(frame, fmt::format("and {}: `hloscope info` lists all nodes",
                                graph::CountedText(rows.size() - kMax, "more operation")));
}

}  // namespace hloscope::viewer
