// Life of the viewer: start, frames, undo, what is kept.
#include "viewer/frame/application.h"

#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/imgui_internal.h>
#include <implot/implot.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "profiler/profile.h"
#include "viewer/facts/profile_model.h"
#include "viewer/model/pass_search.h"

namespace hloscope::viewer {
namespace {

constexpr int kMaxRecent = 12;

// Something is typed, clicked or turned in this frame.
bool HasInput() {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.MouseWheel != 0 || io.MouseWheelH != 0 || !io.InputQueueCharacters.empty()) return true;
  for (ImGuiMouseButton button = 0; button < ImGuiMouseButton_COUNT; ++button) {
    if (ImGui::IsMouseDown(button) || ImGui::IsMouseReleased(button)) return true;
  }
  for (int key = ImGuiKey_NamedKey_BEGIN; key < ImGuiKey_NamedKey_END; ++key) {
    if (ImGui::IsKeyDown(static_cast<ImGuiKey>(key))) return true;
  }
  return false;
}

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
  if (kept.is_maximized) surface_->Maximize();
  SetTheme(options.theme.empty() ? kept.dark : options.theme != "light");
  std::string layout = state_.ReadLayout();
  if (!layout.empty()) ImGui::LoadIniSettingsFromMemory(layout.data(), layout.size());
  SessionOptions session;
  session.worker_program = options.worker_program;
  session.limits = options.limits;
  session.state_folder = options.state_folder;
  session.wake = [surface = surface_.get()] { surface->Wake(); };
  session_ = std::make_unique<Session>(std::move(session));
  session_->recent = kept.recent;
  echoes_ = options.echoes;
  SayProblems();
  for (const std::string& missing : fonts_.missing)
    session_->messages.Post(Severity::kNote, "font not found, using the built-in one: " + missing);
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

bool Application::IsOpen(const std::string& path) const {
  std::error_code error;
  const std::string& open = session_->document.path();
  return !open.empty() && (path == open || std::filesystem::equivalent(path, open, error));
}

// A mistyped path does not close what is open.
bool Application::StaysOpen(const std::vector<std::string>& paths) {
  if (!session_->document.dump().ready()) return false;
  if (std::ranges::any_of(paths, [this](const std::string& path) { return IsOpen(path); }))
    return false;
  for (const std::string& path : paths) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) continue;
    session_->messages.Post(Severity::kError,
                            path + ": " + (error ? error.message() : "no such file or folder"));
    return true;
  }
  return false;
}

void Application::Open(const std::vector<std::string>& paths) {
  if (StaysOpen(paths)) return;
  if (session_->document.dump().ready()) Save();
  unsettled_frames_ = 3;
  std::vector<std::string> others = paths;
  if (std::erase_if(others, [this](const std::string& path) { return IsOpen(path); }) > 0) {
    return session_->Refresh(others);
  }
  asked_.reset();
  selecting_.clear();
  session_->Replace(paths);
  view_states_.Reset(Capture());
}

// Profiles join what is open; anything else takes its place.
void Application::OpenDropped(const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  if (session_->document.path().empty() || !std::ranges::all_of(paths, profiler::IsTraceName))
    return Open(paths);
  // One that is there already may have been written again.
  const bool are_known = std::ranges::all_of(paths, [this](const std::string& path) {
    return std::ranges::count(session_->document.profile_paths(), path) > 0;
  });
  are_known ? session_->Refresh() : session_->AddProfiles(paths);
}

Frame Application::MakeFrame() {
  return Frame{.context = *session_,
               .theme = theme_,
               .scale = surface_->scale() * zoom_,
               .font = fonts_.text,
               .strong = fonts_.strong,
               .mono = fonts_.mono,
               .seconds = ImGui::GetTime()};
}

void Application::BringUp(const std::string& view) {
  unsettled_frames_ = 3;  // its tab is in front in the frame after
  const bool is_screen =
      std::ranges::find(ScreenRows(), view, &ScreenRow::id) != ScreenRows().end();
  if (is_screen && dock_.Find(view) == nullptr) {
    dock_.SetScreen(view);
  } else {
    dock_.Focus(view);
  }
}

