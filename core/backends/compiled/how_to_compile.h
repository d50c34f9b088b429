// What our own compiler is told for a run, so that others compile as the run does.
#pragma once

#include "core/compile/compile.h"
#include "core/replay/run_options.h"

namespace hloscope::replay {

// The options for a run of the module on this processor; `keep_values` where values between its
// instructions are wanted.
compile::CompileOptions HowToCompile(const hlo::Module& module, const RunOptions& options,
                                     bool keep_values);

}  // namespace hloscope::replay
