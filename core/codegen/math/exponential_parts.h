// The exponential function before its parts are put together.
#pragma once

#include "core/codegen/math/functions.h"

namespace hloscope::codegen {

// e^x = scale + scale · fraction, of f64 with |x| below 700; fraction has a relative error of
// 2^-34.
struct ExponentialParts {
  Expression fraction, scale;
};
ExponentialParts PartsOfExp(Expression x);

}  // namespace hloscope::codegen
