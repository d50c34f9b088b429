// PackModules: the modules of a bundle, as they go in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/debug/bundle/create.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// As BundleSource has them, which run.
struct PackedModules {
  std::shared_ptr<const hlo::Module> module, other, before_pass, after_pass, reduced;
  std::vector<std::string> notes;  // what is left out, in sentences
};

// Whether the values that --constants gave are left out: below ValuePolicy::kAll.
bool LeavesOutConstants(const BundleSource& source);

// Without the constants that are left out: they are elided. A reduced module is left out as a
// whole, since it may hold parts of them under other names. Errors: those of
// dump::LeaveOutConstants.
Result<PackedModules> PackModules(const BundleSource& source);

}  // namespace hloscope::debug
