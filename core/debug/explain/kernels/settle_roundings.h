// SettleByRoundings: whether what a kernel gives is as far from what is meant as its own roundings
// move it.
#pragma once

#include <optional>

#include "core/debug/explain/kernels/kernel_runs.h"
#include "core/debug/explain/kernels/rounding_budget.h"

namespace hloscope::debug {

struct SettledRoundings {
  bool is_settled = false;
  std::optional<KernelExplanation> directed;  // a rounding that no instruction means; confirmed
  std::optional<RoundingBudget> budget;       // where it is not settled
};

// What costs least first; what is left over is beyond the roundings of the kernel.
Result<SettledRoundings> SettleByRoundings(const KernelRuns& runs, const Arrays& expected);

}  // namespace hloscope::debug
