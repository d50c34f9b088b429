// Who computes an instruction of a compiled module: a library or the compiler's own code.
#pragma once

#include "core/debug/explain/diverge/verdict.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

/// kLibrary or kCodeGeneration. Fourier transforms are a library's on every platform: ducc0 or
/// Eigen on CPUs (XLA: cpu/runtime/fft_thunk), cuFFT on GPUs. Of the rest, where instructions run
/// (analysis::FindPlacement, for a CPU).
Cause ComputedBy(const hlo::Module& compiled, hlo::InstructionId id);

}  // namespace hloscope::debug
