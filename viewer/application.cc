// Life of the viewer: start, frames, undo, what is kept.
#include "viewer/application.h"

#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/imgui_internal.h>
#include <implot/implot.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "profiler/profile.h"
#include "viewer/model/find_again.h"

namespace hloscope::viewer {
namespace {

constexpr int kMostRecent = 12;

}  // namespace

Result<std::unique_ptr<Application>> Application::Make(const ApplicationOptions& options) {
  std::unique_ptr<Application> application(new Application(options));
  Result<std::unique_ptr<Surface>> surface = Surface::Make(options.surface);
  if (!surface) return std::unexpected(surface.error());
  application->Start(*std::move(surface), options);
  return application;
}

Application::Application(const ApplicationOptions& options)
    : state_(options.state_folder, *options.state_calls) {
  imgui_ = ImGui::CreateContext();
  implot_ = ImPlot::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.ConfigFlags |= ImGuiConfigFlags_DockingEnable | ImGuiConfigFlags_NavEnableKeyboard;
  io.ConfigWindowsMoveFromTitleBarOnly = true;
  io.ConfigInputTrickleEventQueue = true;
  io.ConfigDebugHighlightIdConflicts = false;
  io.ConfigErrorRecoveryEnableTooltip = false;
  io.ConfigErrorRecoveryEnableDebugLog = false;
  // Ctrl+Tab is ours: it goes through the panels of the screen in their order.
  imgui_->ConfigNavWindowingKeyNext = imgui_->ConfigNavWindowingKeyPrev = 0;
  io.IniFilename = nullptr;  // the state folder keeps the layout, with errors that can be shown
  io.LogFilename = nullptr;
}

void Application::Start(std::unique_ptr<Surface> surface, const ApplicationOptions& options) {
  surface_ = std::move(surface);
  fonts_ = LoadFonts();
  KeptSettings kept = state_.ReadSettings();
  zoom_ = kept.zoom;
  SetTheme(options.theme.empty() ? kept.dark : options.theme != "light");
  std::string layout = state_.ReadLayout();
  if (!layout.empty()) ImGui::LoadIniSettingsFromMemory(layout.data(), layout.size());
  SessionOptions session;
  session.worker_program = options.worker_program;
  session.limits = options.limits;
  session.wake = [surface = surface_.get()] { surface->Wake(); };
  session_ = std::make_unique<Session>(std::move(session));
  session_->recent() = kept.recent;
  echoes_ = options.echoes;
  SayProblems();
  for (const std::string& missing : fonts_.missing)
    session_->PostMessage(Severity::kNote,
                          "a font is missing, drawn with a built-in one: " + missing);
  view_states_.Reset(Capture());
}

Application::~Application() {
  session_.reset();  // its threads wake the surface
  surface_.reset();
  if (implot_ != nullptr) ImPlot::DestroyContext(implot_);
  if (imgui_ != nullptr) ImGui::DestroyContext(imgui_);
}

void Application::SetTheme(bool dark) {
  theme_ = Theme(dark);
  ApplyLook(theme_, surface_->scale() * zoom_);
}

void Application::Open(const std::vector<std::string>& paths) {
  if (session_->dump().ready()) Save();
  asked_.reset();
  if (IsOpenAlready(paths)) {
    KeepForAgain();
  } else {
    kept_.reset();
  }
  session_->Open(paths);
  surface_->SetTitle(session_->path().empty() ? "hloscope" : session_->path() + " - hloscope");
  unsettled_frames_ = 3;
}

bool Application::IsOpenAlready(const std::vector<std::string>& paths) const {
  std::error_code error;
  return !session_->path().empty() && std::ranges::any_of(paths, [&](const std::string& path) {
    return path == session_->path() || std::filesystem::equivalent(path, session_->path(), error);
  });
}

// A reading that failed leaves what was kept before it.
void Application::KeepForAgain() {
  if (!session_->dump().ready()) return;
  kept_ = Kept{.dump = session_->dump().value,
               .selection = session_->selection(),
               .bookmarks = session_->bookmarks()};
}

// Selection and bookmarks as they are in the new reading; the bookmarks that are not there any more
// stay as notes.
void Application::FindAllAgain() {
  Kept kept = *std::exchange(kept_, {});
  if (kept.selection == Selection() && kept.bookmarks.empty()) return;
  session_->tasks().Start(
      "finding the selection again",
      [this, kept = std::move(kept), dump = session_->dump().value,
       generation = session_->generation()](TaskControl&) mutable -> Tasks::Finish {
        auto selection =
            std::make_shared<Result<Selection>>(FindAgain(*kept.dump, kept.selection, *dump));
        for (Session::Bookmark& bookmark : kept.bookmarks)
          bookmark.selection =
              FindAgain(*kept.dump, bookmark.selection, *dump).value_or(Selection());
        return [this, selection, bookmarks = std::move(kept.bookmarks), generation] {
          if (generation != session_->generation()) return;
          session_->bookmarks() = bookmarks;
          if (*selection) {
            session_->Select(**selection);
          } else {
            session_->PostMessage(Severity::kNote,
                                  "nothing is selected: " + selection->error().ToString());
          }
        };
      },
      Tasks::Urgency::kFirst);
}

// Profiles join the dump that is open; anything else takes its place.
void Application::OpenDropped(std::vector<std::string> paths) {
  if (paths.empty()) return;
  if (!session_->path().empty() && std::ranges::all_of(paths, profiler::IsTraceName)) {
    std::vector<std::string> all = {session_->path()};
    all.insert(all.end(), session_->profile_paths().begin(), session_->profile_paths().end());
    for (std::string& path : paths) {
      if (std::ranges::find(all, path) == all.end()) all.push_back(std::move(path));
    }
    paths = std::move(all);
  }
  Open(paths);
}

Frame Application::MakeFrame() {
  return Frame{.session = *session_,
               .theme = theme_,
               .scale = surface_->scale() * zoom_,
               .font = fonts_.text,
               .strong = fonts_.strong,
               .mono = fonts_.mono,
               .seconds = ImGui::GetTime()};
}

void Application::TakeRequests() {
  OpenDropped(surface_->TakeDroppedPaths());
  if (std::optional<Command> command = session_->TakeRequestedCommand()) Run(*command);
  if (!std::exchange(was_focused_, surface_->focused()) && was_focused_) session_->LookForNews();
  if (std::vector<std::string> paths = session_->TakeRequestedPaths(); !paths.empty()) Open(paths);
  if (std::string view = session_->TakeRequestedView(); !view.empty()) {
    unsettled_frames_ = 3;  // its tab is in front in the frame after
    bool screen = std::ranges::find(ScreenRows(), view, &ScreenRow::id) != ScreenRows().end();
    if (screen && dock_.Find(view) == nullptr) {
      dock_.SetScreen(view);
    } else {
      dock_.Focus(view);
    }
  }
  const Pending<dump::DumpModel>& dump = session_->dump();
  if (dump.ready() && restored_generation_ != session_->generation()) {
    restored_generation_ = session_->generation();
    std::error_code error;
    std::string full = std::filesystem::absolute(session_->path(), error).string();
    if (error) full = session_->path();
    std::vector<std::string>& recent = session_->recent();
    std::erase(recent, full);
    recent.insert(recent.begin(), full);
    if (recent.size() > kMostRecent) recent.resize(kMostRecent);
    if (state_.keeps()) SayNotKept(SaveSettings());
    if (kept_) {
      FindAllAgain();
    } else {
      RestoreSession();
    }
    TrySelect();
  }
}

void Application::TrySelect() {
  if (wanted_selection_.empty()) return;
  // Reading a module may take a second: in the background, as everything.
  std::string text = std::exchange(wanted_selection_, {});
  session_->tasks().Start(
      "selecting " + text,
      [this, text, dump = session_->dump().value,
       generation = session_->generation()](TaskControl&) -> Tasks::Finish {
        auto selection = std::make_shared<Result<Selection>>(SelectionFromText(*dump, text));
        return [this, selection, generation] {
          if (generation != session_->generation()) return;
          if (*selection) {
            session_->Select(**selection);
          } else {
            session_->PostMessage(Severity::kError, selection->error().ToString());
          }
        };
      });
}

void Application::RestoreSession() {
  std::optional<KeptSession> kept = state_.ReadSession(session_->path());
  SayProblems();
  if (!kept) return;
  for (const auto& [id, state] : kept->views) {
    if (Dock::Panel* panel = dock_.Find(id)) panel->view->SetState(state);
  }
  session_->bookmarks() = kept->bookmarks;
  if (!dock_.is_chosen()) dock_.SetScreen(kept->screen);
  if (wanted_selection_.empty()) wanted_selection_ = kept->selection;
}

void Application::SayProblems() {
  for (std::string& problem : state_.TakeProblems())
    session_->PostMessage(Severity::kWarning, std::move(problem));
}

Status Application::SaveSettings() const {
  return state_.WriteSettings({.dark = theme_.dark(), .zoom = zoom_, .recent = session_->recent()});
}

Status Application::SaveSession() {
  const Pending<dump::DumpModel>& dump = session_->dump();
  // What was kept of the dump before is not read yet.
  if (!dump.ready() || restored_generation_ != session_->generation()) return {};
  KeptSession kept;
  kept.screen = dock_.screen();
  for (Dock::Panel& panel : dock_.panels()) {
    std::string state = panel.view->State();
    if (!state.empty()) kept.views.emplace_back(panel.row->id, std::move(state));
  }
  const Selection& now = session_->selection();
  const hlo::Module* module = nullptr;
  if (now.stage >= 0 && now.module >= 0 && now.instruction.valid())
    module = session_->Module(now.module, now.stage).value.get();
  kept.selection = SelectionText(*dump, now, module);
  kept.bookmarks = session_->bookmarks();
  return state_.WriteSession(session_->path(), kept);
}

void Application::Save() {
  if (!state_.keeps()) return;
  Status status = SaveSettings();
  if (status) status = SaveSession();
  size_t size = 0;
  const char* layout = ImGui::SaveIniSettingsToMemory(&size);
  if (status) status = state_.WriteLayout({layout, size});
  saved_ = {.views = Capture(),
            .selection_version = session_->selection_version(),
            .bookmarks = session_->bookmarks()};
  SayNotKept(status);
}

// Once for each reason: the window lives on without.
void Application::SayNotKept(const Status& status) {
  std::string reason = status ? std::string() : status.error().ToString();
  if (!reason.empty() && reason != not_kept_)
    session_->PostMessage(Severity::kWarning, "layout and session are not kept: " + reason);
  not_kept_ = std::move(reason);
}

bool Application::unsaved() const {
  return state_.keeps() && (session_->selection_version() != saved_.selection_version ||
                            session_->bookmarks() != saved_.bookmarks || Capture() != saved_.views);
}

Application::ViewState Application::Capture() const {
  ViewState state{.screen = dock_.screen(), .dark = theme_.dark(), .zoom = zoom_, .views = {}};
  for (const Dock::Panel& panel : const_cast<Dock&>(dock_).panels())
    state.views.push_back(panel.view->State());
  return state;
}

void Application::Restore(const ViewState& state) {
  dock_.SetScreen(state.screen);
  zoom_ = state.zoom;
  SetTheme(state.dark);
  for (size_t i = 0; i < state.views.size() && i < dock_.panels().size(); ++i) {
    if (dock_.panels()[i].view->State() != state.views[i])
      dock_.panels()[i].view->SetState(state.views[i]);
  }
}

// A change that is still going on (a drag, a word being typed) is one step of undo.
void Application::Remember() {
  ViewState now = Capture();
  if (now == view_states_.current()) return;
  const ImGuiIO& io = ImGui::GetIO();
  if (!ImGui::IsAnyMouseDown() && !io.WantTextInput) view_states_.Push(std::move(now));
}

// One frame of ImGui, shown or not.
void Application::Pass() {
  feed_.Feed(*imgui_);
  ImGui::NewFrame();
  ++frames_;
  RunKeys();
  TryAnswer();
  Frame frame = MakeFrame();
  float bar = ImGui::GetFrameHeight() + 12 * frame.scale, status = 26 * frame.scale;
  DrawToolbar(frame);
  dock_.Draw(frame, bar, status);
  DrawStatusBar(frame);
  DrawMessages(frame);
  popups_.Draw(frame, {.run = [this](Command command) { Run(command); },
                       .open = [this](const std::vector<std::string>& paths) { Open(paths); },
                       .write = [this](const std::string& path) { WriteExport(path); },
                       .recent = &session_->recent()});
  Remember();
  feed_.Leave(*imgui_);
}

// Showing a frame may take a tenth of a second (software rendering, ssh): all that was typed and
// clicked meanwhile is answered first.
void Application::FurtherPasses(bool input) {
  using Clock = std::chrono::steady_clock;
  constexpr int kMost = 200;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(60);
  int echoes = input ? echoes_ : 0;
  for (int pass = 0; pass < kMost && !quit_; ++pass) {
    if (!feed_.waiting(*imgui_) && --echoes < 0) return;
    if (pass > 0 && Clock::now() > end) return;
    ImGui::EndFrame();
    // No time passes: keys that are held do not repeat.
    ImGui::GetIO().DeltaTime = 1e-5f;
    session_->Update();
    TakeRequests();
    Pass();
  }
}

void Application::DrawFrame() {
  bool found = session_->Update();
  TakeRequests();
  surface_->NewFrame();
  const bool input = feed_.Take(*imgui_);
  Pass();
  FurtherPasses(input);
  ImGui::Render();
  surface_->Show(theme_.Rgb(Color::kCanvas));
  FinishExport();
  bool changed = found || feed_.waiting(*imgui_) ||
                 session_->selection_version() != seen_selection_ || !session_->idle() ||
                 popups_.busy() || dock_.screen() != seen_screen_;
  seen_screen_ = dock_.screen();
  seen_selection_ = session_->selection_version();
  unsettled_frames_ = changed ? 3 : std::max(0, unsettled_frames_ - 1);
}

bool Application::settled() const {
  return unsettled_frames_ == 0 && frames_ > 4 && session_->idle() && wanted_selection_.empty() &&
         !asked_ && exported_.path.empty();
}

}  // namespace hloscope::viewer
