// What would have written the times that a compilation lacks.
#pragma once

#include "core/analysis/compilation/compile_time.h"
#include "core/dump/dump_model.h"

namespace hloscope::analysis {

// Adds what is absent of the module's times to `out.missing`, each kind once.
void AddMissing(const dump::DumpModel& model, const ModuleCompileTime& time, CompileTime& out);

}  // namespace hloscope::analysis
