// Runs the viewer: frames until the window is closed, or until one picture can be taken.
#include "viewer/open.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "core/base/file.h"
#include "core/base/own_library_entry.h"
#include "viewer/facts/heat.h"
#include "viewer/frame/application.h"
#include "viewer/window/process_limits.h"

HLOSCOPE_OWN_LIBRARY

namespace hloscope::viewer {
namespace {

constexpr int kGood = 0, kBadInput = 2;

int WriteScreenshot(Application& application, const OpenRequest& request, std::string& error) {
  while (!application.settled()) {
    application.DrawFrame();
    if (!application.session().idle()) application.surface().Wait(0.02);
  }
  application.DrawFrame();
  // What was asked for is not on the picture then: none is written.
  const Pending<dump::DumpModel>& dump = application.session().document.dump();
  if (dump.failed()) error = dump.error.ToString();
  const SecondDump& second = application.session().second;
  if (second.dump().failed()) error = second.dump().error.ToString();
  for (const Message& message : application.session().messages.all()) {
    if (error.empty() && message.severity == Severity::kError) error = message.text;
  }
  if (!error.empty()) return kBadInput;
  const Result<std::string> png = ToPng(application.PictureOfFrame());
  Status written =
      png ? WriteFileAtomically(request.screenshot, *png) : Status(std::unexpected(png.error()));
  if (!written) error = written.error().ToString();
  return error.empty() ? kGood : kBadInput;
}

// What was done is kept some time after: the machine may go down before the window is closed. No
// frame is drawn for that, unless there is something to say.
void WaitForInput(Application& application) {
  constexpr std::chrono::seconds kPause{30};
  if (application.unsaved()) {
    const auto begin = std::chrono::steady_clock::now();
    application.surface().Wait(static_cast<double>(kPause.count()));
    if (std::chrono::steady_clock::now() - begin < kPause) return;
    application.Save();
    if (!application.not_kept().empty()) return;
  }
  application.surface().Wait(-1);
}

void RunWindow(Application& application, std::string& error) {
  int busy_frames = 0;
  while (!application.quit()) {
    application.DrawFrame();
    if (application.surface().hidden()) {
      application.surface().Wait(0.5);
      continue;
    }
    // Input makes a few frames, since widgets answer in the frame after; then nothing until the
    // next.
    if (!application.settled()) {
      busy_frames = 1;
      if (!application.session().idle()) application.surface().Wait(0.05);
    } else if (busy_frames > 0) {
      --busy_frames;
    } else {
      WaitForInput(application);
      busy_frames = 1;
    }
  }
  application.Save();
  // The window's message cannot be seen any more.
  if (!application.not_kept().empty())
    error = "layout and session cannot be saved: " + application.not_kept();
}

SurfaceKind KindOf(const OpenRequest& request) {
  if (request.screenshot.empty()) return SurfaceKind::kWindow;
  return IsTrialOfOpenGl() ? SurfaceKind::kHidden : SurfaceKind::kHeadless;
}

}  // namespace

int OpenViewer(const OpenRequest& request, std::string& error) {
  ApplicationOptions options;
  options.limits = request.limits;
  options.state_folder = request.state_folder;
  options.theme = request.theme;
  options.surface = {.kind = KindOf(request),
                     .width = request.width,
                     .height = request.height,
                     .scale = static_cast<float>(request.scale)};
  if (request.screenshot.empty()) options.echoes = 2;
  if (Status limits = CheckProcessLimits(request.screenshot.empty()); !limits) {
    error = limits.error().ToString();
    return kBadInput;
  }
  Result<std::unique_ptr<Application>> made = Application::Make(options);
  if (!made) {
    error = made.error().ToString();
    return kBadInput;
  }
  Application& application = **made;
  const bool is_screen =
      std::ranges::find(ScreenRows(), request.screen, &ScreenRow::id) != ScreenRows().end();
  if (!is_screen) application.ShowWhenOpen(request.screen);
  if (!request.screen.empty()) application.dock().SetScreen(request.screen);
  application.session().source_folders = request.sources;
  const auto heat = std::ranges::find(HeatRows(), request.heat, &HeatRow::id);
  if (heat != HeatRows().end()) ChooseHeat(application.session(), heat->measure);
  application.DrawFrame();  // something to see before anything is read
  application.SelectWhenOpen(request.select);
  if (!request.paths.empty() || !request.select.empty()) application.Open(request.paths);
  if (!request.screenshot.empty()) return WriteScreenshot(application, request, error);
  if (request.state_folder.empty())
    application.session().messages.Post(
        Severity::kNote,
        "layout and session cannot be saved: neither XDG_STATE_HOME nor HOME "
        "names a folder");
  RunWindow(application, error);
  return kGood;
}

}  // namespace hloscope::viewer

extern "C" int hloscope_open_viewer(const hloscope::viewer::OpenRequest* request,
                                    std::string* error) {
  try {
    return hloscope::viewer::OpenViewer(*request, *error);
  } catch (const std::exception& exception) {
    *error = exception.what();
    return hloscope::viewer::kBadInput;
  }
}
