// Application: one viewer on one surface. A frame is: take over what was found, do what keys ask,
// draw.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file_calls.h"
#include "core/base/limits.h"
#include "viewer/facts/answers.h"
#include "viewer/frame/dock.h"
#include "viewer/frame/input_feed.h"
#include "viewer/frame/keyboard.h"
#include "viewer/frame/popups.h"
#include "viewer/model/history.h"
#include "viewer/model/state_folder.h"
#include "viewer/session/session.h"
#include "viewer/widgets/view.h"
#include "viewer/window/look.h"
#include "viewer/window/surface.h"

struct ImGuiContext;
struct ImPlotContext;

namespace hloscope::viewer {

struct ApplicationOptions {
  Limits limits;
  std::string state_folder;                           // empty: nothing is kept
  const FileCalls* state_calls = &SystemFileCalls();  // what it is written with
  std::string theme;                                  // "dark", "light"; empty: the last one
  std::string worker_program = kThisProgram;          // runs what the divergence lab asks for
  SurfaceOptions surface;
  // Frames made after input before one is shown: widgets answer in the frame after, and showing is
  // what takes time.
  int echoes = 0;
};

class Application {
 public:
  // Fails where the surface does.
  static Result<std::unique_ptr<Application>> Make(const ApplicationOptions& options);
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  void Open(const std::vector<std::string>& paths);
  // Selects MODULE[:INSTRUCTION] once the dump is read; a sentence says so where there is none
  // such.
  void SelectWhenOpen(std::string text) { wanted_selection_ = std::move(text); }
  // Brings that panel to the front then.
  void ShowWhenOpen(std::string view) { wanted_view_ = std::move(view); }
  void Run(Command command);
  void DrawFrame();
  // Nothing that was typed or clicked waits for another frame.
  bool answered() const { return !feed_.waiting(*imgui_); }
  // Nothing changes any more by itself: what was asked for is drawn.
  bool settled() const;
  bool quit() const { return quit_ || surface_->closed(); }
  // Writes layout, session and recent dumps; a sentence says why where that fails.
  void Save();
  // There is something that Save would keep.
  bool unsaved() const;
  // Why nothing was kept the last time; empty: all was.
  const std::string& not_kept() const { return not_kept_; }

  Session& session() { return *session_; }
  Dock& dock() { return dock_; }
  Surface& surface() { return *surface_; }
  Popups& popups() { return popups_; }
  const Theme& theme() const { return theme_; }
  float zoom() const { return zoom_; }

 private:
  // What undo takes back.
  struct ViewState {
    std::string screen;
    bool dark = true;
    float zoom = 1;
    std::vector<std::string> views;
    std::vector<std::string> arrangements;  // by view
    bool operator==(const ViewState&) const = default;
    bool IsKeptAs(const ViewState& kept) const;  // but for the arrangements, which are not kept
  };

  struct Saved {
    ViewState views;
    uint64_t selection_version = 0;
    std::vector<Bookmark> bookmarks;
  };

  explicit Application(const ApplicationOptions& options);
  void Start(std::unique_ptr<Surface> surface, const ApplicationOptions& options);
  void TakeRequests();
  void BringUp(const std::string& view);
  void Pass();
  void FurtherPasses(bool input);
  // The place of a verdict that was opened is selected, unless something else is asked for.
  void ShowVerdict();
  // The profile of a run is the one in view from now on, or the user hears why it is not.
  void ShowProfile(const Result<RunProfile>& profile);
  void TrySelect();
  void RefuseSelection();
  void Opened();
  void OpenDropped(const std::vector<std::string>& paths);
  bool IsOpen(const std::string& path) const;
  bool StaysOpen(const std::vector<std::string>& paths);
  bool IsForKeys(const CommandRow& row, bool is_text);
  void Reload();
  void RunKeys();
  bool RunOnSelection(Command command);
  void RunScreen(Command command);
  bool RunQuestion(Command command);
  void RunIn(std::string_view view, Command command);
  void TryAnswer();
  void StepStage(int direction, bool to_change);
  void StepGraph(Command command);
  void DrawToolbar(Frame& frame);
  void DrawScreenTabs(Frame& frame);
  void DrawCrumbs(Frame& frame, float right);
  void DrawStatusBar(Frame& frame);
  void DrawMessages(Frame& frame);
  void DrawNews(Frame& frame);
  void ExportView(ExportFormat format);
  void WriteExport(const std::string& path);
  void FinishExport();
  void SayProblems();
  void SayNotKept(const Status& status);
  Status SaveSettings() const;
  Status SaveSession();
  ViewState Capture() const;
  void Restore(const ViewState& state);
  void UndoView(bool forward);
  void Remember();
  void SetTheme(bool dark);
  void RestoreSession();
  Frame MakeFrame();

  ImGuiContext* imgui_ = nullptr;
  ImPlotContext* implot_ = nullptr;
  std::unique_ptr<Surface> surface_;
  std::unique_ptr<Session> session_;
  StateFolder state_;
  Dock dock_;
  Popups popups_;
  InputFeed feed_;
  int echoes_ = 0;
  Theme theme_{true};
  Fonts fonts_;
  float zoom_ = 1;
  bool quit_ = false;
  int frames_ = 0;
  bool was_focused_ = true;
  Saved saved_;           // last, whether or not that could be written
  std::string not_kept_;  // why it could not
  std::string wanted_selection_, wanted_view_;
  std::string selecting_;          // what of wanted_selection_ is being looked for
  std::optional<Question> asked_;  // until its answer is known
  History<ViewState> view_states_;
  // The last frames in which something was typed or clicked, selected, or came from the background.
  int input_frame_ = 0, selection_frame_ = 0, background_frame_ = 0;
  uint64_t remembered_selection_ = 0;
  bool wheel_step_ = false;  // the last step of undo was made by the wheel
  // What goes to a file once the frame of that number is drawn; no path: nothing.
  struct Exported {
    std::string view;
    ExportFormat format = ExportFormat::kCsv;
    std::string path;
    int frame = 0;
    int tries = 0;  // to read the pixels
  };
  Exported exported_;
  uint64_t restored_life_ = 0, seen_selection_ = 0;
  std::string title_path_;  // that the title of the window names
  const debug::DivergeVerdict* shown_verdict_ = nullptr;
  std::string seen_screen_;
  int unsettled_frames_ = 3;
};

}  // namespace hloscope::viewer
