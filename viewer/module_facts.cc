// Reads a module's first and final stage and its tables.
#include "viewer/module_facts.h"

#include <algorithm>

namespace hloscope::viewer {
namespace {

void AddPlacement(const hlo::Module& module, const dump::ModuleEntry& entry, ModuleFacts& facts) {
  debug::Placement placement = debug::FindPlacement(module, debug::TargetNamed(entry.device));
  facts.compiled = placement.compiled;
  facts.places = placement.counts;
  for (uint32_t i = 0; i < placement.instructions.size(); ++i) {
    const debug::PlacedInstruction& placed = placement.instructions[i];
    if (placed.reason == debug::FallbackReason::kNone) continue;
    hlo::InstructionId id(i);
    ModuleFacts::Fallback fallback{.instruction = id,
                                   .name = std::string(module.name(id)),
                                   .reason = std::string(debug::Describe(placed.reason)),
                                   .bytes = -1};
    auto transfer = std::ranges::find(placement.transfers, id, &debug::Transfer::instruction);
    if (transfer != placement.transfers.end()) fallback.bytes = transfer->bytes;
    ++facts.fallback_count;
    facts.fallbacks.push_back(std::move(fallback));
  }
  constexpr size_t kMost = 100;
  std::ranges::stable_sort(facts.fallbacks, std::greater(), &ModuleFacts::Fallback::bytes);
  if (facts.fallbacks.size() > kMost) facts.fallbacks.resize(kMost);
}

}  // namespace

std::shared_ptr<const ModuleFacts> FindModuleFacts(const dump::DumpModel& dump, int32_t module) {
  auto facts = std::make_shared<ModuleFacts>();
  const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(module)];
  auto problem = [&](const Error& error) { facts->problems.push_back(error.ToString()); };
  int32_t final_stage = dump.FinalStage(module);
  if (final_stage >= 0) {
    if (auto read = dump.Module(module, final_stage)) {
      facts->instructions = static_cast<int64_t>((*read)->instructions().size());
      facts->fusions = std::ranges::count((*read)->instructions(), hlo::Opcode::kFusion,
                                          &hlo::Instruction::opcode);
      AddPlacement(**read, entry, *facts);
    } else {
      problem(read.error());
    }
    if (final_stage > 0) {
      if (auto read = dump.Module(module, 0)) {
        facts->instructions_before = static_cast<int64_t>((*read)->instructions().size());
      } else {
        problem(read.error());
      }
    }
  }
  if (auto kernels = dump.Kernels(module)) {
    facts->kernels = static_cast<int64_t>((*kernels)->kernels.size());
    for (const std::string& warning : (*kernels)->warnings) facts->problems.push_back(warning);
  } else {
    problem(kernels.error());
  }
  if (auto thunks = dump.Thunks(module); thunks && (*thunks)->file >= 0)
    facts->thunks = static_cast<int64_t>((*thunks)->thunks.size());
  auto buffers = dump.Buffers(module);
  if (buffers && (*buffers)->source != dump::BufferSource::kNone) {
    facts->memory_bytes = (*buffers)->total_bytes;
    facts->live_peak_bytes = (*buffers)->live_peak_bytes;
    for (const std::string& warning : (*buffers)->warnings) facts->problems.push_back(warning);
  } else if (!buffers) {
    problem(buffers.error());
  }
  return facts;
}

}  // namespace hloscope::viewer
