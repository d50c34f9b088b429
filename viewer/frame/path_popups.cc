// What asks for a path: opening, a second dump or profile, inputs.
#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/misc/cpp/imgui_stdlib.h>

#include <filesystem>

#include "viewer/frame/path_completion.h"
#include "viewer/frame/popups.h"
#include "viewer/lab/recorded_inputs.h"
#include "viewer/model/document.h"
#include "viewer/model/marks.h"
#include "viewer/model/requests.h"
#include "viewer/model/second_dump.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

constexpr size_t kMaxCompletions = 200;

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

// The field of a path: Tab completes it as far as there is one way to go on.
bool Popups::PathField(const char* hint) {
  if (fresh_) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(-1);
  const auto complete = [](ImGuiInputTextCallbackData* data) {
    const std::string_view typed(data->Buf, static_cast<size_t>(data->BufTextLen));
    const std::string longer = CommonBeginning(typed, CompletionsOf(typed, kMaxCompletions));
    data->DeleteChars(0, data->BufTextLen);
    data->InsertChars(0, longer.c_str());
    return 0;
  };
  const bool entered = ImGui::InputTextWithHint(
      "##field", hint, &text_,
      ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_CallbackCompletion, complete);
  Help(hint);
  return entered;
}

// The path that was chosen, of those opened before or typed; empty: none yet. One that is not there
// is refused, and what is open stays open.
std::string Popups::AskForPath(Frame& frame, const char* title, const char* hint,
                               const Actions& actions) {
  std::string path;
  if (Begin(frame, "##open", 760, 480)) {
    Title(frame, title);
    const bool entered = PathField(hint);
    path = ChoosePath(frame, entered, actions);
  }
  End();
  if (!path.empty()) Close();
  return path;
}

// The list below the field of a path.
std::string Popups::ChoosePath(Frame& frame, bool entered, const Actions& actions) {
  std::string path;
  if (entered) path = text_;
  if (listed_ != text_) {
    listed_ = text_;
    entries_ = text_.empty() ? std::vector<std::string>() : CompletionsOf(text_, kMaxCompletions);
    refusal_.clear();
  }
  if (!refusal_.empty()) Label(frame.theme, Color::kError, refusal_);
  if (!text_.empty()) {
    if (ImGui::Button("Open")) path = text_;
    Help("open this path\nEnter");
  }
  ImGui::BeginChild("##paths");
  if (!entries_.empty())
    Label(frame.theme, Color::kTextSecondary, "in this folder (Tab completes)");
  std::string into;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const std::string label = SafeText(entries_[i], 100) + "##entry" + std::to_string(i);
    const bool pressed = ImGui::Selectable(label.c_str());
    WholeIfCut(entries_[i], SafeText(entries_[i], 100));
    if (!pressed) continue;
    // A folder is gone into; Open or Enter open it as a dump.
    (entries_[i].ends_with('/') ? into : path) = entries_[i];
  }
  if (!into.empty()) text_ = into;
  if (actions.recent != nullptr) Label(frame.theme, Color::kTextSecondary, "recent");
  if (actions.recent != nullptr && actions.recent->empty()) Sentence(frame, "no recent files");
  for (size_t i = 0; actions.recent != nullptr && i < actions.recent->size(); ++i) {
    const std::string& recent = (*actions.recent)[i];
    std::string label = SafeText(recent, 100) + "##recent" + std::to_string(i);
    if (ImGui::Selectable(label.c_str())) path = recent;
    WholeIfCut(recent, SafeText(recent, 100));
  }
  ImGui::EndChild();
  if (!path.empty() && !Exists(path)) {
    refusal_ = "there is no " + path + "; choose one below or type another path";
    path.clear();
  }
  return path;
}

void Popups::DrawOpen(Frame& frame, const Actions& actions) {
  std::string path =
      AskForPath(frame, "Open",
                 "path of a dump directory, module or profile; or drop it on the window", actions);
  if (!path.empty()) actions.open({std::move(path)});
}

void Popups::DrawCompareProfile(Frame& frame, const Actions& actions) {
  std::string path =
      AskForPath(frame, "Compare with a second profile",
                 "path of a trace, or of a dump directory that contains one", actions);
  if (path.empty()) return;
  frame.context.document.CompareWith(std::move(path));
  frame.context.requests.Show("kernels");
}

void Popups::DrawInputs(Frame& frame) {
  std::string path =
      AskForPath(frame, "Run on inputs from a file",
                 "path of an .npz, a snapshot, a bundle, or a folder with input_N.npy", {});
  if (path.empty()) return;
  frame.context.marks.Of<ChosenInputs>().path = std::move(path);
  frame.context.requests.Show("divergence");
}

// Stages and modules by name; anything else is the path of a second dump.
void Popups::DrawCompare(Frame& frame, const Actions& actions) {
  std::optional<Comparison> chosen;
  std::string path;
  Context& context = frame.context;
  if (Begin(frame, "##compare", 760, 560) && context.document.dump().ready()) {
    Title(frame, "Compare with …");
    const bool enter = PathField("name of a stage, pass or module, or path of another dump");
    if (ImGui::IsItemEdited()) chosen_ = 0;
    constexpr size_t kMax = 400;
    const std::vector<ComparisonChoice> choices = ComparisonChoices(context, text_, kMax);
    if (choices.empty() && !text_.empty()) {
      path = ChoosePath(frame, enter, actions);
    } else {
      path = ChooseRecentDump(context);
      chosen = ChooseStage(choices, enter);
    }
  }
  End();
  if (!path.empty()) {
    Close();
    context.second.Open(std::move(path));
    context.requests.Show("two-dumps");
  } else if (chosen) {
    Close();
    context.marks.Of<Comparison>() = *chosen;
    context.requests.Show("changes");
  }
}

// A few of the paths that were opened before.
std::string Popups::ChooseRecentDump(const Context& context) const {
  constexpr int kMaxRecent = 4;
  std::string path;
  int shown = 0;
  for (const std::string& recent : context.recent) {
    std::error_code error;
    if (!text_.empty() || shown == kMaxRecent) break;
    if (std::filesystem::absolute(context.document.path(), error) == recent) continue;
    const std::string label = "second dump: " + SafeText(recent, 90);
    if (ImGui::Selectable(fmt::format("{}##recent{}", label, shown++).c_str())) path = recent;
    Help(recent + "\ncompare the dump with this one");
  }
  if (shown > 0) ImGui::Separator();
  return path;
}

std::optional<Comparison> Popups::ChooseStage(const std::vector<ComparisonChoice>& choices,
                                              bool enter) {
  std::optional<Comparison> chosen;
  MoveChosen(static_cast<int>(choices.size()));
  ImGui::BeginChild("##list");
  for (size_t i = 0; i < choices.size(); ++i) {
    const bool is_chosen = static_cast<int>(i) == chosen_;
    const std::string label = fmt::format("{}##choice{}", SafeText(choices[i].text, 100), i);
    if (ImGui::Selectable(label.c_str(), is_chosen) || (is_chosen && enter))
      chosen = choices[i].comparison;
    WholeIfCut(choices[i].text, SafeText(choices[i].text, 100));
    if (is_chosen && !ImGui::IsItemVisible()) ImGui::SetScrollHereY(0.5f);
  }
  ImGui::EndChild();
  return chosen;
}

}  // namespace hloscope::viewer
