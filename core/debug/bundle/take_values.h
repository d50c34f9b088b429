// What a run takes from where its module lies: inputs, and how the run of a bundle was recorded.
#pragma once

#include <span>
#include <string>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// Where the request names no inputs, for the module of `file`: of a bundle the values in it, for
// parameters and infeeds; of inputs that were generated how they were, unless `says_how`: the
// request does; else a note that they are not there. Of a module of a dump, unless `says_how`,
// those that `record --inputs` saved, with a note. Errors: those of BundleFile::Open and of the
// manifest.
Status TakeKnownInputs(const std::string& file, const hlo::Module& module, bool says_how,
                       RunSpec& request, const Limits& limits);

/// Where `file` is a bundle: platforms, flags, bounds, expected results and all else that the
/// options `given` leave open, as recorded, with a note. Of what is untrusted: see
/// RequestFromUntrusted; input error: it refuses something.
Status TakeRecordedRun(const std::string& file, std::span<const std::string> given,
                       RunSpec& request, const Limits& limits);

}  // namespace hloscope::debug
