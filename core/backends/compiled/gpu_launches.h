// The launches that a kernel of our own for a GPU consists of, and the arrays that they are given.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/compile/gpu_code.h"
#include "core/hlo/module.h"

namespace hloscope::replay {

struct GpuLaunch {
  std::string entry;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::array<int64_t, 3> numbers{};  // the parameters behind the addresses
};

// In the order in which they have to run.
std::vector<GpuLaunch> LaunchesOf(const compile::GpuKernel& kernel);

// The bytes of each array whose address a launch is given: operands, results, scratch.
struct GpuArrays {
  std::vector<int64_t> operands, results;
  int64_t scratch = 0;
};
GpuArrays ArraysOf(const hlo::Module& module, hlo::InstructionId id,
                   const compile::GpuKernel& kernel);

}  // namespace hloscope::replay
