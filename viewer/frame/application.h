// Application: one viewer on one surface.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file_calls.h"
#include "core/base/limits.h"
#include "viewer/facts/answers.h"
#include "viewer/frame/appearance.h"
#include "viewer/frame/dock.h"
#include "viewer/frame/exporter.h"
#include "viewer/frame/input_feed.h"
#include "viewer/frame/keyboard.h"
#include "viewer/frame/popups.h"
#include "viewer/frame/session_store.h"
#include "viewer/frame/view_history.h"
#include "viewer/session/session.h"
#include "viewer/widgets/picture.h"
#include "viewer/widgets/view.h"
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

/// One viewer on one surface. A frame is: take over what was found, do what keys ask, draw.
class Application {
 public:
  /// Fails where the surface does.
  static Result<std::unique_ptr<Application>> Make(const ApplicationOptions& options);
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  void Open(const std::vector<std::string>& paths);
  /// Reads again what is open.
  void Reload();
  void Run(Command command);
  /// Answers it as soon as what that needs is read.
  void Ask(Question question) { asked_ = question; }
  /// Shows that screen or panel.
  void BringUp(const std::string& view);
  void DrawFrame();
  /// The pixels of the frame that was drawn last.
  Picture PictureOfFrame() const;
  /// Nothing that was typed or clicked waits for another frame.
  bool answered() const { return !feed_.waiting(*contexts_->imgui); }
  /// Nothing changes any more by itself: what was asked for is drawn.
  bool settled() const;
  void Quit() { quit_ = true; }
  bool quit() const { return quit_ || surface_->closed(); }

  void SelectWhenOpen(std::string text) { store_.SelectWhenOpen(std::move(text)); }
  void ShowWhenOpen(std::string view) { store_.ShowWhenOpen(std::move(view)); }
  void Save() { store_.Save(); }
  bool unsaved() const { return store_.unsaved(); }
  const std::string& not_kept() const { return store_.not_kept(); }

  Session& session() { return session_; }
  Dock& dock() { return dock_; }
  Surface& surface() { return *surface_; }
  Popups& popups() { return popups_; }
  Appearance& appearance() { return appearance_; }
  ViewHistory& history() { return history_; }
  Exporter& exporter() { return exporter_; }
  const Theme& theme() const { return appearance_.theme(); }
  float zoom() const { return appearance_.zoom(); }
  Frame MakeFrame();

 private:
  struct Contexts {
    Contexts();
    ~Contexts();
    Contexts(const Contexts&) = delete;
    Contexts& operator=(const Contexts&) = delete;
    ImGuiContext* imgui = nullptr;
    ImPlotContext* implot = nullptr;
  };

  Application(std::unique_ptr<Contexts> contexts, std::unique_ptr<Surface> surface,
              const ApplicationOptions& options);
  void TakeRequests();
  void Pass();
  void FurtherPasses(bool input);
  /// The profile of a run is the one in view from now on, or the user hears why it is not.
  void ShowProfile(const Result<RunProfile>& profile);
  void OpenDropped(const std::vector<std::string>& paths);
  bool IsOpen(const std::string& path) const;
  bool StaysOpen(const std::vector<std::string>& paths);
  bool IsForKeys(const PressedCommand& pressed);
  Dock::Panel* PanelFor(const CommandRow& row);
  void RunKeys();
  void TryAnswer();
  void DrawToolbar(Frame& frame);
  void DrawScreenTabs(Frame& frame);
  void DrawCrumbs(Frame& frame, float right);
  void DrawStages(const dump::ModuleEntry& module, const Selection& now);
  void DrawStatusBar(Frame& frame);
  void DrawMessages(Frame& frame);
  void DrawNews(Frame& frame);

  std::unique_ptr<Contexts> contexts_;  // first: all that is drawn needs them
  std::unique_ptr<Surface> surface_;    // the threads of the session wake it
  Session session_;
  Dock dock_;
  Popups popups_;
  InputFeed feed_;
  Appearance appearance_;
  ViewHistory history_;
  SessionStore store_;
  Exporter exporter_;
  const int echoes_;
  bool quit_ = false, was_focused_ = true;
  bool had_list_ = false;          // one that dropped down was open as the frame began
  std::optional<Question> asked_;  // until its answer is known
  std::string title_path_;         // that the title of the window names
  // Whether anything changes by itself.
  int frames_ = 0, unsettled_frames_ = 3;
  uint64_t seen_selection_ = 0;
  std::string seen_screen_;
};

}  // namespace hloscope::viewer
