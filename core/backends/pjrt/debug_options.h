// Options of XLA as text: DebugOptions files and flags.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope::replay::pjrt {

// Names without dashes, and values.
using XlaFlags = std::vector<std::pair<std::string, std::string>>;

// The fields of a DebugOptions text proto, as dumps and `--debug_options_file` have it, as flags;
// repeated ones joined by commas. Input error: a line that is none. Unsupported:
// fields of messages.
Result<XlaFlags> FlagsFromDebugOptions(std::string_view text);

// The same of a file. Input error: no such file, or a binary one.
Result<XlaFlags> ReadDebugOptionsFile(const std::string& path, const Limits& limits);

}  // namespace hloscope::replay::pjrt
