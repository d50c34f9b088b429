// Writing a candidate to files that `hloscope run` takes.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/debug/reduce/candidate.h"

namespace hloscope::debug {

// The module as HLO text to `path`, and its inputs to `inputs` (.npz). False where no inputs are
// written: `inputs_from_seed`, there are none or not all are known.
Result<bool> WriteCandidate(const Candidate& candidate, bool inputs_from_seed,
                            const std::string& path, const std::string& inputs);

}  // namespace hloscope::debug
