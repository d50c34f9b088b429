// Saving, restoring, and what waits for a dump.
#include "viewer/frame/session_store.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "viewer/facts/profile_model.h"
#include "viewer/model/pass_search.h"

namespace hloscope::viewer {
namespace {

constexpr int kMaxRecent = 12;

// Valid in whatever folder the next start is.
std::string FullPath(const std::string& path) {
  std::error_code error;
  std::string full = std::filesystem::absolute(path, error).string();
  return error ? path : full;
}

// Puts it in front, once.
void Remember(const std::string& path, std::vector<std::string>& recent) {
  std::string full = FullPath(path);
  std::erase(recent, full);
  recent.insert(recent.begin(), full);
  if (recent.size() > kMaxRecent) recent.resize(kMaxRecent);
}

}  // namespace

SessionStore::SessionStore(StateFolder state, const Parts& parts)
    : state_(std::move(state)),
      session_(parts.session),
      dock_(parts.dock),
      appearance_(parts.appearance),
      history_(parts.history),
      surface_(parts.surface) {}

KeptSettings SessionStore::Start() {
  KeptSettings kept = state_.ReadSettings();
  session_.recent = kept.recent;
  const std::string layout = state_.ReadLayout();
  if (!layout.empty()) ImGui::LoadIniSettingsFromMemory(layout.data(), layout.size());
  SayProblems();
  return kept;
}

void SessionStore::Update() {
  const Pending<dump::DumpModel>& dump = session_.document.dump();
  if (dump.waiting()) return;
  if (session_.document.life() == 0) return;  // nothing was opened yet
  if (!dump.ready()) return RefuseSelection();
  if (restored_life_ != session_.document.life()) return Opened();
  if (session_.document.verdict().value.get() != shown_verdict_) ShowVerdict();
  const SecondDump& second = session_.second;
  if (second.dump().ready() && remembered_second_ != second.path()) {
    remembered_second_ = second.path();
    Remember(remembered_second_, session_.recent);
  }
  TrySelect();
}

// A dump is there that was not before.
void SessionStore::Opened() {
  restored_life_ = session_.document.life();
  Remember(session_.document.path(), session_.recent);
  if (state_.keeps()) SayNotKept(SaveSettings());
  ShowVerdict();
  // Two dumps on the command line are shown side by side; what was saved has its own screen.
  if (session_.second.is_open() && !dock_.is_chosen()) session_.requests.Show("two-dumps");
  Restore();
  TrySelect();
  if (!wanted_view_.empty()) session_.requests.Show(std::exchange(wanted_view_, {}));
}

// The place of a verdict that was opened is selected, unless something else is asked for.
void SessionStore::ShowVerdict() {
  const Pending<debug::DivergeVerdict>& verdict = session_.document.verdict();
  shown_verdict_ = verdict.value.get();
  if (!verdict.ready()) return;
  const dump::DumpModel& dump = *session_.document.dump();
  if (wanted_selection_.empty()) wanted_selection_ = SelectionOf(dump, *verdict);
  bool is_shown = false;
  for (size_t m = 0; m < dump.modules().size(); ++m) {
    is_shown |= VerdictOn(session_, static_cast<int32_t>(m)) != nullptr;
  }
  if (!is_shown) {
    session_.messages.Post(Severity::kWarning, "the verdict belongs to a module that is not open");
  }
  if (!dock_.is_chosen() || dock_.screen() == "divergence") session_.requests.Show("verdict");
}

// Reading a module may take a second: in the background, as everything.
void SessionStore::TrySelect() {
  if (wanted_selection_.empty()) return;
  selecting_ = std::exchange(wanted_selection_, {});
  session_.tasks.Start(
      "selecting " + selecting_,
      [this, text = selecting_, dump = session_.document.dump().value,
       generation = session_.document.generation()](TaskControl&) -> Tasks::Finish {
        auto selection = std::make_shared<Result<Selection>>(SelectionFromText(*dump, text));
        return [this, text, selection, generation] {
          selecting_.clear();
          if (generation != session_.document.generation()) {
            wanted_selection_ = text;  // the dump was read again meanwhile
          } else if (*selection) {
            session_.navigation.Select(**selection);
          } else {
            session_.messages.Post(Severity::kError, selection->error().ToString());
          }
        };
      });
}

// There is nothing to select it in.
void SessionStore::RefuseSelection() {
  const std::string text = std::exchange(wanted_selection_, {});
  if (text.empty()) return;
  const Pending<dump::DumpModel>& dump = session_.document.dump();
  session_.messages.Post(
      Severity::kError,
      text + ": not selected: " + (dump.failed() ? dump.error.ToString() : "no dump is open"));
}

void SessionStore::Restore() {
  std::optional<KeptSession> kept = state_.ReadSession(session_.document.path());
  SayProblems();
  if (!kept) return;
  for (const auto& [id, state] : kept->views) {
    if (Dock::Panel* panel = dock_.Find(id)) panel->view->SetState(state);
  }
  session_.RestoreBookmarks(std::move(kept->bookmarks));
  if (!dock_.is_chosen()) dock_.SetScreen(kept->screen);
  if (wanted_selection_.empty()) wanted_selection_ = kept->selection;
  if (!session_.second.is_open() && !kept->second.empty()) RestoreSecond(kept->second);
  // Those on the command line are meant instead.
  if (session_.document.profile_paths().empty()) RestoreProfiles(*kept);
}

// A warning says where it is not.
bool SessionStore::IsThere(const std::string& path, std::string_view what,
                           std::string_view otherwise) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return true;
  const std::string why =
      error ? path + ": " + error.message() : fmt::format("there is no {} any more", path);
  session_.messages.Post(Severity::kWarning,
                         fmt::format("{} not opened: {}; {}", what, why, otherwise));
  return false;
}

