// What files the dump has, what is wrong with them, and what is missing with the flag for it.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "viewer/facts/dump_facts.h"
#include "viewer/facts/file_facts.h"
#include "viewer/facts/missing_files.h"
#include "viewer/facts/outside_nodes.h"
#include "viewer/facts/run_notes.h"
#include "viewer/model/document.h"
#include "viewer/model/navigation.h"
#include "viewer/views/home/home_sections.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

// The same complaint about many files is one line, with the first of them.
void DrawGrouped(Frame& frame, const std::vector<std::string>& all) {
  std::map<std::string, std::vector<std::string>> groups;
  std::vector<std::string> order;
  for (const std::string& text : all) {
    size_t colon = text.find(": ");
    std::string what = colon == std::string::npos ? text : text.substr(colon + 2);
    auto& files = groups[what];
    if (files.empty()) order.push_back(what);
    files.push_back(colon == std::string::npos ? std::string() : text.substr(0, colon));
  }
  constexpr size_t kMax = 12;
  for (size_t i = 0; i < std::min(kMax, order.size()); ++i) {
    const std::vector<std::string>& files = groups[order[i]];
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kWarning]);
    ImGui::TextWrapped("%s", SafeText(order[i], 400).c_str());
    ImGui::PopStyleColor();
    std::string who = files.front();
    if (files.size() > 1) who += fmt::format(" and {} more", files.size() - 1);
    ImGui::Indent();
    if (!who.empty()) Sentence(frame, who);
    ImGui::Unindent();
  }
  if (order.size() > kMax)
    Sentence(frame, fmt::format("and {} more: `hloscope info` lists all", order.size() - kMax));
}

// The errors of the logs; gives their number.
size_t DrawLogged(Frame& frame, const dump::DumpModel& dump, const RunNotes& notes) {
  constexpr size_t kMax = 12;
  const std::vector<dump::LoggedError>& errors = notes.logged.errors;
  for (size_t i = 0; i < std::min(kMax, errors.size()); ++i) {
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kWarning]);
    ImGui::TextWrapped("%s", SafeText(fmt::format("{}: {}", dump::NameOf(errors[i].error.severity),
                                                  LoggedErrorText(dump, errors[i])),
                                      600)
                                 .c_str());
    ImGui::PopStyleColor();
  }
  if (errors.size() > kMax)
    Sentence(frame, fmt::format("and {} more: `hloscope info` lists all", errors.size() - kMax));
  return errors.size();
}

}  // namespace

void DrawRun(Frame& frame, const dump::DumpModel& dump) {
  const Pending<RunNotes>& notes = RunNotesOf(frame.context);
  if (notes.ready()) {
    if (const std::string failure = FailureText(dump, *notes); !failure.empty()) {
      ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kWarning]);
      ImGui::TextWrapped("%s", SafeText(failure, 600).c_str());
      ImGui::PopStyleColor();
    }
    for (const std::string& sentence : notes->bundle) Sentence(frame, SafeText(sentence, 600));
  }
  const Pending<dump::TensorFlowSummary>* graphs = TensorFlowOf(frame.context);
  if (graphs == nullptr || !graphs->ready()) return;
  const dump::ClusteringVerdict& verdict = (*graphs)->verdict;
  if (!verdict.sentence.empty()) Sentence(frame, SafeText("TensorFlow: " + verdict.sentence, 600));
  if (!verdict.fix.empty()) Sentence(frame, SafeText("fix: " + verdict.fix, 600));
}

void DrawFiles(Frame& frame, const dump::DumpModel& dump) {
  Section(frame, "Files", kHomeGap);
  const auto& roles = FileFactsOf(frame.context).roles;
  if (roles.empty()) Sentence(frame, "no files");
  if (!roles.empty() && ImGui::BeginTable("##files", 3, ImGuiTableFlags_SizingFixedFit)) {
    ImGui::TableSetupColumn("what", ImGuiTableColumnFlags_WidthStretch);
    ImGui::TableSetupColumn("count", ImGuiTableColumnFlags_WidthFixed, 60 * frame.scale);
    ImGui::TableSetupColumn("bytes", ImGuiTableColumnFlags_WidthFixed, 80 * frame.scale);
    for (const auto& [role, sums] : roles) {
      if (role == dump::FileRole::kUnknown) continue;
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      FittedLabel(dump::RowOf(role).description);
      ImGui::TableNextColumn();
      RightLabel(CountText(sums.first));
      ImGui::TableNextColumn();
      RightLabel(frame.theme, Color::kTextSecondary, BytesText(sums.second));
    }
    ImGui::EndTable();
  }
  if (!roles.contains(dump::FileRole::kUnknown)) return;
  if (const std::string unread = UnreadText(dump); !unread.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
    FittedLabel("not recognised: " + unread);
    ImGui::PopStyleColor();
  }
}

void DrawProblems(Frame& frame, const dump::DumpModel& dump) {
  Section(frame, "Problems", kHomeGap);
  std::vector<std::string> all(dump.warnings().begin(), dump.warnings().end());
  for (std::string& warning : dump.LateWarnings()) all.push_back(std::move(warning));
  if (frame.context.navigation.module() >= 0) {
    const Pending<ModuleFacts>& facts = FactsOf(frame.context, frame.context.navigation.module());
    if (facts.ready()) all.insert(all.end(), facts->problems.begin(), facts->problems.end());
  }
  const Pending<RunNotes>& notes = RunNotesOf(frame.context);
  size_t logged = 0;
  if (notes.failed()) all.push_back(notes.error.ToString());
  if (notes.ready()) {
    all.insert(all.end(), notes->logged.warnings.begin(), notes->logged.warnings.end());
    logged = DrawLogged(frame, dump, *notes);
  }
  std::set<std::string> seen;
  std::erase_if(all, [&](const std::string& text) {
    return !seen.insert(text).second || IsAboutUnread(dump, text);
  });
  if (notes.waiting()) Sentence(frame, "reading logs…");
  if (notes.ready() && !notes->fault.empty()) {
    Sentence(frame, SafeText("the bundle's run: " + notes->fault, 600));
  } else if (all.empty() && logged == 0 && !notes.waiting() && !dump.modules().empty()) {
    Label(frame.theme, Color::kGood, "no problems found");
  }
  DrawGrouped(frame, all);
}

void DrawMissing(Frame& frame, const dump::DumpModel& dump) {
  Section(frame, "Missing from the dump", kHomeGap);
  const int32_t module = frame.context.navigation.module();
  const ModuleFacts* facts = module < 0 ? nullptr : FactsOf(frame.context, module).value.get();
  int shown = 0;
  for (const dump::MissingPiece& piece : MissingFor(dump, module, facts)) {
    ImGui::PushID(shown++);
    ImGui::PushFont(frame.strong, 0);
    Label(piece.what);
    ImGui::PopFont();
    Sentence(frame, piece.why);
    if (!piece.flag.empty()) {
      ImGui::PushFont(frame.mono, 15);
      Label(frame.theme, Color::kAccent, piece.flag);
      ImGui::PopFont();
      const float button =
          ImGui::CalcTextSize("Copy flag").x + 2 * ImGui::GetStyle().FramePadding.x;
      ImGui::SameLine();
      if (ImGui::GetContentRegionAvail().x < button) ImGui::NewLine();
      if (ImGui::SmallButton("Copy flag")) ImGui::SetClipboardText(piece.flag.c_str());
      Help("copy this flag");
    }
    ImGui::PopID();
  }
  if (shown == 0 && module >= 0) Sentence(frame, NothingMissingText(dump));
}

}  // namespace hloscope::viewer
