// A viewer without a display, driven by ImGui's test engine as a user would.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/base/paths.h"
#include "viewer/frame/application.h"

struct ImGuiTestContext;
struct ImGuiTestEngine;

namespace hloscope::viewer {

class ViewerTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Makes a viewer on these paths and waits until everything is read. `state` keeps the session.
  void Start(const std::vector<std::string>& paths, const std::string& state = {});
  void Stop();
  // Where frames go in Start; headless unless a test says otherwise.
  SurfaceOptions surface_ = {.kind = SurfaceKind::kHeadless};
  // Shows every view of every screen, with every kind of selection of the first modules and files.
  void VisitEverything();
  // Draws until `ready`, without end if need be: what is waited for comes from other threads.
  bool DrawUntil(const std::function<bool()>& ready);
  // Waits, without drawing.
  static bool WaitFor(const std::function<bool()>& ready);
  // Draws until nothing changes any more; fails after some seconds' worth of frames.
  void Settle();
  // Does what a user does, then waits until it is answered. Names of items are those of ImGui's
  // test engine: "**/name".
  void Drive(const std::function<void(ImGuiTestContext*)>& body) { DriveWith({}, body); }
  // The same while `draw` draws windows of its own in every frame.
  void DriveWith(const std::function<void(ImGuiTestContext*)>& draw,
                 const std::function<void(ImGuiTestContext*)>& body);
  // Presses a chord such as "Ctrl+P", types into the field that has the keys, clicks an item.
  void Press(std::string_view chord);
  void Type(std::string_view text);
  void Click(const std::string& item);

  Application& app() { return *application_; }
  Session& session() { return application_->session(); }
  // Graph shows large programs as graphs too, not as rows.
  void ShowPictures();
  // What a view shows as selected.
  std::string HighlightedItems(std::string_view view);
  // The instruction's name where one is selected, in the stage it is selected in.
  std::string SelectedName();
  std::string Scratch(std::string_view name) const { return (scratch_ / name).string(); }
  static std::string Sample(std::string_view name);
  // All messages, one a line.
  std::string Messages();

  // Of the next Start.
  std::string worker_program_ = ProgramPath();
  const FileCalls* state_calls_ = &SystemFileCalls();

 private:
  std::unique_ptr<Application> application_;
  ImGuiTestEngine* engine_ = nullptr;
  std::filesystem::path scratch_;
  int drives_ = 0;
  ptrdiff_t misuses_before_ = 0;
};

}  // namespace hloscope::viewer
