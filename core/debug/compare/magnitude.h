// Elements of any type as doubles, for curves, grids and statistics.
#pragma once

#include <cstdint>

#include "core/hlo/literal.h"

namespace hloscope::debug {

/// Element `element` in storage order, as a double; of a complex number its absolute value. The
/// literal is an array that holds bytes for it.
double MagnitudeAt(const hlo::Literal& literal, int64_t element);

}  // namespace hloscope::debug
