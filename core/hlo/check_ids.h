// Ids of a module that came as bytes.
#pragma once

#include "core/hlo/module.h"

namespace hloscope::hlo {

/// Whether every id leads to something, in the values of attributes too, and instructions and their
/// operands belong to their computations: nothing that reads the module leaves its arrays.
bool IdsLeadInside(const Module& module);

}  // namespace hloscope::hlo
