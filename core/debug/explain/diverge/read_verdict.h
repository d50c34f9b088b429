// ReadVerdict: a verdict of `diverge --json` that was kept, to be shown without running anything.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/debug/explain/diverge/verdict.h"

namespace hloscope::debug {

struct KeptVerdict {
  DivergeVerdict verdict;       // errors as warnings; comparisons have figures and no elements
  std::string module, against;  // the files that were named, as they were typed; may be empty
};

// True if `text` begins like a line of `diverge --json`.
bool IsVerdict(std::string_view text);

// One line as `diverge --json` prints it; fields that it lacks are left as they are. Input error:
// not JSON, or no verdict.
Result<KeptVerdict> ReadVerdict(std::string_view text);

}  // namespace hloscope::debug
