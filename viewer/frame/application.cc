// Life of the viewer: start, frames, commands to views and handlers.
#include "viewer/frame/application.h"

#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/imgui_internal.h>
#include <implot/implot.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <utility>

#include "profiler/profile.h"
#include "viewer/facts/answers.h"
#include "viewer/facts/comparison.h"
#include "viewer/facts/file_facts.h"
#include "viewer/facts/pass_ranking.h"
#include "viewer/facts/path_facts.h"
#include "viewer/facts/profile_model.h"
#include "viewer/frame/command_handlers.h"
#include "viewer/window/rasterizer.h"

namespace hloscope::viewer {
namespace {

SessionOptions SessionOptionsOf(const ApplicationOptions& options, Surface& surface) {
  SessionOptions session;
  session.worker_program = options.worker_program;
  session.limits = options.limits;
  session.state_folder = options.state_folder;
  session.wake = [&surface] { surface.Wake(); };
  return session;
}

}  // namespace

Application::Contexts::Contexts() : imgui(ImGui::CreateContext()), implot(ImPlot::CreateContext()) {
  ImGuiIO& io = ImGui::GetIO();
  io.ConfigFlags |= ImGuiConfigFlags_DockingEnable | ImGuiConfigFlags_NavEnableKeyboard;
  io.ConfigWindowsMoveFromTitleBarOnly = true;
  io.ConfigInputTrickleEventQueue = true;
  io.ConfigDebugHighlightIdConflicts = false;
  io.ConfigErrorRecoveryEnableTooltip = false;
  io.ConfigErrorRecoveryEnableDebugLog = false;
  // Ctrl+Tab is ours: it goes through the panels of the screen in their order.
  imgui->ConfigNavWindowingKeyNext = imgui->ConfigNavWindowingKeyPrev = 0;
  io.IniFilename = nullptr;  // the state folder keeps the layout, with errors that can be shown
  io.LogFilename = nullptr;
}

Application::Contexts::~Contexts() {
  ImPlot::DestroyContext(implot);
  ImGui::DestroyContext(imgui);
}

Result<std::unique_ptr<Application>> Application::Make(const ApplicationOptions& options) {
  auto contexts = std::make_unique<Contexts>();
  HLOSCOPE_ASSIGN_OR_RETURN(std::unique_ptr<Surface> surface, Surface::Make(options.surface));
  return std::unique_ptr<Application>(
      new Application(std::move(contexts), std::move(surface), options));
}

Application::Application(std::unique_ptr<Contexts> contexts, std::unique_ptr<Surface> surface,
                         const ApplicationOptions& options)
    : contexts_(std::move(contexts)),
      surface_(std::move(surface)),
      session_(SessionOptionsOf(options, *surface_)),
      appearance_(*surface_),
      history_(dock_, appearance_),
      store_(StateFolder(options.state_folder, *options.state_calls),
             {session_, dock_, appearance_, history_, *surface_}),
      exporter_(session_, dock_, popups_, appearance_),
      echoes_(options.echoes) {
  const KeptSettings kept = store_.Start();
  if (kept.is_maximized) surface_->Maximize();
  appearance_.Set(options.theme.empty() ? kept.dark : options.theme != "light", kept.zoom);
  for (const std::string& missing : appearance_.fonts().missing)
    session_.messages.Post(Severity::kNote, "font not found, using the built-in one: " + missing);
  history_.Reset();
}

bool Application::IsOpen(const std::string& path) const {
  std::error_code error;
  const std::string& open = session_.document.path();
  return !open.empty() && (path == open || std::filesystem::equivalent(path, open, error));
}

// A mistyped path does not close what is open.
bool Application::StaysOpen(const std::vector<std::string>& paths) {
  if (!session_.document.dump().ready()) return false;
  if (std::ranges::any_of(paths, [this](const std::string& path) { return IsOpen(path); }))
    return false;
  for (const std::string& path : paths) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) continue;
    session_.messages.Post(Severity::kError,
                           path + ": " + (error ? error.message() : "no such file or folder"));
    return true;
  }
  return false;
}

void Application::Open(const std::vector<std::string>& given) {
  if (StaysOpen(given)) return;
  // The folder of a profile joins a dump; alone it is opened as one.
  const bool is_open = session_.document.dump().ready();
  std::vector<std::string> paths;
  for (const std::string& path : given) {
    std::vector<std::string> traces;
    if ((is_open && !IsOpen(path)) || given.size() > 1)
      traces = TracesOfFolder(path, session_.document.limits());
    if (traces.empty()) traces.push_back(path);
    std::ranges::move(traces, std::back_inserter(paths));
  }
  if (is_open && paths != given && std::ranges::all_of(paths, profiler::IsTraceName))
    return OpenDropped(paths);
  if (session_.document.dump().ready()) Save();
  unsettled_frames_ = 3;
  std::vector<std::string> others = paths;
  if (std::erase_if(others, [this](const std::string& path) { return IsOpen(path); }) > 0) {
    return session_.Refresh(others);
  }
  asked_.reset();
  session_.Replace(paths);
  store_.Forget();
  history_.Reset();
}

