// Whether the order of a scatter's updates is why kernels differ from what they mean.
#pragma once

#include <optional>

#include "core/debug/explain/kernels/explain_kernel.h"
#include "core/debug/run/run_results.h"

namespace hloscope::debug {

/// The cause where each element that differs is one that several updates write: HLO leaves open
/// which of them stays. Nothing where one differs that is written once, or none does.
std::optional<KernelExplanation> ExplainByUpdateOrder(const KernelQuestion& question,
                                                      const Leaves& actual, const Leaves& meant,
                                                      const RunSpec& request);

}  // namespace hloscope::debug
