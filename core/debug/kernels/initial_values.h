// Initial values of reductions taken more than once, which HLO allows: only an identity makes no
// difference.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// Every reduce takes its initial value `times` times more. Null: there is no reduce.
Result<std::shared_ptr<const hlo::Module>> InitialValuesAgain(
    const std::shared_ptr<const hlo::Module>& module, int64_t times);

}  // namespace hloscope::debug
