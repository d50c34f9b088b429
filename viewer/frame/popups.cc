// Palette, search, keys and the question for a path.
#include "viewer/frame/popups.h"

#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/misc/cpp/imgui_stdlib.h>

#include <algorithm>
#include <filesystem>

#include "core/base/strings.h"
#include "viewer/model/bookmark.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/navigation.h"
#include "viewer/model/task_cache.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

// The commands that have all words, those first whose title begins with them, then those with a
// word of the title that does, then those with them inside of it.
std::vector<const CommandRow*> CommandsFor(std::string_view words) {
  const auto place = [&](const CommandRow& row) {
    const std::string title = AsciiStrToLower(row.title), sought = AsciiStrToLower(words);
    if (title.starts_with(sought)) return 0;
    if (title.find(" " + sought) != std::string::npos) return 1;
    return HasWords(row.title, words) ? 2 : 3;
  };
  std::vector<const CommandRow*> rows;
  for (const CommandRow& row : CommandRows()) {
    if (HasWords(fmt::format("{} {} {}", row.title, row.help, row.id), words)) rows.push_back(&row);
  }
  std::ranges::stable_sort(rows, {}, [&](const CommandRow* row) { return place(*row); });
  return rows;
}

}  // namespace

void Popups::Show(Kind kind) {
  kind_ = kind;
  fresh_ = true;
  chosen_ = 0;
  has_entered_ = false;
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
      return DrawCompare(frame, actions);
    case Kind::kExport:
      return DrawExport(frame, actions);
    case Kind::kInputs:
      return DrawInputs(frame);
    case Kind::kCompareProfile:
      return DrawCompareProfile(frame, actions);
    case Kind::kBundle:
      return DrawBundle(frame);
    case Kind::kRecompile:
      return DrawRecompile(frame);
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
    const std::vector<const CommandRow*> rows = CommandsFor(text_);
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
  const StageInView in_view{context.navigation.module(), context.navigation.stage()};
  if (!index.ready() || (searched_ == text_ && searched_near_ == in_view &&
                         searched_generation_ == context.document.generation()))
    return;
  if (search_task_ != 0) context.tasks.Cancel(search_task_);
  searched_ = text_;
  searched_near_ = in_view;
  searched_generation_ = context.document.generation();
  // Hits in the order of another module in view are not meant either.
  shown_.clear();
  if (text_.empty()) {
    return hits_.clear();
  }
  constexpr size_t kMaxHits = 300;
  search_task_ = context.tasks.Start(
      "searching",
      [this, index = index.value, words = text_, in_view](TaskControl& control) -> Tasks::Finish {
        auto hits = std::make_shared<std::vector<SearchHit>>(
            index->Find(words, kMaxHits, control.stop(), in_view));
        return [this, hits, words, in_view, generation = searched_generation_] {
          if (words != searched_ || in_view != searched_near_ || generation != searched_generation_)
            return;
          hits_ = std::move(*hits);
          shown_ = words;
        };
      },
      Tasks::Urgency::kFirst);
}

void Popups::DrawSearch(Frame& frame) {
  if (Begin(frame, "##search", 860, 600)) {
    bool enter = Field("instruction, computation, module, pass, kernel, file or source line");
    if (ImGui::IsItemEdited()) {
      chosen_ = 0;
      has_entered_ = false;
    }
    has_entered_ |= enter;
    StartSearch(frame.context);
    MoveChosen(static_cast<int>(hits_.size()));
    DrawHits(frame);
    // Hits of what was typed before are not meant.
    if (has_entered_ && shown_ == text_) {
      has_entered_ = false;
      if (static_cast<size_t>(chosen_) < hits_.size()) {
        frame.context.navigation.Select(hits_[static_cast<size_t>(chosen_)].selection);
        Close();
      }
    }
  }
  End();
}

void Popups::DrawHits(Frame& frame) {
  if (hits_.empty()) {
    Sentence(frame, searching_        ? "indexing names …"
                    : text_.empty()   ? "words in any order; prefix matches come first, of "
                                        "equal ones those of the module in view"
                    : shown_ == text_ ? "no matches"
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

void Popups::DrawRecompile(Frame& frame) {
  if (Begin(frame, "##recompile", 760, 260)) {
    Title(frame, "Recompile with …");
    const bool entered = Field("flags of XLA (optional), as --xla_name=value");
    if (recompile_.Draw(frame, text_, entered)) Close();
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
