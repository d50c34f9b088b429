// A file that only the user may read.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hloscope::debug {

// As WriteFileAtomically, with mode 0600 from the first byte on. A link in its place is removed: in
// a folder that others may write to, what it leads to is not ours to write.
Status WritePrivateFile(const std::string& path, std::string_view bytes);

}  // namespace hloscope::debug
