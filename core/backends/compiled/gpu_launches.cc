// How many blocks and threads the launches of a kernel have.
#include "core/backends/compiled/gpu_launches.h"

namespace hloscope::replay {
namespace {

GpuLaunch LaunchOf(std::string entry, const compile::GpuGrid& grid) {
  GpuLaunch out;
  out.entry = std::move(entry);
  out.grid[0] = static_cast<uint32_t>(grid.blocks);
  out.block[0] = static_cast<uint32_t>(grid.threads);
  return out;
}

}  // namespace

std::vector<GpuLaunch> LaunchesOf(const compile::GpuKernel& kernel) {
  std::vector<GpuLaunch> out;
  for (const int64_t pass : kernel.passes) {
    out.push_back(LaunchOf(kernel.name, GridOf(kernel)));
    out.back().numbers = {kernel.grains, 1, pass};
  }
  if (!kernel.finish.empty()) {
    out.push_back(LaunchOf(kernel.finish, {}));
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
