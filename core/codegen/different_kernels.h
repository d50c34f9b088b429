// DifferentKernels: of kernels that are equal, one is written.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/codegen/emit/kernel.h"
#include "core/compile/kernel_code.h"

namespace hloscope::codegen {

// The kernels that differ, those first that are worth the least effort.
struct DifferentKernels {
  std::vector<hlo::InstructionId> kernels;
  size_t least_effort = 0;  // so many of them
  std::vector<size_t> use;  // by kernel given: its place in `kernels`
};

// `effort`: of all kernels; by what each has to do where not set.
DifferentKernels FindDifferent(const hlo::Module& module,
                               std::span<const hlo::InstructionId> kernels,
                               std::optional<compile::Effort> effort,
                               const Overwritten& overwritten = {});

// "k12_fusion_3": a name that no other kernel has and LLVM, assemblers and people can read.
std::string SymbolName(const hlo::Module& module, hlo::InstructionId id, size_t number);

}  // namespace hloscope::codegen
