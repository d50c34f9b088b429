// Who computes an instruction of a compiled module: a library or the compiler's own code.
#pragma once

#include <optional>
#include <string_view>

#include "core/debug/explain/diverge/verdict.h"
#include "core/hlo/module.h"
#include "core/replay/capture/run_stream.h"

namespace hloscope::debug {

/// kLibrary or kCodeGeneration on `platform`. Fourier transforms are a library's: ducc0 or Eigen on
/// CPUs (XLA: cpu/runtime/fft_thunk), cuFFT on GPUs; but our own compiler has kernels for them on
/// GPUs (core/codegen/emit/gpu_fft_kernel.cc), and takes cuFFT only where `executed`, of a run of
/// the module, says so. Of the rest, where instructions run (analysis::FindPlacement, for a CPU).
Cause ComputedBy(const hlo::Module& compiled, hlo::InstructionId id, std::string_view platform,
                 const std::optional<replay::RunExecuted>& executed = {});

}  // namespace hloscope::debug
