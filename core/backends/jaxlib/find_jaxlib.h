// Finding the jaxlib of a Python environment on the disk. No Python runs.
#pragma once

#include <string>
#include <vector>

#include "core/backends/plugins/plugins.h"
#include "core/base/result.h"

namespace hloscope::replay {

// A jaxlib that was found, or is to be tried.
struct JaxlibPlace {
  std::string python;   // the interpreter
  std::string version;  // as its dist-info says; empty: not known before it is started
  std::string folder;   // of packages; empty: unknown
  std::string origin;   // "--python", "VIRTUAL_ENV", …
};

// Every jaxlib in the environment of --python (or else HLOSCOPE_PYTHON), or in the active ones, in
// the order of preference.
std::vector<JaxlibPlace> FindJaxlibs(const PluginSearch& search);

// The version of the jaxlib in a folder of packages; empty: there is none.
std::string JaxlibVersionIn(const std::string& folder);

// The jaxlib to run: what --python names is taken at its word. Environment error: there is none,
// with where was looked and what installs one.
Result<JaxlibPlace> ResolveJaxlib(const PluginSearch& search);

}  // namespace hloscope::replay
