// A third platform's voice where two differ.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// Where the request's two platforms differ, runs the module on `third` too, on the same inputs and
// without the flags that are meant for the first, and says in the verdict's tries and sentence
// which two agree. A third that cannot run the module has no voice, which is said.
void TakeVote(DivergeVerdict& verdict, const std::shared_ptr<const hlo::Module>& module,
              const RunSpec& request, const std::string& third, const std::stop_token& stop);

}  // namespace hloscope::debug