void Application::TakeRequests() {
  OpenDropped(surface_->TakeDroppedPaths());
  if (!std::exchange(was_focused_, surface_->focused()) && was_focused_)
    session_->document.LookForNews();
  if (const auto profile = session_->experiment.TakeProfile()) ShowProfile(*profile);
  Requests::All asked = session_->requests.Take();
  if (asked.command) Run(*asked.command);
  if (!asked.paths.empty()) Open(asked.paths);
  if (!asked.view.empty()) BringUp(asked.view);
  if (!asked.words.empty()) popups_.ShowSearch(std::move(asked.words));
  if (title_path_ != session_->document.path()) {
    title_path_ = session_->document.path();
    surface_->SetTitle(title_path_.empty() ? "hloscope" : title_path_ + " - hloscope");
  }
  if (session_->document.dump().waiting()) return;
  if (!session_->document.dump().ready()) return RefuseSelection();
  if (restored_life_ != session_->document.life()) return Opened();
  if (session_->document.verdict().value.get() != shown_verdict_) ShowVerdict();
  TrySelect();
}

// A dump is there that was not before.
void Application::Opened() {
  restored_life_ = session_->document.life();
  std::error_code error;
  std::string full = std::filesystem::absolute(session_->document.path(), error).string();
  if (error) full = session_->document.path();
  std::vector<std::string>& recent = session_->recent;
  std::erase(recent, full);
  recent.insert(recent.begin(), full);
  if (recent.size() > kMaxRecent) recent.resize(kMaxRecent);
  if (state_.keeps()) SayNotKept(SaveSettings());
  ShowVerdict();
  RestoreSession();
  TrySelect();
  if (!wanted_view_.empty()) BringUp(std::exchange(wanted_view_, {}));
}

// There is nothing to select it in.
void Application::RefuseSelection() {
  const std::string text = std::exchange(wanted_selection_, {});
  if (text.empty()) return;
  const Pending<dump::DumpModel>& dump = session_->document.dump();
  session_->messages.Post(
      Severity::kError,
      text + ": not selected: " + (dump.failed() ? dump.error.ToString() : "no dump is open"));
}

void Application::ShowProfile(const Result<RunProfile>& profile) {
  Messages& messages = session_->messages;
  if (!profile) {
    return messages.Post(Severity::kError, "the run has no profile: " + profile.error().ToString());
  }
  std::string text = "profile of the run: " + profile->path;
  if (!profile->is_retained) text += " (temporary, deleted on exit)";
  if (const auto before = ProfilePaths(*session_); !before.empty()) {
    text += fmt::format("; shown in place of {}", before.front());
  }
  messages.Post(Severity::kNote, std::move(text));
  for (const profiler::Loss& loss : profile->lost) {
    messages.Post(Severity::kWarning,
                  fmt::format("{}: {} × {}", profile->path, loss.count, loss.what));
  }
  session_->document.ShowProfile(profile->path);
  session_->navigation.ForgetEvents();
  session_->marks.timeline = {};
  session_->requests.Show("timeline");
}

void Application::ShowVerdict() {
  const Pending<debug::DivergeVerdict>& verdict = session_->document.verdict();
  shown_verdict_ = verdict.value.get();
  if (!verdict.ready()) return;
  if (wanted_selection_.empty()) {
    wanted_selection_ = SelectionOf(*session_->document.dump(), *verdict);
  }
  bool is_shown = false;
  for (size_t m = 0; m < session_->document.dump()->modules().size(); ++m) {
    is_shown |= VerdictOn(*session_, static_cast<int32_t>(m)) != nullptr;
  }
  if (!is_shown) {
    session_->messages.Post(Severity::kWarning, "the verdict belongs to a module that is not open");
  }
  if (!dock_.is_chosen() || dock_.screen() == "divergence") BringUp("verdict");
}

