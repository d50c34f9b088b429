// The same thing in another reading of a dump: files may have come between, and every position
// moved.
#pragma once

#include "core/base/result.h"
#include "core/dump/dump_model.h"
#include "viewer/model/selection.h"

namespace hloscope::viewer {

// The selection of `before` as one of `now`, by the names of module, stage, instruction, kernel,
// buffer and file. Reads modules: not for the main thread. Fails where it is not there any more.
Result<Selection> FindAgain(const dump::DumpModel& before, const Selection& selection,
                            const dump::DumpModel& now);

}  // namespace hloscope::viewer
