// Mutants: modules of the user's with a change or two that keep them sound.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// One to three changes, chosen by `seed` alone. Input error: nothing
// could be changed, or the verifier refuses what came of it.
Result<std::shared_ptr<const hlo::Module>> MutantOf(
    const std::shared_ptr<const hlo::Module>& module, uint64_t seed, const Limits& limits);

}  // namespace hloscope::debug
