// SplitModule: computations from the entry on, each part compiled once.
#include "core/debug/pieces/split_module.h"

#include <array>
#include <utility>

namespace hloscope::debug {

using hlo::InstructionId;

Result<LoadedPart> SplitModule::LoadPart(const hlo::Module& module, const Piece& piece,
                                         replay::Platform& platform,
                                         const replay::RunOptions& options) {
  JoinedPieces joined = JoinPieces(module, {&piece, 1}, PieceDevices::kAll);
  LoadedPart part{std::move(joined.parameters), piece.results, nullptr};
  HLOSCOPE_ASSIGN_OR_RETURN(part.executable, platform.Load(std::move(joined.module), options));
  return part;
}

std::optional<SplitModule::Failure> SplitModule::Load(const Where& where) {
  std::vector<hlo::ComputationId> pending = {module_.entry_id()};
  while (!pending.empty()) {
    const hlo::ComputationId c = pending.back();
    pending.pop_back();
    if (computations_.contains(c)) continue;
    if (auto failure = LoadComputation(c, where, pending)) return failure;
  }
  return std::nullopt;
}

std::optional<SplitModule::Failure> SplitModule::LoadComputation(
    hlo::ComputationId c, const Where& where, std::vector<hlo::ComputationId>& pending) {
  Computation& own =
      computations_.emplace(c, Computation{Split(module_, c, refusals_), {}, {}}).first->second;
  for (const SplitStage& stage : own.split.stages()) {
    LoadedPart& on_device = own.on_device.emplace_back();
    if (stage.is_on_device && !stage.piece.taken.empty()) {
      Result<LoadedPart> part = LoadPart(module_, stage.piece, where.device, where.options);
      if (!part.has_value()) {
        return Failure{stage.instructions, true, std::move(part).error()};
      }
      on_device = *std::move(part);
    }
    for (const InstructionId id : stage.instructions) {
      const RunsOn runs_on = own.split.runs_on(id);
      if (runs_on == RunsOn::kInTurn) {
        for (const hlo::ComputationId callee : module_.CalledComputations(module_[id])) {
          pending.push_back(callee);
        }
      }
      if (runs_on != RunsOn::kHost || RunsWithItsDone(module_[id].opcode)) continue;
      Result<LoadedPart> part =
          LoadPart(module_, CutPiece(module_, id, 0), where.host, where.options);
      if (!part.has_value()) return Failure{{id}, false, std::move(part).error()};
      own.on_host.emplace(id, *std::move(part));
    }
  }
  return std::nullopt;
}

}  // namespace hloscope::debug
