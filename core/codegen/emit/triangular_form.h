// The form of a cholesky or triangular-solve as the runtime has it.
#pragma once

#include "core/codegen/emit/kernel.h"
#include "core/linking/runtime/linear_algebra.h"

namespace hloscope::codegen {

HloscopeTriangular TriangularFormOf(const Kernel& kernel);

}  // namespace hloscope::codegen
