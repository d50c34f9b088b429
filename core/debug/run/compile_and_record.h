// What our own compiler makes of a module and how that runs, in one folder.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "core/backends/ahead/own_compile.h"
#include "core/base/result.h"
#include "core/debug/run/run_spec.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

struct RecordedCompilation {
  replay::OwnCompileReport report;
  Status recorded;  // why there is no profile
};

// Compiles the module as a run of the request does, in a child process which `program` starts, and
// records such a run: `folder` gets a dump with every pass, and the profile, which is looked for
// there. Errors: those of OwnCompile.
Result<RecordedCompilation> CompileAndRecord(const std::shared_ptr<const hlo::Module>& module,
                                             const RunSpec& request, const std::string& folder,
                                             const std::string& program,
                                             const std::stop_token& stop);

}  // namespace hloscope::debug