void Application::TrySelect() {
  if (wanted_selection_.empty()) return;
  // Reading a module may take a second: in the background, as everything.
  std::string text = std::exchange(wanted_selection_, {});
  selecting_ = text;
  session_->tasks.Start(
      "selecting " + text,
      [this, text, dump = session_->document.dump().value,
       generation = session_->document.generation()](TaskControl&) -> Tasks::Finish {
        auto selection = std::make_shared<Result<Selection>>(SelectionFromText(*dump, text));
        return [this, text, selection, generation] {
          selecting_.clear();
          if (generation != session_->document.generation()) {
            wanted_selection_ = text;  // the dump was read again meanwhile
            TrySelect();
          } else if (*selection) {
            session_->navigation.Select(**selection);
          } else {
            session_->messages.Post(Severity::kError, selection->error().ToString());
          }
        };
      });
}

void Application::RestoreSession() {
  std::optional<KeptSession> kept = state_.ReadSession(session_->document.path());
  SayProblems();
  if (!kept) return;
  for (const auto& [id, state] : kept->views) {
    if (Dock::Panel* panel = dock_.Find(id)) panel->view->SetState(state);
  }
  session_->RestoreBookmarks(std::move(kept->bookmarks));
  if (!dock_.is_chosen()) dock_.SetScreen(kept->screen);
  if (wanted_selection_.empty()) wanted_selection_ = kept->selection;
}

void Application::SayProblems() {
  for (std::string& problem : state_.TakeProblems())
    session_->messages.Post(Severity::kWarning, std::move(problem));
}

Status Application::SaveSettings() const {
  return state_.WriteSettings({.dark = theme_.dark(),
                               .zoom = zoom_,
                               .is_maximized = surface_->is_maximized(),
                               .recent = session_->recent});
}

Status Application::SaveSession() {
  const Pending<dump::DumpModel>& dump = session_->document.dump();
  // What was kept of it is not read yet, or is only known by positions.
  if (!dump.ready() || restored_life_ != session_->document.life() || session_->has_positions())
    return {};
  KeptSession kept;
  kept.screen = dock_.screen();
  for (Dock::Panel& panel : dock_.panels()) {
    std::string state = panel.view->State();
    if (!state.empty()) kept.views.emplace_back(panel.row->id, std::move(state));
  }
  const Selection& now = session_->navigation.selection();
  const hlo::Module* module = nullptr;
  if (now.stage >= 0 && now.module >= 0 && now.instruction.valid())
    module = session_->data.Module(now.module, now.stage).value.get();
  kept.selection = selecting_.empty() ? SelectionText(*dump, now, module) : selecting_;
  session_->NameBookmarksNow();
  kept.bookmarks = session_->bookmarks;
  return state_.WriteSession(session_->document.path(), kept);
}

void Application::Save() {
  if (!state_.keeps()) return;
  Status status = SaveSettings();
  if (status) status = SaveSession();
  size_t size = 0;
  const char* layout = ImGui::SaveIniSettingsToMemory(&size);
  if (status) status = state_.WriteLayout({layout, size});
  saved_ = {.views = Capture(),
            .selection_version = session_->navigation.version(),
            .bookmarks = session_->bookmarks};
  SayNotKept(status);
}

// Once for each reason: the window lives on without.
void Application::SayNotKept(const Status& status) {
  std::string reason = status ? std::string() : status.error().ToString();
  if (!reason.empty() && reason != not_kept_)
    session_->messages.Post(Severity::kWarning, "layout and session cannot be saved: " + reason);
  not_kept_ = std::move(reason);
}

bool Application::unsaved() const {
  return state_.keeps() &&
         (session_->navigation.version() != saved_.selection_version ||
          session_->bookmarks != saved_.bookmarks || !Capture().IsKeptAs(saved_.views));
}

Application::ViewState Application::Capture() const {
  ViewState state{.screen = dock_.screen(),
                  .dark = theme_.dark(),
                  .zoom = zoom_,
                  .views = {},
                  .arrangements = {}};
  for (const Dock::Panel& panel : const_cast<Dock&>(dock_).panels()) {
    state.views.push_back(panel.view->State());
    state.arrangements.push_back(panel.view->Arrangement());
  }
  return state;
}

bool Application::ViewState::IsKeptAs(const ViewState& kept) const {
  return screen == kept.screen && dark == kept.dark && zoom == kept.zoom && views == kept.views;
}