// Profiles join what is open; anything else takes its place.
void Application::OpenDropped(const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  if (session_.document.path().empty() || !std::ranges::all_of(paths, profiler::IsTraceName))
    return Open(paths);
  // One that is there already may have been written again.
  const bool are_known = std::ranges::all_of(paths, [this](const std::string& path) {
    return std::ranges::count(session_.document.profile_paths(), path) > 0;
  });
  are_known ? session_.Refresh() : session_.AddProfiles(paths);
}

void Application::Reload() {
  if (session_.document.dump().ready()) Save();
  unsettled_frames_ = 3;
  session_.Refresh();
}

Frame Application::MakeFrame() {
  return Frame{.context = session_,
               .theme = appearance_.theme(),
               .scale = appearance_.scale(),
               .font = appearance_.fonts().text,
               .strong = appearance_.fonts().strong,
               .mono = appearance_.fonts().mono,
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
    session_.document.LookForNews();
  if (const auto profile = session_.experiment.TakeProfile()) ShowProfile(*profile);
  Requests::All asked = session_.requests.Take();
  if (asked.command) Run(*asked.command);
  if (!asked.paths.empty()) Open(asked.paths);
  if (!asked.view.empty()) BringUp(asked.view);
  if (!asked.words.empty()) popups_.ShowSearch(std::move(asked.words));
  if (title_path_ != session_.document.path()) {
    title_path_ = session_.document.path();
    surface_->SetTitle(title_path_.empty() ? "hloscope" : title_path_ + " - hloscope");
  }
  store_.Update();
}

void Application::ShowProfile(const Result<RunProfile>& profile) {
  Messages& messages = session_.messages;
  if (!profile) {
    return messages.Post(Severity::kError, "the run has no profile: " + profile.error().ToString());
  }
  std::string text = "profile of the run: " + profile->path;
  if (!profile->is_retained) text += " (temporary, deleted on exit)";
  if (const auto before = ProfilePaths(session_); !before.empty()) {
    text += fmt::format("; shown in place of {}", before.front());
  }
  messages.Post(Severity::kNote, std::move(text));
  for (const profiler::Loss& loss : profile->lost) {
    messages.Post(Severity::kWarning,
                  fmt::format("{}: {} × {}", profile->path, loss.count, loss.what));
  }
  session_.document.ShowProfile(profile->path);
  session_.navigation.ForgetEvents();
  session_.marks.Of<TimelineMarks>().range = {};
  session_.requests.Show("timeline");
}

// The panel that a command of views is for: the one with the keys, else the one under the pointer,
// else the one of this screen, where none is on it the first.
Dock::Panel* Application::PanelFor(const CommandRow& row) {
  const ImVec2 pointer = ImGui::GetIO().MousePos;
  for (const std::string& id : {dock_.acting_view(), dock_.ViewAt(pointer.x, pointer.y)}) {
    if (IsOfView(row, id)) return dock_.Find(id);
  }
  // One in sight first.
  for (const bool is_in_front : {true, false}) {
    for (Dock::Panel& panel : dock_.panels()) {
      if (IsOfView(row, panel.row->id) && !AreaOn(*panel.row, dock_.screen()).empty() &&
          (!is_in_front || panel.width > 0))
        return &panel;
    }
  }
  return dock_.Find(FirstViewOf(row));
}

// Of a view that has not the keys: characters go to a panel in front, F9 and the like to any of the
// screen.
bool Application::IsForKeys(const PressedCommand& pressed) {
  const CommandRow& row = RowOf(pressed.command);
  if (row.when == "always" || row.when == "open" || IsOfView(row, dock_.acting_view())) return true;
  if (pressed.is_taken || (pressed.is_text && !pressed.is_character)) return false;
  const Dock::Panel* panel = PanelFor(row);
  if (panel == nullptr || AreaOn(*panel->row, dock_.screen()).empty()) return false;
  return !pressed.is_text || panel->width > 0;
}

void Application::RunKeys() {
  const std::vector<PressedCommand> pressed = PressedCommands();
  if (popups_.kind() != Popups::Kind::kNone) {
    if (ImGui::IsKeyPressed(ImGuiKey_Escape)) popups_.Close();
    return;
  }
  for (const PressedCommand& each : pressed) {
    // Escape closed a list or left a field.
    if (each.command == Command::kDeselect && (had_list_ || ImGui::GetIO().WantTextInput)) continue;
    if (IsForKeys(each)) Run(each.command);
  }
}

void Application::Run(Command command) {
  const CommandRow& row = RowOf(command);
  // What could not be read may be asked for again.
  const bool open = session_.document.dump().ready() ||
                    !session_.document.profile_paths().empty() ||
                    (command == Command::kReload && !session_.document.path().empty());
  if (row.when != "always" && !open) {
    session_.messages.Post(Severity::kNote, fmt::format("{}: nothing is open", row.title));
    return;
  }
  // The view with the keys comes first; a command that names a view goes to that one.
  const bool of_view = row.when != "always" && row.when != "open";
  Dock::Panel* panel = of_view ? PanelFor(row) : dock_.Find(dock_.acting_view());
  Frame frame = MakeFrame();
  if (panel != nullptr && panel->view->Run(command, frame)) {
    // As from the palette: what it does is shown.
    if (panel->width <= 0) dock_.Focus(panel->row->id);
    return;
  }
  if (const CommandHandler handler = HandlerOf(command)) handler(*this, command);
}

void Application::TryAnswer() {
  if (!asked_) return;
  const Answer* answer = AnswerTo(session_, *asked_, true);
  if (answer == nullptr) return;
  const Question question = *std::exchange(asked_, {});
  if (question == Question::kPasses) session_.marks.Of<PassMarks>().by_change = true;
  if (question == Question::kDifference && answer->is_known) {
    session_.marks.Of<Comparison>() = {.module = session_.navigation.module(), .stage = 0};
  }
  if (answer->selection.kind != SelectionKind::kNothing)
    session_.navigation.Select(answer->selection);
  if (!answer->view.empty()) dock_.Focus(answer->view);
  if (!answer->is_known) session_.messages.Post(Severity::kNote, answer->text);
}

// One frame of ImGui, shown or not.
void Application::Pass() {
  feed_.Feed(*contexts_->imgui);
  had_list_ = ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
  ImGui::NewFrame();
  ++frames_;
  RunKeys();
  TryAnswer();
  Frame frame = MakeFrame();
  float bar = ImGui::GetFrameHeight() + 12 * frame.scale, status = 26 * frame.scale;
  DrawToolbar(frame);
  // Found also while no view shows them: they decide where steps through the passes lead.
  if (session_.document.dump().ready()) session_.navigation.counterparts();
  dock_.Draw(frame, bar, status);
  DrawStatusBar(frame);
  DrawMessages(frame);
  popups_.Draw(frame, {.run = [this](Command command) { Run(command); },
                       .open = [this](const std::vector<std::string>& paths) { Open(paths); },
                       .write = [this](const std::string& path) { exporter_.Write(path); },
                       .recent = &session_.recent});
  history_.Remember(session_.navigation.version());
  feed_.Leave(*contexts_->imgui);
}

// Showing a frame may take a tenth of a second (software rendering, ssh): all that was typed and
// clicked meanwhile is answered first.
void Application::FurtherPasses(bool input) {
  using Clock = std::chrono::steady_clock;
  constexpr int kMax = 200;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(60);
  int echoes = input ? echoes_ : 0;
  for (int pass = 0; pass < kMax && !quit_; ++pass) {
    if (!feed_.waiting(*contexts_->imgui) && --echoes < 0) return;
    if (pass > 0 && Clock::now() > end) return;
    ImGui::EndFrame();
    // No time passes: keys that are held do not repeat.
    ImGui::GetIO().DeltaTime = 1e-5f;
    session_.Update();
    TakeRequests();
    Pass();
  }
}

void Application::DrawFrame() {
  bool found = session_.Update();
  if (found) history_.NoteFound();
  TakeRequests();
  surface_->NewFrame();
  const bool input = feed_.Take(*contexts_->imgui);
  Pass();
  FurtherPasses(input);
  ImGui::Render();
  surface_->Show(appearance_.theme().Rgb(Color::kCanvas));
  exporter_.Finish();
  bool changed = found || feed_.waiting(*contexts_->imgui) ||
                 session_.navigation.version() != seen_selection_ || !session_.idle() ||
                 popups_.busy() || dock_.screen() != seen_screen_ || dock_.is_changing();
  seen_screen_ = dock_.screen();
  seen_selection_ = session_.navigation.version();
  unsettled_frames_ = changed ? 3 : std::max(0, unsettled_frames_ - 1);
}

Picture Application::PictureOfFrame() const {
  return DrawPicture(*ImGui::GetDrawData(), appearance_.theme().Rgb(Color::kCanvas));
}

bool Application::settled() const {
  return unsettled_frames_ == 0 && frames_ > 4 && session_.idle() && !store_.is_waiting() &&
         !asked_ && !exporter_.is_waiting();
}

}  // namespace hloscope::viewer
