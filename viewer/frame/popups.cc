// Palette, search, keys and the question for a path.
#include "viewer/frame/popups.h"

#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/misc/cpp/imgui_stdlib.h>

#include <algorithm>
#include <filesystem>

#include "viewer/facts/comparison.h"
#include "viewer/frame/path_completion.h"
#include "viewer/lab/recorded_inputs.h"
#include "viewer/model/bookmark.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/model/task_cache.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

constexpr size_t kMaxCompletions = 200;

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

void Popups::Show(Kind kind) {
  kind_ = kind;
  fresh_ = true;
  chosen_ = 0;
  text_.clear();
}

void Popups::ShowSearch(std::string words) {
  Show(Kind::kSearch);
  text_ = std::move(words);
}

void Popups::ShowExport(std::string title, std::string path) {
  Show(Kind::kExport);
  title_ = std::move(title);
  text_ = std::move(path);
}

void Popups::ShowBundle(std::string path) {
  Show(Kind::kBundle);
  text_ = std::move(path);
}

void Popups::Draw(Frame& frame, const Actions& actions) {
  switch (kind_) {
    case Kind::kNone:
      return;
    case Kind::kKeys:
      return DrawKeys(frame);
    case Kind::kPalette:
      return DrawPalette(frame, actions);
    case Kind::kSearch:
      return DrawSearch(frame);
    case Kind::kOpen:
      return DrawOpen(frame, actions);
    case Kind::kNote:
      return DrawNote(frame);
    case Kind::kCompare:
      return DrawCompare(frame);
    case Kind::kExport:
      return DrawExport(frame, actions);
    case Kind::kInputs:
      return DrawInputs(frame);
    case Kind::kCompareProfile:
      return DrawCompareProfile(frame, actions);
    case Kind::kBundle:
      return DrawBundle(frame);
  }
}

bool Popups::Begin(Frame& frame, const char* name, float width, float height) {
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  ImVec2 size(std::min(width * frame.scale, viewport->WorkSize.x - 40),
              std::min(height * frame.scale, viewport->WorkSize.y - 80));
  ImGui::SetNextWindowPos(ImVec2(viewport->WorkPos.x + (viewport->WorkSize.x - size.x) / 2,
                                 viewport->WorkPos.y + 52 * frame.scale));
  ImGui::SetNextWindowSize(size);
  if (fresh_) ImGui::SetNextWindowFocus();
  ImGui::PushStyleColor(ImGuiCol_WindowBg, frame.theme[Color::kRaised]);
  ImGui::PushStyleColor(ImGuiCol_FrameBg, frame.theme[Color::kCanvas]);
  bool open = ImGui::Begin(name, nullptr,
                           ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize |
                               ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoDocking |
                               ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoCollapse);
  // A click elsewhere closes the popup, as Escape does.
  if (!fresh_ && !ImGui::IsWindowFocused(ImGuiFocusedFlags_RootAndChildWindows))
    kind_ = Kind::kNone;
  return open;
}

void Popups::End() {
  ImGui::End();
  ImGui::PopStyleColor(2);
  fresh_ = false;
}

// The field of a popup; true when Enter was pressed in it.
bool Popups::Field(const char* hint) {
  if (fresh_) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(-1);
  const bool entered =
      ImGui::InputTextWithHint("##field", hint, &text_, ImGuiInputTextFlags_EnterReturnsTrue);
  Help(hint);
  return entered;
}

void Popups::MoveChosen(int count) {
  if (ImGui::IsKeyPressed(ImGuiKey_DownArrow)) ++chosen_;
  if (ImGui::IsKeyPressed(ImGuiKey_UpArrow)) --chosen_;
  if (ImGui::IsKeyPressed(ImGuiKey_PageDown)) chosen_ += 10;
  if (ImGui::IsKeyPressed(ImGuiKey_PageUp)) chosen_ -= 10;
  chosen_ = std::clamp(chosen_, 0, std::max(0, count - 1));
}

