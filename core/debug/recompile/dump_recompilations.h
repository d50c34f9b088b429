// Recompilations of a dump: its modules, the options beside them and the logs among its files.
#pragma once

#include "core/base/result.h"
#include "core/debug/recompile/recompilation.h"
#include "core/dump/dump_model.h"

namespace hloscope::debug {

// Reads the first stage of modules that share a name, and logs. What cannot be read becomes a
// warning.
Recompilations RecompilationsIn(const dump::DumpModel& model);

}  // namespace hloscope::debug
