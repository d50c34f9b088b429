// `hloscope info` of a log of compilations.
#pragma once

#include <optional>

#include "app/command.h"
#include "core/base/file.h"

namespace hloscope::app {

// Tells of the compilations in a log; the exit status, or nullopt where the text has none.
std::optional<int> ShowCompileLog(const FileView& file, const Context& context);

}  // namespace hloscope::app
