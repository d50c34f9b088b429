// Resized and Retyped: a module with another size or element type wherever one stands.
#pragma once

#include <map>
#include <optional>

#include "core/debug/reduce/candidate.h"

namespace hloscope::debug {

// Dimensions of a size in `sizes` (old to new, elements) take the new one; shapes that follow are
// inferred anew, known values are cut or repeated to fit. nullopt where a shape then contradicts.
std::optional<Candidate> Resized(const Candidate& from, const std::map<int64_t, int64_t>& sizes);

// Every `from_type` is a `to_type`, constants and known values too. nullopt where there is none, or
// a constant is elided. Whether the verifier takes it is not looked at.
std::optional<Candidate> Retyped(const Candidate& from, hlo::ElementType from_type,
                                 hlo::ElementType to_type);

}  // namespace hloscope::debug
