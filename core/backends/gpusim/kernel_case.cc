// Slices of allocations become regions: those that overlap are one.
#include "core/backends/gpusim/kernel_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "core/backends/pjrt/device_bytes.h"

namespace hloscope::replay {
namespace {

// The folder of what was compiled for a run goes with it: its files are told by name alone.
std::string LastingName(const std::string& file) {
  std::error_code failed;
  if (std::filesystem::exists(file, failed)) return file;
  return std::filesystem::path(file).filename().string();
}

// Pieces of allocations that belong together, in the order of where they lie.
class Regions {
 public:
  void Cover(const Slice& slice) {
    if (slice.known()) covered_.push_back(slice);
  }

  CaseMemory Make() {
    std::ranges::sort(covered_, {},
                      [](const Slice& s) { return std::pair(s.allocation, s.offset); });
    for (const Slice& slice : covered_) {
      if (!regions_.empty() && regions_.back().allocation == slice.allocation &&
          regions_.back().offset + regions_.back().bytes > slice.offset) {
        Slice& last = regions_.back();
        last.bytes = std::max(last.bytes, slice.offset + slice.bytes - last.offset);
      } else {
        regions_.push_back(slice);
      }
    }
    CaseMemory memory;
    for (const Slice& region : regions_) {
      memory.emplace_back(static_cast<size_t>(region.bytes), std::byte{0xff});
    }
    return memory;
  }

  CaseSlice Of(const Slice& slice) const {
    for (size_t i = 0; i < regions_.size(); ++i) {
      const Slice& region = regions_[i];
      const bool inside = region.allocation == slice.allocation && region.offset <= slice.offset &&
                          slice.offset + slice.bytes <= region.offset + region.bytes;
      if (inside) {
        return {i, static_cast<uint64_t>(slice.offset - region.offset),
                static_cast<uint64_t>(slice.bytes)};
      }
    }
    return {};
  }

 private:
  std::vector<Slice> covered_, regions_;
};

std::array<uint32_t, 3> Extent(const dump::Extent3& e) {
  return {static_cast<uint32_t>(e[0]), static_cast<uint32_t>(e[1]), static_cast<uint32_t>(e[2])};
}

std::vector<hlo::Shape> OperandShapes(const hlo::Module& module, hlo::InstructionId id) {
  std::vector<hlo::Shape> shapes;
  for (const hlo::InstructionId operand : module.operands(id)) {
    for (const hlo::Shape* shape : module.shape(operand).LeafShapes()) shapes.push_back(*shape);
  }
  return shapes;
}

}  // namespace

Result<KernelCase> MakeKernelCase(const LoadedProgram& loaded, const DeviceStep& step,
                                  std::span<const hlo::Literal> operands) {
  const hlo::Module& module = *loaded.program.module;
  KernelCase made;
  made.instruction = module.name(step.id);
  Regions regions;
  for (const Slice& slice : step.operands) regions.Cover(slice);
  for (const Slice& slice : step.results) regions.Cover(slice);
  made.memory = regions.Make();
  for (const Slice& slice : step.operands) made.operands.push_back(regions.Of(slice));
  for (const Slice& slice : step.results) made.results.push_back(regions.Of(slice));
  for (const auto& [from, to] : step.copies) {
    made.copies.emplace_back(regions.Of(from), regions.Of(to));
  }
  std::vector<int32_t> files;
  for (const KernelLaunch& launch : step.launches) {
    auto file = std::ranges::find(files, launch.code);
    if (file == files.end()) {
      file = files.insert(files.end(), launch.code);
      const ptx::Module& code = loaded.code[static_cast<size_t>(launch.code)];
      made.code.push_back({LastingName(code.file()), code.text()});
    }
    CaseLaunch own;
    own.code = static_cast<uint64_t>(file - files.begin());
    own.kernel = launch.kernel;
    own.blocks = Extent(launch.blocks);
    own.threads = Extent(launch.threads);
    own.shared_bytes = static_cast<uint64_t>(launch.shared_bytes);
    for (const Slice& slice : launch.arguments) own.arguments.push_back(regions.Of(slice));
    const auto maps = loaded.maps.find(launch.kernel);
    if (maps != loaded.maps.end()) own.maps = maps->second;
    made.launches.push_back(std::move(own));
  }
  const std::vector<hlo::Shape> shapes = OperandShapes(module, step.id);
  if (shapes.size() != step.operands.size() || shapes.size() != operands.size()) {
    return InternalError("a kernel has other operands than its instruction");
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i].IsArray() || !step.operands[i].known()) continue;
    const CaseSlice& slice = made.operands[i];
    const auto elements = static_cast<uint64_t>(shapes[i].ElementCount().value_or(0));
    HLOSCOPE_TRY(pjrt::ToDeviceBytes(operands[i], shapes[i], slice.bytes < elements,
                                     made.memory[slice.region].data() + slice.offset));
  }
  return made;
}