void Application::Restore(const ViewState& state) {
  dock_.SetScreen(state.screen);
  zoom_ = state.zoom;
  SetTheme(state.dark);
  for (size_t i = 0; i < state.views.size() && i < dock_.panels().size(); ++i) {
    View& view = *dock_.panels()[i].view;
    if (view.State() != state.views[i]) view.SetState(state.views[i]);
    if (view.Arrangement() != state.arrangements[i]) view.SetArrangement(state.arrangements[i]);
  }
}

// What a view cannot take back (of a graph that is not there any more) is skipped: undo goes on to
// one that changes something.
void Application::UndoView(bool forward) {
  const ViewState before = Capture();
  while (forward ? view_states_.Forward() : view_states_.Back()) {
    Restore(view_states_.current());
    ViewState now = Capture();
    const bool changed = now != before;
    view_states_.Replace(std::move(now));
    if (changed) return;
  }
}

// A change that is still going on (a drag, a word being typed) is one step of undo; a camera that
// follows the selection, or a picture that is there at last, is none.
void Application::Remember() {
  constexpr int kFrames = 4;  // between a cause and what comes of it
  if (HasInput()) input_frame_ = frames_;
  if (std::exchange(remembered_selection_, session_->navigation.version()) !=
      session_->navigation.version())
    selection_frame_ = frames_;
  ViewState now = Capture();
  const ViewState& last = view_states_.current();
  if (now == last || ImGui::IsAnyMouseDown() || ImGui::GetIO().WantTextInput) return;
  const auto was_lately = [this](int frame) { return frames_ - frame < kFrames; };
  const bool by_program =
      was_lately(selection_frame_) || (was_lately(background_frame_) && !was_lately(input_frame_));
  const bool is_look = now.screen != last.screen || now.dark != last.dark || now.zoom != last.zoom;
  // Turning the wheel is one step, however far.
  const bool by_wheel = ImGui::GetIO().MouseWheel != 0 && now.IsKeptAs(last);
  const bool goes_on = by_wheel && wheel_step_;
  if ((by_program && !is_look) || goes_on) {
    view_states_.Replace(std::move(now));
  } else {
    view_states_.Push(std::move(now));
  }
  wheel_step_ = by_wheel;
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
  // Found also while no view shows them: they decide where steps through the passes lead.
  if (session_->document.dump().ready()) session_->navigation.counterparts();
  dock_.Draw(frame, bar, status);
  DrawStatusBar(frame);
  DrawMessages(frame);
  popups_.Draw(frame, {.run = [this](Command command) { Run(command); },
                       .open = [this](const std::vector<std::string>& paths) { Open(paths); },
                       .write = [this](const std::string& path) { WriteExport(path); },
                       .recent = &session_->recent});
  Remember();
  feed_.Leave(*imgui_);
}

// Showing a frame may take a tenth of a second (software rendering, ssh): all that was typed and
// clicked meanwhile is answered first.
void Application::FurtherPasses(bool input) {
  using Clock = std::chrono::steady_clock;
  constexpr int kMax = 200;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(60);
  int echoes = input ? echoes_ : 0;
  for (int pass = 0; pass < kMax && !quit_; ++pass) {
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
  if (found) background_frame_ = frames_;
  TakeRequests();
  surface_->NewFrame();
  const bool input = feed_.Take(*imgui_);
  Pass();
  FurtherPasses(input);
  ImGui::Render();
  surface_->Show(theme_.Rgb(Color::kCanvas));
  FinishExport();
  bool changed = found || feed_.waiting(*imgui_) ||
                 session_->navigation.version() != seen_selection_ || !session_->idle() ||
                 popups_.busy() || dock_.screen() != seen_screen_ || dock_.is_changing();
  seen_screen_ = dock_.screen();
  seen_selection_ = session_->navigation.version();
  unsettled_frames_ = changed ? 3 : std::max(0, unsettled_frames_ - 1);
}

bool Application::settled() const {
  return unsettled_frames_ == 0 && frames_ > 4 && session_->idle() && wanted_selection_.empty() &&
         !asked_ && exported_.path.empty();
}

}  // namespace hloscope::viewer
