// FailingRun: the run that shows a fault of a module, for the reducer and for bundles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/debug/run/run_module.h"
#include "viewer/model/context.h"

namespace hloscope::viewer {

struct FailingRun {
  int32_t module = -1, stage = -1;  // in this reading of the dump; -1: not there
  debug::RunRequest request;        // without workers
  std::string from;                 // "the last run", "the verdict"
};

// The last run of the divergence lab where it failed; else what the verdict says; else that run all
// the same. nullopt: the module was not run, and has no verdict.
std::optional<FailingRun> FailingRunOf(Context& context, int32_t module);

// "PLATFORM against REFERENCE, seed 3".
std::string RunText(const debug::RunRequest& request);

}  // namespace hloscope::viewer
