// A thread for so many grains as an entry takes.
#include "core/replay/compiled/gpu_launches.h"

#include <algorithm>

namespace hloscope::replay {
namespace {

constexpr int64_t kThreadsOfBlock = 128;

// So many threads as have `each` grains.
GpuLaunch LaunchOf(std::string entry, int64_t grains, int64_t each, int64_t pass) {
  GpuLaunch out;
  out.entry = std::move(entry);
  const int64_t threads = (grains - 1) / each + 1;
  const int64_t of_block = std::min(kThreadsOfBlock, threads);
  out.grid[0] = static_cast<uint32_t>((threads - 1) / of_block + 1);
  out.block[0] = static_cast<uint32_t>(of_block);
  out.numbers = {grains, each, pass};
  return out;
}

}  // namespace

std::vector<GpuLaunch> LaunchesOf(const compile::GpuKernel& kernel) {
  std::vector<GpuLaunch> out;
  for (const int64_t pass : kernel.passes) {
    out.push_back(LaunchOf(kernel.name, kernel.grains, 1, pass));
  }
  if (!kernel.finish.empty()) {
    out.push_back(LaunchOf(kernel.finish, kernel.grains, kernel.grains, 0));
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
