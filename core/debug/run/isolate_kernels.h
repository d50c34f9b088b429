// IsolateKernels: every kernel of a compiled program by itself, on the operands that it really had,
// held to what its instruction means.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/debug/run/isolate.h"

namespace hloscope::debug {

struct KernelsReport {
  int64_t instructions = 0, differing = 0;
  std::optional<InstructionReport> first_divergent;  // in the order in which they ran
};

// Runs `executable`, which must be of a platform with kernels in a dump (replay::kRunsDumps), once;
// each instruction that kernels compute is told as it ends. One in a loop is told the first time,
// and once more where a later iteration is the first that differs. Errors: those of the run.
Result<KernelsReport> IsolateKernels(
    replay::Executable& executable, std::span<const std::vector<hlo::Literal>> inputs,
    const replay::RunOptions& options, const BoundsRequest& bounds, bool statistics,
    const std::function<void(const InstructionReport&)>& on_instruction);

}  // namespace hloscope::debug
