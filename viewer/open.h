// The way in: what `hloscope open` asks of the viewer's library.
#pragma once

#include <string>
#include <vector>

#include "core/base/limits.h"

namespace hloscope::viewer {

struct OpenRequest {
  std::vector<std::string> paths;
  Limits limits;
  std::string screenshot;            // a PNG is written there and nothing is shown; empty: a window
  int width = 1600, height = 1000;   // pixels, of the window or picture
  double scale = 0;                  // pixels for each logical pixel; 0: what the display says
  std::string screen;                // id of screens.def or views.def; empty: the last one
  std::string select;                // MODULE[:INSTRUCTION]
  std::string heat;                  // id of heat.def; empty: as the viewer chooses
  std::vector<std::string> sources;  // folders of the user's program
  std::string theme;                 // "dark", "light"; empty: the last one
  std::string state_folder;  // where layout, context and recent dumps are kept; empty: nowhere
};

// Shows the window until it is closed, or writes the picture. Answers the exit status of the
// program; `error` then says what went wrong.
int OpenViewer(const OpenRequest& request, std::string& error);

}  // namespace hloscope::viewer

// The same by the name that the program looks up.
extern "C" int hloscope_open_viewer(const hloscope::viewer::OpenRequest* request,
                                    std::string* error);
using HloscopeOpenViewer = decltype(&hloscope_open_viewer);
