// Wrong uses of Dear ImGui, which its assertions report.
#pragma once

#include <string>
#include <vector>

namespace hloscope::viewer {

// What was noted so far, each once: "file:line: expression".
std::vector<std::string> Misuses();

}  // namespace hloscope::viewer
