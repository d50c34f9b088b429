// FaultRun: the run that shows what is wrong with a module: what is made small, and what goes into
// a bundle.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/debug/run/run_module.h"
#include "viewer/model/context.h"

namespace hloscope::viewer {

struct FaultRun {
  int32_t module = -1, stage = -1;
  debug::RunRequest request;  // without workers
  std::string from;           // "the last run", "the verdict"
};

// The last run of the divergence lab where it failed; else what the verdict says; else that run all
// the same. nullopt: the module was not run, and there is no verdict on it.
std::optional<FaultRun> FaultRunOf(Context& context, int32_t module);

// "PLATFORM against REFERENCE, seed 3".
std::string RunText(const debug::RunRequest& request);

}  // namespace hloscope::viewer
