// Whether a difference of floating point is one that any other order of operations makes.
#pragma once

#include <stop_token>
#include <string>

#include "core/debug/reduce/hunt/suspect.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// How two sides lie to the values in double precision.
struct PreciseSides {
  std::string wrong;      // the platform that lies far, the other being near; empty: no such
  bool both_far = false;  // numbers of another class on both: an overflow on the way, say
};
PreciseSides FindSides(const SmallFailure& small, const RunSpec& request,
                       const std::stop_token& stop);

// "overflow", "ill_conditioned", … where the difference is no fault, whatever a pass did. Empty: it
// may be one.
std::string NumericalExplanation(const SmallFailure& small, const PreciseSides& sides,
                                 const RunSpec& request, const std::stop_token& stop);

}  // namespace hloscope::debug
