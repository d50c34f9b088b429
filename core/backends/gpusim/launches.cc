// Thunks name the kernels that are launched; what they leave out is told by the kernels themselves.
#include "core/backends/gpusim/launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace hloscope::replay {

using dump::Kernel;
using dump::Thunk;

class LaunchReader {
 public:
  LaunchReader(const dump::KernelTable& kernels, const dump::ThunkSequence& thunks,
               const dump::InstructionLookup& lookup)
      : kernels_(kernels), thunks_(thunks), lookup_(lookup) {}

  Launches Read() {
    for (const Thunk& thunk : thunks_.thunks) {
      if (thunk.kernel.empty()) continue;
      const Kernel* kernel = kernels_.Find(thunk.kernel);
      if (kernel == nullptr || !kernel->ptx.found()) continue;  // a library's own
      Take(*kernel, thunk);
    }
    TakeTwins();
    // Thunks that hold others are printed without them by XLA before 2025.
    for (const Kernel& kernel : kernels_.kernels) {
      if (!kernel.ptx.found() || launched_.contains(kernel.name)) continue;
      for (const std::string& instruction : kernel.instructions) Add(instruction, kernel, nullptr);
    }
    return std::move(out_);
  }

 private:
  void Take(const Kernel& kernel, const Thunk& thunk) {
    launched_.insert(kernel.name);
    if (thunk.tied_by_metadata) return Add(thunk.instruction, kernel, &thunk);
    // The first launch is of the instruction that the kernel is called after, further ones are of
    // other fusions that compute the same.
    for (const std::string& instruction : kernel.instructions) {
      if (taken_.emplace(instruction, kernel.name).second) {
        return Add(instruction, kernel, &thunk);
      }
    }
    twins_.emplace_back(&kernel, &thunk);
  }

  // Launches of a kernel once more, one by one for the fusions that have none, in program order.
  void TakeTwins() {
    if (twins_.empty()) return;
    const hlo::Module& module = lookup_.module();
    size_t next = 0;
    for (const hlo::InstructionId id : lookup_.program()) {
      if (module[id].opcode != hlo::Opcode::kFusion || next == twins_.size()) continue;
      const std::string name(module.name(id));
      if (out_.launches_.contains(name) || IsNamedByKernel(name)) continue;
      Add(name, *twins_[next].first, twins_[next].second);
      ++next;
    }
  }

  bool IsNamedByKernel(const std::string& instruction) const {
    return std::ranges::any_of(kernels_.kernels, [&](const Kernel& kernel) {
      return std::ranges::find(kernel.instructions, instruction) != kernel.instructions.end();
    });
  }

  void Add(const std::string& instruction, const Kernel& kernel, const Thunk* thunk) {
    KernelLaunch launch;
    launch.kernel = kernel.name;
    const auto file = std::ranges::find(out_.files_, kernel.ptx.file);
    launch.code = static_cast<int32_t>(file - out_.files_.begin());
    if (file == out_.files_.end()) out_.files_.push_back(kernel.ptx.file);
    const auto& own = thunk != nullptr ? thunk->launch : kernel.launch;
    const auto threads = own.threads ? own.threads : kernel.launch.threads;
    auto blocks = own.blocks ? own.blocks : kernel.launch.blocks;
    // Every block would do the same: XLA launches one.
    if (!blocks && !kernel.reads_block_index) blocks = dump::Extent3{1, 1, 1};
    if (threads && blocks) {
      launch.threads = *threads;
      launch.blocks = *blocks;
    } else {
      out_.unknown_.emplace(instruction, kernel.name);
    }
    const auto shared = thunk != nullptr ? thunk->shared_bytes : kernel.shared_bytes;
    launch.shared_bytes = shared.value_or(-1);
    out_.launches_[instruction].push_back(std::move(launch));
  }

  const dump::KernelTable& kernels_;
  const dump::ThunkSequence& thunks_;
  const dump::InstructionLookup& lookup_;
  std::set<std::string, std::less<>> launched_;
  std::set<std::pair<std::string, std::string>> taken_;  // instruction, kernel
  std::vector<std::pair<const Kernel*, const Thunk*>> twins_;
  Launches out_;
};

Result<Launches> Launches::Read(const dump::DumpModel& dump, int32_t module) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto kernels, dump.Kernels(module));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto thunks, dump.Thunks(module));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto lookup, dump.Lookup(module));
  return LaunchReader(*kernels, *thunks, *lookup).Read();
}

Result<std::vector<KernelLaunch>> Launches::Of(std::string_view instruction) const {
  if (const auto unknown = unknown_.find(instruction); unknown != unknown_.end()) {
    return UnsupportedError(
        fmt::format("the launch size of kernel {} is in no file of the dump", unknown->second),
        "XLA's LLVM IR has it: keep the .ll files next to the PTX; XLA from 2026 on writes them "
        "with --xla_dump_emitter_re=^(llvm|ptx|triton-fusion)$, earlier versions with "
        "--xla_dump_to alone");
  }
  const auto found = launches_.find(instruction);
  return found == launches_.end() ? std::vector<KernelLaunch>() : found->second;
}

}  // namespace hloscope::replay
