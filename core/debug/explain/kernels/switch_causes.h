// What a switch of a kernel's arithmetic says about why it differs.
#pragma once

#include <optional>

#include "core/debug/explain/diverge/verdict.h"
#include "core/hlo/literal.h"
#include "core/ptx/switches/switches.h"

namespace hloscope::debug {

// The cause where that switch closes the gap; none for those that only show how far something may
// move (approximate functions at the ends of their bounds).
std::optional<Cause> CauseOf(ptx::Switch which);

// `actual` with every element as expected that is no further from it than twice what the two runs
// `up` and `down` are apart there.
hlo::Literal SettledBySpread(const hlo::Literal& actual, const hlo::Literal& expected,
                             const hlo::Literal& up, const hlo::Literal& down);

}  // namespace hloscope::debug
