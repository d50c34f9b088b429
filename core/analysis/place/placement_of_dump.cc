// Places by what a dump says of an instruction: the kinds of thunks that run it, and its kernels.
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/analysis/place/placement.h"
#include "core/dump/dump_model.h"

namespace hloscope::analysis {
namespace {

// What a thunk of XLA:GPU says about the place of its instruction, where that looks like a kernel.
// Other kinds say nothing more than the instruction does.
struct ThunkPlace {
  std::string_view kind;
  Place place;
};
constexpr ThunkPlace kThunkPlaces[] = {
    {"kCopy", Place::kCopy},
    {"kDeviceToDeviceCopy", Place::kCopy},
    {"kMemzero", Place::kCopy},
    {"kMemset32BitValue", Place::kCopy},
    {"kHostToDeviceCopy", Place::kHostMemory},
    {"kDeviceToHostCopy", Place::kHostMemory},
    {"kGemm", Place::kLibraryCall},
    {"kCublasLtMatmul", Place::kLibraryCall},
    {"kConvolution", Place::kLibraryCall},
    {"kCuDnn", Place::kLibraryCall},
    {"kFft", Place::kLibraryCall},
    {"kCollectiveKernel", Place::kCollective},
};

const ThunkPlace* Find(std::string_view kind) {
  for (const ThunkPlace& row : kThunkPlaces) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

void Move(Placement& placement, uint32_t id, PlacedInstruction to) {
  --placement.counts[static_cast<size_t>(placement.instructions[id].place)];
  placement.instructions[id] = to;
  ++placement.counts[static_cast<size_t>(to.place)];
}

}  // namespace

void TakeThunks(const hlo::Module& module, const dump::ThunkSequence& thunks,
                Placement& placement) {
  // By instruction: the place all its thunks agree on; kUndecided where they do not.
  std::unordered_map<std::string_view, Place> by_name;
  for (const dump::Thunk& thunk : thunks.thunks) {
    if (thunk.instruction.empty()) continue;
    const ThunkPlace* row = Find(thunk.kind);
    Place place = row == nullptr ? Place::kUndecided : row->place;
    auto [at, added] = by_name.try_emplace(thunk.instruction, place);
    if (!added && at->second != place) at->second = Place::kUndecided;
  }
  for (uint32_t id = 0; id < placement.instructions.size(); ++id) {
    PlacedInstruction& placed = placement.instructions[id];
    if (placed.place != Place::kDeviceKernel) continue;
    auto at = by_name.find(module.name(hlo::InstructionId(id)));
    if (at == by_name.end() || at->second == Place::kUndecided) continue;
    PlacedInstruction to = placed;
    to.place = at->second;
    Move(placement, id, to);
  }
  SumTransfers(placement);
}

void TakeKernels(const hlo::Module& module, const dump::KernelTable& kernels,
                 Placement& placement) {
  std::unordered_set<std::string_view> names;
  for (const dump::Kernel& kernel : kernels.kernels)
    names.insert(kernel.instructions.begin(), kernel.instructions.end());
  bool any = false;
  for (uint32_t id = 0; id < placement.instructions.size(); ++id) {
    const PlacedInstruction& placed = placement.instructions[id];
    // A small dot that XLA:CPU did not leave to Eigen.
    const bool is_dot = placed.place == Place::kLibraryCall &&
                        module[hlo::InstructionId(id)].opcode == hlo::Opcode::kDot;
    if (placed.place != Place::kHost && !is_dot) continue;
    if (!names.contains(module.name(hlo::InstructionId(id)))) continue;
    Move(placement, id, {.place = Place::kDeviceKernel, .reason = {}, .library = {}});
    any = true;
  }
  if (!any) return;
  std::erase_if(placement.transfers, [&](const Transfer& transfer) {
    return placement.instructions[transfer.instruction.index].place == Place::kDeviceKernel &&
           transfer.reason != FallbackReason::kHostMemorySpace;
  });
  SumTransfers(placement);
}

Placement PlacementIn(const dump::DumpModel& dump, int32_t module, const hlo::Module& final_stage) {
  const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(module)];
  Placement placement = FindPlacement(final_stage, TargetNamed(entry.device));
  if (auto thunks = dump.Thunks(module)) TakeThunks(final_stage, **thunks, placement);
  if (auto kernels = dump.Kernels(module)) TakeKernels(final_stage, **kernels, placement);
  return placement;
}

}  // namespace hloscope::analysis
