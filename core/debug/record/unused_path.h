// A name for a file that the user did not name.
#pragma once

#include <string>

namespace hloscope {

// `path`, or where something is called so already (a file, a link), the first free name of
// "stem-2.ext", "stem-3.ext" …
std::string UnusedPath(const std::string& path);

}  // namespace hloscope
