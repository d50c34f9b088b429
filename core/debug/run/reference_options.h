// The options of a run on the reference platform.
#pragma once

#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// `options` with what a request asks for its reference in place of what it asks for its platform.
// As run_hlo_module: the reference compiles without fast mathematics, whatever the flags.
void TakeReferenceOptions(const RunRequest& request, replay::RunOptions& options);

}  // namespace hloscope::debug
