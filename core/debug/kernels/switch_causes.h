// What a switch of a kernel's arithmetic says about why it differs.
#pragma once

#include <optional>

#include "core/debug/compare/compare_values.h"
#include "core/debug/diverge/verdict.h"
#include "core/ptx/switches/switches.h"

namespace hloscope::debug {

// The cause where that switch closes the gap; none for those that only show how far something may
// move (approximate functions at the ends of their bounds).
std::optional<Cause> CauseOf(ptx::Switch which);

// Every element that is not within the bounds of `expected` is no further from it than twice what
// the two runs `up` and `down` are apart there.
bool WithinSpread(const hlo::Literal& actual, const hlo::Literal& expected, const hlo::Literal& up,
                  const hlo::Literal& down, const ErrorBounds& bounds);

}  // namespace hloscope::debug
