// Initial values of reductions taken more than once, which HLO allows: only an identity makes no
// difference.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// Every reduce takes its initial value `times` times more. Null: there is no reduce.
Result<std::shared_ptr<const hlo::Module>> InitialValuesAgain(
    const std::shared_ptr<const hlo::Module>& module, int64_t times);

// How many times more may lead from `expected` to `actual`, by what one time more makes of the
// element that it moves most: as often as that sum or product goes into the difference. At most
// kMaxInitialValues, to be tried in order. Empty: once more changes nothing, or no count leads
// there. The arrays are of one shape.
inline constexpr int64_t kMaxInitialValues = 4096;
std::vector<int64_t> FurtherInitialValues(const hlo::Literal& actual, const hlo::Literal& expected,
                                          const hlo::Literal& once_more);

}  // namespace hloscope::debug
