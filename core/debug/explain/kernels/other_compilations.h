// OtherCompilations: whether XLA, asked to compile a program otherwise, makes kernels that are
// right.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "core/backends/gpusim/kernel_cases.h"
#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// `module` on those arguments, compiled with other tiles for the device that the kernel of
// `outcome` was compiled for, then for other devices; the first that agrees is the last try. Judged
// by the results in `judged`, by number; by all where it is empty.
std::vector<DivergeTry> OtherCompilations(const std::shared_ptr<const hlo::Module>& module,
                                          const RunSpec& request,
                                          const std::vector<hlo::Literal>& arguments,
                                          const replay::KernelOutcome& outcome,
                                          std::span<const int64_t> judged,
                                          const std::stop_token& stop);

}  // namespace hloscope::debug
