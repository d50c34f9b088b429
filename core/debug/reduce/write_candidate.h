// Writing a candidate to files that `hloscope run` takes.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/debug/reduce/candidate.h"

namespace hloscope::debug {

// The module as HLO text to `path` (NAME.hlo), and its inputs beside it, to NAME.npz: the path of
// that, or empty where none is written: `inputs_from_seed`, none there are or not all are known.
Result<std::string> WriteCandidate(const Candidate& candidate, bool inputs_from_seed,
                                   const std::string& path);

}  // namespace hloscope::debug