void Popups::DrawKeys(Frame& frame) {
  if (Begin(frame, "##keys", 940, 820)) {
    Title(frame, "Keys and commands");
    ImGui::SameLine();
    Label(frame.theme, Color::kTextSecondary, "  Escape: close");
    Field("filter");
    if (ImGui::BeginTable("##table", 4, ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg)) {
      ImGui::TableSetupColumn("keys", ImGuiTableColumnFlags_WidthFixed, 180 * frame.scale);
      ImGui::TableSetupColumn("command", ImGuiTableColumnFlags_WidthFixed, 240 * frame.scale);
      ImGui::TableSetupColumn("description", ImGuiTableColumnFlags_WidthStretch);
      ImGui::TableSetupColumn("where", ImGuiTableColumnFlags_WidthFixed, 84 * frame.scale);
      for (const CommandRow& row : CommandRows()) {
        if (!HasWords(fmt::format("{} {} {} {}", row.keys, row.title, row.help, row.when), text_))
          continue;
        ImGui::TableNextRow();
        ImGui::TableNextColumn();
        Label(frame.theme, Color::kAccent, row.keys);
        ImGui::TableNextColumn();
        FittedLabel(row.title);
        ImGui::TableNextColumn();
        FittedLabel(row.help);
        ImGui::TableNextColumn();
        if (row.when != "always" && row.when != "open")
          Label(frame.theme, Color::kTextSecondary, row.when);
      }
      ImGui::EndTable();
    }
  }
  End();
}

void Popups::DrawPalette(Frame& frame, const Actions& actions) {
  std::optional<Command> run;
  if (Begin(frame, "##palette", 640, 520)) {
    bool enter = Field("type a command");
    std::vector<const CommandRow*> rows;
    for (const CommandRow& row : CommandRows()) {
      if (HasWords(fmt::format("{} {} {}", row.title, row.help, row.id), text_))
        rows.push_back(&row);
    }
    MoveChosen(static_cast<int>(rows.size()));
    ImGui::BeginChild("##list");
    for (size_t i = 0; i < rows.size(); ++i) {
      bool chosen = static_cast<int>(i) == chosen_;
      if (ImGui::Selectable(std::string(rows[i]->title).c_str(), chosen) || (chosen && enter))
        run = rows[i]->command;
      Help(rows[i]->help);
      if (chosen) ImGui::SetScrollHereY(0.5f);
      ImGui::SameLine();
      RightLabel(frame.theme, Color::kTextSecondary, rows[i]->keys);
    }
    if (rows.empty()) Sentence(frame, "no matches");
    ImGui::EndChild();
  }
  End();
  if (!run) return;
  Close();
  actions.run(*run);
}

void Popups::StartSearch(Context& context) {
  if (searched_generation_ != context.document.generation()) {
    // Hits are positions in another reading of the dump, or in another dump.
    hits_.clear();
    shown_.clear();
    searched_.clear();
  }
  if (!context.document.dump().ready()) return;
  const Pending<SearchIndex>& index =
      context.cache.Get(PartKey<SearchIndex>{}, "indexing names",
                        [dump = context.document.dump().value](TaskControl& control) {
                          return SearchIndex::Build(*dump, control);
                        });
  searching_ = index.waiting();
  if (!index.ready() ||
      (searched_ == text_ && searched_generation_ == context.document.generation()))
    return;
  if (search_task_ != 0) context.tasks.Cancel(search_task_);
  searched_ = text_;
  searched_generation_ = context.document.generation();
  if (text_.empty()) {
    shown_.clear();
    return hits_.clear();
  }
  constexpr size_t kMaxHits = 300;
  search_task_ = context.tasks.Start(
      "searching",
      [this, index = index.value, words = text_](TaskControl& control) -> Tasks::Finish {
        auto hits =
            std::make_shared<std::vector<SearchHit>>(index->Find(words, kMaxHits, control.stop()));
        return [this, hits, words, generation = searched_generation_] {
          if (words != searched_ || generation != searched_generation_) return;
          hits_ = std::move(*hits);
          shown_ = words;
        };
      },
      Tasks::Urgency::kFirst);
}

