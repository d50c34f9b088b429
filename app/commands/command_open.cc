// `hloscope open`: loads the viewer's library and calls it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "app/command.h"
#include "app/fail.h"
#include "app/output.h"
#include "core/base/own_library.h"
#include "viewer/open.h"

namespace hloscope::app {
namespace {

Result<HloscopeOpenViewer> LoadViewer() {
  HLOSCOPE_ASSIGN_OR_RETURN(void* const entry,
                            FindInOwnLibrary("viewer", "hloscope_open_viewer",
                                             "run `scripts/setup build`, then build again"));
  return reinterpret_cast<HloscopeOpenViewer>(entry);
}

std::string StateFolder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/hloscope/viewer";
  if (home != nullptr && *home == '/') return std::string(home) + "/.local/state/hloscope/viewer";
  return {};
}

// "1600x1000" in pixels.
Status ReadSize(const std::string& text, viewer::OpenRequest& request) {
  size_t x = text.find('x');
  char* end = nullptr;
  long width = std::strtol(text.c_str(), &end, 10);
  bool sound = x != std::string::npos && end == text.c_str() + x;
  long height = sound ? std::strtol(text.c_str() + x + 1, &end, 10) : 0;
  constexpr long kMin = 320, kMax = 16384;
  if (!sound || *end != '\0' || width < kMin || height < kMin || width > kMax || height > kMax)
    return InputError(
        fmt::format("--size {}: expected WIDTHxHEIGHT, each from {} to {}", text, kMin, kMax));
  request.width = static_cast<int>(width);
  request.height = static_cast<int>(height);
  return {};
}

// The ids of the screens, then of the views that are not called as a screen.
std::vector<std::string> ScreenNames() {
  std::vector<std::string> names = {
#define SCREEN(id, title, help) id,
#include "viewer/model/screens.def"
#undef SCREEN
  };
  for (const char* const view : {
#define VIEW(make, id, title, places, help) id,
#include "viewer/widgets/views.def"
#undef VIEW
       }) {
    if (std::ranges::find(names, view) == names.end()) names.emplace_back(view);
  }
  return names;
}

std::vector<std::string> HeatNames() {
  return {
#define HEAT(name, id, title, help) id,
#include "viewer/model/heat.def"
#undef HEAT
  };
}

class OpenCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {
        {.name = "paths",
         .target = &request_.paths,
         .help =
             "a dump directory or a module, profiles of it, and a second dump to compare it with",
         .value = "PATH"},
        {.name = "--screenshot",
         .target = &request_.screenshot,
         .help = "write a screenshot as PNG and exit; needs no display",
         .value = "OUT.png"},
        {.name = "--size",
         .target = &size_,
         .help = "size of the window or screenshot in pixels (1600x1000)",
         .value = "WxH"},
        {.name = "--scale",
         .target = &scale_,
         .help = "scale factor of the display, such as 2 for HiDPI",
         .value = "FACTOR",
         .positive = true},
        {.name = "--screen",
         .target = &request_.screen,
         .help = "the screen to show, or a view on one",
         .value = "NAME",
         .choices = ScreenNames()},
        {.name = "--select",
         .target = &request_.select,
         .help =
             "select a module by name or id, and an instruction of it, or a node of a TensorFlow "
             "graph (GRAPH:NODE)",
         .value = "MODULE[:INSTRUCTION]"},
        {.name = "--heat",
         .target = &request_.heat,
         .help = "fill boxes, rows and lines by a measure; by default measured time where a "
                 "profile is open",
         .value = "MEASURE",
         .choices = HeatNames()},
        {.name = "--source",
         .target = &request_.sources,
         .help = "a folder with your program: the view Source shows its lines with what each "
                 "costs; may be repeated",
         .value = "DIR"},
        {.name = "--theme",
         .target = &request_.theme,
         .help = "colour theme; by default the last one used",
         .value = "NAME",
         .choices = {"dark", "light"}},
    };
  }

  int Run(const Context& context) override {
    if (!size_.empty()) {
      if (Status status = ReadSize(size_, request_); !status)
        return Report(status.error(), context);
    }
    if (scale_ && (*scale_ < 0.5 || *scale_ > 4))
      return Report(InputError("--scale: expected a number from 0.5 to 4").error(), context);
    if (!request_.screenshot.empty() && !request_.screenshot.ends_with(".png")) {
      return Report(InputError(fmt::format("--screenshot {}: expected a name that ends in .png",
                                           request_.screenshot))
                        .error(),
                    context);
    }
    for (const std::string& folder : request_.sources) {
      std::error_code failed;
      if (!std::filesystem::is_directory(folder, failed))
        return Report(InputError(fmt::format("--source {}: expected a folder", folder)).error(),
                      context);
    }
    return Show(context);
  }

 private:
  int Show(const Context& context) {
    request_.limits = context.limits;
    request_.scale = scale_.value_or(request_.screenshot.empty() ? 0 : 1);
    // A screenshot does not depend on the user: no saved state is read or written for it.
    if (request_.screenshot.empty()) request_.state_folder = StateFolder();
    Result<HloscopeOpenViewer> open = LoadViewer();
    if (!open) return Report(open.error(), context);
    std::string error;
    const int status = (*open)(&request_, &error);
    if (!error.empty()) {
      Report(Error{ErrorClass::kInput, "hloscope open: " + error, {}, {}}, context);
    }
    return status;
  }

  // With --json an object for each path.
  int Report(const Error& error, const Context& context) const {
    return FailEach("file", request_.paths, error, context);
  }

  viewer::OpenRequest request_;
  std::string size_;
  std::optional<double> scale_;
};

}  // namespace

std::unique_ptr<Command> MakeOpenCommand() { return std::make_unique<OpenCommand>(); }

}  // namespace hloscope::app
