// Values as a bundle tells them where they do not go in themselves.
#pragma once

#include <span>
#include <string>

#include "core/debug/bundle/manifest.h"
#include "core/hlo/literal.h"

namespace hloscope::debug {

// A JSON object for each array leaf of `values`, under `prefix` and its number ("in0"): its shape,
// and by kStatistics its elements, smallest, largest, mean, NaNs, infinities, zeros and hash.
std::string ValueFactsJson(std::span<const hlo::Literal> values, std::string_view prefix,
                           ValuePolicy policy);

// Of all bytes of all leaves; empty where there are none.
std::string HashOfValues(std::span<const hlo::Literal> values);

}  // namespace hloscope::debug