void SessionStore::RestoreSecond(const std::string& path) {
  if (IsThere(path, "second dump", "Ctrl+D chooses another")) session_.second.Open(path);
}

void SessionStore::RestoreProfiles(const KeptSession& kept) {
  std::vector<std::string> paths = kept.profiles;
  std::erase_if(paths, [this](const std::string& path) {
    return !IsThere(path, "profile", "Ctrl+O opens another");
  });
  session_.AddProfiles(paths);
  // Without the first it would be shown in its place.
  const std::string& second = kept.second_profile;
  if (!second.empty() && !ProfilePaths(session_).empty() &&
      IsThere(second, "second profile", "Ctrl+Shift+D chooses another"))
    session_.document.CompareWith(second);
}

void SessionStore::SayProblems() {
  for (std::string& problem : state_.TakeProblems())
    session_.messages.Post(Severity::kWarning, std::move(problem));
}

Status SessionStore::SaveSettings() const {
  return state_.WriteSettings({.dark = appearance_.theme().dark(),
                               .zoom = appearance_.zoom(),
                               .is_maximized = surface_.is_maximized(),
                               .recent = session_.recent});
}

Status SessionStore::SaveSession() {
  const Pending<dump::DumpModel>& dump = session_.document.dump();
  // What was kept of it is not read yet, or is only known by positions.
  if (!dump.ready() || restored_life_ != session_.document.life() || session_.has_positions())
    return {};
  KeptSession kept;
  kept.screen = dock_.screen();
  for (const Dock::Panel& panel : dock_.panels()) {
    std::string state = panel.view->State();
    if (!state.empty()) kept.views.emplace_back(panel.row->id, std::move(state));
  }
  const Selection& now = session_.navigation.selection();
  const hlo::Module* module = nullptr;
  if (now.stage >= 0 && now.module >= 0 && now.instruction.valid())
    module = session_.data.Module(now.module, now.stage).value.get();
  kept.selection = selecting_.empty() ? SelectionText(*dump, now, module) : selecting_;
  if (session_.second.is_open()) kept.second = FullPath(session_.second.path());
  for (const std::string& path : session_.document.opened_profiles())
    kept.profiles.push_back(FullPath(path));
  if (const std::string& path = session_.document.second_profile(); !path.empty())
    kept.second_profile = FullPath(path);
  session_.NameBookmarksNow();
  kept.bookmarks = session_.bookmarks;
  return state_.WriteSession(session_.document.path(), kept);
}

void SessionStore::Save() {
  if (!state_.keeps()) return;
  Status status = SaveSettings();
  if (status) status = SaveSession();
  size_t size = 0;
  const char* layout = ImGui::SaveIniSettingsToMemory(&size);
  if (status) status = state_.WriteLayout({layout, size});
  saved_ = {.views = history_.Capture(),
            .selection_version = session_.navigation.version(),
            .bookmarks = session_.bookmarks,
            .second = session_.second.path(),
            .profiles = session_.document.opened_profiles(),
            .second_profile = session_.document.second_profile()};
  SayNotKept(status);
}

// Once for each reason: the window lives on without.
void SessionStore::SayNotKept(const Status& status) {
  std::string reason = status ? std::string() : status.error().ToString();
  if (!reason.empty() && reason != not_kept_)
    session_.messages.Post(Severity::kWarning, "layout and session cannot be saved: " + reason);
  not_kept_ = std::move(reason);
}

bool SessionStore::unsaved() const {
  return state_.keeps() &&
         (session_.navigation.version() != saved_.selection_version ||
          session_.bookmarks != saved_.bookmarks || session_.second.path() != saved_.second ||
          session_.document.opened_profiles() != saved_.profiles ||
          session_.document.second_profile() != saved_.second_profile ||
          !history_.Capture().IsKeptAs(saved_.views));
}

}  // namespace hloscope::viewer