void Popups::DrawSearch(Frame& frame) {
  if (Begin(frame, "##search", 860, 600)) {
    bool enter = Field("instruction, computation, module, pass, kernel, file or source line");
    if (ImGui::IsItemEdited()) chosen_ = 0;
    StartSearch(frame.context);
    MoveChosen(static_cast<int>(hits_.size()));
    DrawHits(frame);
    if (enter && static_cast<size_t>(chosen_) < hits_.size()) {
      frame.context.navigation.Select(hits_[static_cast<size_t>(chosen_)].selection);
      Close();
    }
  }
  End();
}

void Popups::DrawHits(Frame& frame) {
  if (hits_.empty()) {
    Sentence(frame, searching_           ? "indexing names …"
                    : text_.empty()      ? "words in any order; prefix matches come first"
                    : searched_ == text_ ? "no matches"
                                         : "searching …");
    return;
  }
  if (!ImGui::BeginTable("##hits", 2, ImGuiTableFlags_ScrollY)) return;
  ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthStretch, 3);
  ImGui::TableSetupColumn("where", ImGuiTableColumnFlags_WidthStretch, 2);
  for (size_t i = 0; i < hits_.size(); ++i) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(static_cast<int>(i));
    bool chosen = static_cast<int>(i) == chosen_;
    std::string label = SafeText(hits_[i].text, 120);
    if (ImGui::Selectable((label + "##hit").c_str(), chosen, ImGuiSelectableFlags_SpanAllColumns)) {
      frame.context.navigation.Select(hits_[i].selection);
      Close();
    }
    WholeIfCut(hits_[i].text, label);
    if (chosen && !ImGui::IsItemVisible()) ImGui::SetScrollHereY(0.5f);
    ImGui::PopID();
    ImGui::TableNextColumn();
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
    FittedLabel(hits_[i].where);
    ImGui::PopStyleColor();
  }
  ImGui::EndTable();
}

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
    if (PathField(hint)) path = text_;
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
  }
  End();
  if (!path.empty()) Close();
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

void Popups::DrawCompare(Frame& frame) {
  std::optional<Comparison> chosen;
  Context& context = frame.context;
  if (Begin(frame, "##compare", 760, 560) && context.document.dump().ready()) {
    Title(frame, "Compare the stage in view with …");
    const bool enter = Field("name of a stage, pass or module");
    if (ImGui::IsItemEdited()) chosen_ = 0;
    constexpr size_t kMax = 400;
    const std::vector<ComparisonChoice> choices = ComparisonChoices(context, text_, kMax);
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
    if (choices.empty()) Sentence(frame, "no matches");
    ImGui::EndChild();
  }
  End();
  if (!chosen) return;
  Close();
  context.marks.Of<Comparison>() = *chosen;
  context.requests.Show("changes");
}

void Popups::DrawExport(Frame& frame, const Actions& actions) {
  std::string path;
  if (Begin(frame, "##export", 760, 150)) {
    Title(frame, title_);
    if (Field("path of the file") || ImGui::Button("Write")) path = text_;
    Help("write the file");
    std::error_code error;
    const bool exists = std::filesystem::exists(text_, error);
    Label(frame.theme, exists ? Color::kWarning : Color::kTextSecondary,
          exists ? "this file exists and will be overwritten" : "Enter: save, Escape: cancel");
  }
  End();
  if (path.empty()) return;
  Close();
  actions.write(path);
}

void Popups::DrawBundle(Frame& frame) {
  if (Begin(frame, "##bundle", 900, 620)) {
    Title(frame, "Create a bundle");
    const bool entered = Field("path of the bundle (.hlob)");
    bundle_.Draw(frame, text_, entered);
  }
  End();
}

void Popups::DrawNote(Frame& frame) {
  if (Begin(frame, "##note", 560, 150)) {
    Title(frame, "Bookmark");
    if (Field("note (optional); Enter: save")) {
      Context& context = frame.context;
      const Selection& now = context.navigation.selection();
      const hlo::Module* module = now.instruction.valid()
                                      ? context.data.Module(now.module, now.stage).value.get()
                                      : nullptr;
      context.bookmarks.push_back(
          {.title = TitleOf(context.document.dump().value.get(), now, module),
           .note = text_,
           .selection = now});
      Close();
    }
  }
  End();
}

}  // namespace hloscope::viewer
