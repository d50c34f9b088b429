// ScalarLiteral: a number as a constant of any element type.
#pragma once

#include "core/hlo/literal.h"

namespace hloscope::hlo {

/// A scalar of `value`, rounded once: to the nearest number of a float type, complex ones without
/// imaginary part; towards zero and to the nearest end for integers, where NaN is 0; true unless it
/// is 0.
Literal ScalarLiteral(ElementType type, double value);

}  // namespace hloscope::hlo
