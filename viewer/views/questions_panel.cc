// A row for each question; a click asks it as its key does.
#include "viewer/views/questions_panel.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include "viewer/facts/answers.h"
#include "viewer/facts/dump_facts.h"
#include "viewer/model/document.h"
#include "viewer/model/experiment.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

// What the divergence lab found out about the module in view.
const debug::NonFinite* FoundNan(Context& context) {
  const Experiment& experiment = context.experiment;
  const bool is_it = experiment.report() != nullptr && experiment.request().compare.find &&
                     experiment.request().module_index == context.navigation.module();
  if (!is_it || !experiment.report()->first_nonfinite) return nullptr;
  return &*experiment.report()->first_nonfinite;
}

std::string TextOf(Context& context, const QuestionRow& row, const Answer* answer) {
  if (row.question == Question::kNan) {
    if (const debug::NonFinite* nan = FoundNan(context))
      return nan->instruction + (nan->source.empty() ? "" : ", " + nan->source);
  }
  if (answer == nullptr) return "…";
  const Pending<dump::DumpModel>& dump = context.document.dump();
  const int32_t module = context.navigation.module();
  const bool is_of_one = row.scope == QuestionScope::kModule && dump.ready() && module >= 0 &&
                         dump->modules().size() > 1 && answer->is_known;
  return is_of_one ? "in " + ModuleTitle(*dump, module) + ": " + answer->text : answer->text;
}

}  // namespace

void DrawQuestions(Frame& frame) {
  if (!ImGui::BeginTable("##questions", 3, ImGuiTableFlags_SizingFixedFit)) return;
  ImGui::TableSetupColumn("question", ImGuiTableColumnFlags_WidthFixed, 250 * frame.scale);
  ImGui::TableSetupColumn("answer", ImGuiTableColumnFlags_WidthStretch);
  ImGui::TableSetupColumn("key", ImGuiTableColumnFlags_WidthFixed, 50 * frame.scale);
  for (const QuestionRow& row : QuestionRows()) {
    const CommandRow& command = RowOf(row.command);
    const Answer* answer = AnswerTo(frame.context, row.question, false);
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    if (Row(frame, "##" + std::string(command.id), false, false))
      frame.context.requests.Run(row.command);
    Help(row.command);
    ImGui::SameLine(0, 0);
    Label(frame.theme, Color::kAccent, command.title);
    ImGui::TableNextColumn();
    const bool is_known = answer != nullptr && answer->is_known;
    ImGui::PushStyleColor(ImGuiCol_Text,
                          frame.theme[is_known ? Color::kText : Color::kTextSecondary]);
    FittedLabel(TextOf(frame.context, row, answer));
    ImGui::PopStyleColor();
    ImGui::TableNextColumn();
    RightLabel(frame.theme, Color::kTextSecondary, command.keys.substr(0, command.keys.find(' ')));
  }
  ImGui::EndTable();
}

std::string QuestionsText(Context& context) {
  std::string out;
  for (const QuestionRow& row : QuestionRows()) {
    out += fmt::format("\n{} {}", RowOf(row.command).title,
                       TextOf(context, row, AnswerTo(context, row.question, false)));
  }
  return out;
}

}  // namespace hloscope::viewer
