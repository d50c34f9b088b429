// DivergePlatforms: where two platforms diverge in the code that really runs, with its fusions
// as they are.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// What values may take in this process.
inline constexpr int64_t kKeptValueBytes = int64_t{2} << 30;

// Runs the request's platform and reference platform on `module`. Where one of them compiles, its
// optimised module is run again on both, with the value at every boundary of a fusion, kernel or
// library call captured, and compared in program order. The first instruction that gives something
// else than the reference makes of the same operands is the place; a fusion is looked into. Capture
// is held to change no bit of the results. Never fails itself; unsupported where a platform cannot
// tell values inside a module or its optimised module cannot be had.
DivergeVerdict DivergePlatforms(const std::shared_ptr<const hlo::Module>& module,
                                const RunSpec& request, std::stop_token stop = {},
                                int64_t keep_bytes = kKeptValueBytes, const RunSinks& sinks = {});

}  // namespace hloscope::debug
