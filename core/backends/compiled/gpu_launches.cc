// How many blocks and threads the launches of a kernel have.
#include "core/backends/compiled/gpu_launches.h"

#include <algorithm>

namespace hloscope::replay {
namespace {

GpuLaunch LaunchOf(std::string entry, int64_t blocks, int64_t threads) {
  GpuLaunch out;
  out.entry = std::move(entry);
  out.grid[0] = static_cast<uint32_t>(blocks);
  out.block[0] = static_cast<uint32_t>(threads);
  return out;
}

// A thread or a block for each grain.
GpuLaunch LaunchOf(const compile::GpuKernel& kernel) {
  if (kernel.block > 1) return LaunchOf(kernel.name, kernel.grains, kernel.block);
  const int64_t threads = std::min(compile::kMaxGpuThreads, kernel.grains);
  return LaunchOf(kernel.name, (kernel.grains - 1) / threads + 1, threads);
}

}  // namespace

std::vector<GpuLaunch> LaunchesOf(const compile::GpuKernel& kernel) {
  std::vector<GpuLaunch> out;
  for (const int64_t pass : kernel.passes) {
    out.push_back(LaunchOf(kernel));
    out.back().numbers = {kernel.grains, 1, pass};
  }
  if (!kernel.finish.empty()) {
    out.push_back(LaunchOf(kernel.finish, 1, 1));
    out.back().numbers = {kernel.grains, kernel.grains, 0};
  }
  return out;
}

GpuArrays ArraysOf(const hlo::Module& module, hlo::InstructionId id,
                   const compile::GpuKernel& kernel) {
  GpuArrays out;
  for (const hlo::InstructionId operand : module.operands(id)) {
    out.operands.push_back(module.shape(operand).ByteSize().value_or(0));
  }
  for (const auto& leaf : module.shape(id).Leaves()) {
    out.results.push_back(leaf.second->ByteSize().value_or(0));
  }
  out.scratch = kernel.scratch_bytes;
  return out;
}

}  // namespace hloscope::replay
