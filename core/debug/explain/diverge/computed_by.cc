#include "core/debug/explain/diverge/computed_by.h"

#include <algorithm>

#include "core/analysis/place/placement.h"
#include "core/replay/platform_table.h"

namespace hloscope::debug {
namespace {

bool IsOwnGpuCompiler(std::string_view platform) {
  const replay::PlatformRow* row = replay::FindPlatform(platform);
  return row != nullptr && row->Has(replay::kOwnCompiler) &&
         (row->Has(replay::kNeedsDriver) || row->Has(replay::kSimulatesGpu));
}

// A choice without a reason against the library is the library.
bool RanInLibrary(const std::optional<replay::RunExecuted>& executed, hlo::Opcode opcode) {
  return executed && std::ranges::any_of(executed->choices, [&](const auto& choice) {
           return choice.opcode == hlo::ToString(opcode) && choice.reason.empty();
         });
}

}  // namespace

Cause ComputedBy(const hlo::Module& compiled, hlo::InstructionId id, std::string_view platform,
                 const std::optional<replay::RunExecuted>& executed) {
  const hlo::Opcode opcode = compiled[id].opcode;
  if (opcode == hlo::Opcode::kFft) {
    const bool is_ours = IsOwnGpuCompiler(platform) && !RanInLibrary(executed, opcode);
    return is_ours ? Cause::kCodeGeneration : Cause::kLibrary;
  }
  const analysis::Placement placement = analysis::FindPlacement(compiled, analysis::Target::kCpu);
  return placement.instructions[id.index].place == analysis::Place::kLibraryCall
             ? Cause::kLibrary
             : Cause::kCodeGeneration;
}

}  // namespace hloscope::debug
