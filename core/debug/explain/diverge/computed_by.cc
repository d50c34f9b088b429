#include "core/debug/explain/diverge/computed_by.h"

#include "core/analysis/place/placement.h"

namespace hloscope::debug {

Cause ComputedBy(const hlo::Module& compiled, hlo::InstructionId id) {
  if (compiled[id].opcode == hlo::Opcode::kFft) return Cause::kLibrary;
  const analysis::Placement placement = analysis::FindPlacement(compiled, analysis::Target::kCpu);
  return placement.instructions[id.index].place == analysis::Place::kLibraryCall
             ? Cause::kLibrary
             : Cause::kCodeGeneration;
}

}  // namespace hloscope::debug
