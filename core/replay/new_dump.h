// The folder of a dump that is about to be written.
#pragma once

#include <string>

#include "core/base/result.h"

namespace hloscope::replay {

// Makes the folder; its absolute path. Errors: it cannot be made (environment), it holds a dump
// already (input).
Result<std::string> MakeDumpFolder(const std::string& folder);

}  // namespace hloscope::replay
