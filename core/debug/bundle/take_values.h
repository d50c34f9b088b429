// What a run of a bundle's module takes from the bundle: its inputs, and how it was recorded.
#pragma once

#include <span>
#include <string>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// Where `file` is a bundle and the request names no inputs: the values in it, for parameters and
// infeeds; of inputs that were generated how they were, unless `says_how`: the request does; else a
// note that they are not there. Nothing where it is none. Errors: those of BundleFile::Open and of
// the manifest.
Status TakeBundledInputs(const std::string& file, bool says_how, RunSpec& request,
                         const Limits& limits);

/// Where `file` is a bundle: platforms, flags, bounds, expected results and all else that the
/// options `given` leave open, as recorded, with a note. Of what is untrusted: see
/// RequestFromUntrusted; input error: it refuses something.
Status TakeRecordedRun(const std::string& file, std::span<const std::string> given,
                       RunSpec& request, const Limits& limits);

}  // namespace hloscope::debug
