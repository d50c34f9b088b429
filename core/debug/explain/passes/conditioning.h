// Whether a result is ill-conditioned, measured.
#pragma once

#include <memory>
#include <stop_token>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// To a verdict on two platforms whose kernels all give what the reference makes of the same
// operands: moves the inputs by one ULP, on the reference. Where the results then move as much as
// they differ, the verdict is confirmed; the figures are in its tries either way.
void MeasureConditioning(DivergeVerdict& verdict, const std::shared_ptr<const hlo::Module>& module,
                         const RunSpec& request, const std::stop_token& stop);

}  // namespace hloscope::debug
