// Made-up inputs: the same for the same module and seed on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::replay {

// One literal per parameter, by XLA's rules for made-up arguments: floats in [-0.1, 0.2), integers
// over their whole range, pred 0 or 1; what is used as an index (of dynamic-slice,
// dynamic-update-slice, gather, scatter) lies in range, initial values of reductions are neutral.
// Unsupported error: a parameter that no value can be made up for.
Result<std::vector<hlo::Literal>> GenerateInputs(const hlo::Module& module, uint64_t seed,
                                                 const Limits& limits = {});

}  // namespace hloscope::replay