Result<std::vector<ptx::Module>> LoadKernelCase(const KernelCase& kernels) {
  const auto fits = [&](const CaseSlice& slice) {
    if (slice.region >= kernels.memory.size()) return false;
    const uint64_t size = kernels.memory[slice.region].size();
    return slice.bytes <= size && slice.offset <= size - slice.bytes;
  };
  const auto all_fit = [&](const std::vector<CaseSlice>& slices) {
    return std::ranges::all_of(slices, fits);
  };
  bool sound = all_fit(kernels.results);
  for (const auto& [from, to] : kernels.copies) sound &= fits(from) && fits(to);
  for (const CaseLaunch& launch : kernels.launches) {
    sound &= launch.code < kernels.code.size() && all_fit(launch.arguments);
  }
  if (!sound) {
    return InputError("a case names bytes beyond its memory", "extract it again");
  }
  std::vector<ptx::Module> code;
  for (const CaseCode& each : kernels.code) {
    HLOSCOPE_ASSIGN_OR_RETURN(ptx::Module module, ptx::Module::Parse(each.text, each.file));
    code.push_back(std::move(module));
  }
  return code;
}

ptx::LaunchRequest RequestOf(const KernelCase&, const CaseLaunch& launch, CaseMemory& memory) {
  ptx::LaunchRequest request;
  request.entry = launch.kernel;
  request.grid = launch.blocks;
  request.block = launch.threads;
  request.dynamic_shared_bytes = launch.shared_bytes;
  for (const CaseSlice& slice : launch.arguments) {
    request.arguments.push_back(
        {std::span(memory[slice.region]).subspan(slice.offset, slice.bytes), {}});
  }
  for (size_t i = 0; i < std::min(launch.maps.size(), request.arguments.size()); ++i) {
    request.arguments[i].map = launch.maps[i];
  }
  return request;
}

void BeginKernelCase(const KernelCase& kernels, CaseMemory& memory) {
  for (const auto& [from, to] : kernels.copies) {
    std::memmove(memory[to.region].data() + to.offset, memory[from.region].data() + from.offset,
                 std::min(from.bytes, to.bytes));
  }
}

Result<CaseMemory> RunKernelCase(const KernelCase& kernels, const std::vector<ptx::Module>& code,
                                 const ptx::LaunchOptions& options) {
  CaseMemory memory = kernels.memory;
  BeginKernelCase(kernels, memory);
  for (const CaseLaunch& launch : kernels.launches) {
    HLOSCOPE_ASSIGN_OR_RETURN(
        const ptx::LaunchResult result,
        ptx::Launch(code[launch.code], RequestOf(kernels, launch, memory), options));
    if (!result.fault) continue;
    return std::unexpected(
        Error{ErrorClass::kCrashed, result.fault->ToString(), result.fault->place, {}});
  }
  return memory;
}

}  // namespace hloscope::replay
