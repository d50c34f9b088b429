// Split: even stages run on the device, odd ones on the host.
#include "core/debug/pieces/split.h"

#include <algorithm>
#include <set>

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

bool TakesApart(Opcode opcode) {
  return opcode == Opcode::kTuple || opcode == Opcode::kGetTupleElement;
}

// The first stage from `least` on of that side.
int32_t NextStage(int32_t least, bool is_on_device) {
  least = std::max(least, 0);
  return (least % 2 == 0) == is_on_device ? least : least + 1;
}

}  // namespace

bool HasRefused(const Module& module, hlo::ComputationId computation, const Refusals& refusals) {
  std::vector<hlo::ComputationId> pending = {computation};
  std::set<uint32_t> seen = {computation.index};
  while (!pending.empty()) {
    const hlo::Computation& c = module[pending.back()];
    pending.pop_back();
    for (uint32_t i = 0; i < c.instruction_count; ++i) {
      const InstructionId id(c.first_instruction + i);
      if (refusals.contains(id)) return true;
      if (!CallsInTurn(module[id].opcode)) continue;
      for (const hlo::ComputationId callee : module.CalledComputations(module[id])) {
        if (seen.insert(callee.index).second) pending.push_back(callee);
      }
    }
  }
  return false;
}

Split::Split(const Module& module, hlo::ComputationId computation, const Refusals& refusals)
    : module_(module),
      first_(module[computation].first_instruction),
      count_(module[computation].instruction_count),
      root_(module[computation].root),
      runs_on_(count_, RunsOn::kDevice),
      stage_(count_, -1),
      is_wanted_(count_, false) {
  Choose(refusals);
  PutIntoStages();
  FindWanted();
  CutPieces();
}

// Its elements stand in the module: it is copied to wherever it is used.
bool Split::IsKnownConstant(InstructionId id) const {
  if (module_[id].opcode != Opcode::kConstant) return false;
  const auto* value = module_.Get<hlo::Literal>(module_[id], AttributeKey::kConstantValue);
  return value != nullptr && !value->elided();
}

void Split::Choose(const Refusals& refusals) {
  for (uint32_t p = 0; p < count_; ++p) {
    const Opcode opcode = module_[At(p)].opcode;
    if (opcode == Opcode::kParameter || TakesApart(opcode) || IsKnownConstant(At(p))) {
      runs_on_[p] = RunsOn::kNothing;
    } else if (refusals.contains(At(p))) {
      runs_on_[p] = RunsOn::kHost;
    } else if (CallsInTurn(opcode)) {
      const auto callees = module_.CalledComputations(module_[At(p)]);
      const bool refused = std::ranges::any_of(
          callees, [&](hlo::ComputationId c) { return HasRefused(module_, c, refusals); });
      if (refused) runs_on_[p] = RunsOn::kInTurn;
    }
  }
  // Asynchronous pairs stay together.
  const auto share = [&](uint32_t p) {
    if (!NeedsItsStart(module_[At(p)].opcode)) return;
    const uint32_t start = Position(module_.operands(At(p))[0]);
    if (runs_on_[p] == RunsOn::kHost || runs_on_[start] == RunsOn::kHost) {
      runs_on_[p] = runs_on_[start] = RunsOn::kHost;
    }
  };
  for (uint32_t p = count_; p-- > 0;) share(p);
  for (uint32_t p = 0; p < count_; ++p) share(p);
  is_put_together_ = runs_on_[Position(root_)] == RunsOn::kNothing;
  for (uint32_t p = 0; p < count_; ++p) {
    for (const InstructionId operand : module_.operands(At(p))) {
      if (operand == root_) is_put_together_ = false;
    }
  }
}

void Split::PutIntoStages() {
  for (uint32_t p = 0; p < count_; ++p) {
    int32_t least = -1;
    for (const InstructionId operand : module_.operands(At(p))) {
      least = std::max(least, stage_[Position(operand)]);
    }
    if (const auto* before = module_.Find(At(p), AttributeKey::kControlPredecessors)) {
      for (const uint32_t id : module_.IdsOf(*before)) {
        if (id >= first_ && id < first_ + p) least = std::max(least, stage_[id - first_]);
      }
    }
    stage_[p] =
        runs_on_[p] == RunsOn::kNothing ? least : NextStage(least, runs_on_[p] == RunsOn::kDevice);
  }
  const int32_t last = stage_.empty() ? -1 : std::ranges::max(stage_);
  for (int32_t s = 0; s <= last; ++s) {
    stages_.push_back({.is_on_device = s % 2 == 0, .instructions = {}, .piece = {}});
  }
  for (uint32_t p = 0; p < count_; ++p) {
    if (is_put_together_ && At(p) == root_) continue;
    if (stage_[p] >= 0) stages_[static_cast<size_t>(stage_[p])].instructions.push_back(At(p));
  }
}

void Split::FindWanted() {
  is_wanted_[Position(root_)] = true;
  for (uint32_t p = 0; p < count_; ++p) {
    const bool is_last = is_put_together_ && At(p) == root_;
    const bool is_in_piece = !is_last && stage_[p] >= 0 && stage_[p] % 2 == 0;
    for (const InstructionId operand : module_.operands(At(p))) {
      const uint32_t o = Position(operand);
      if (!is_in_piece || stage_[o] != stage_[p]) is_wanted_[o] = true;
    }
  }
}

void Split::CutPieces() {
  for (SplitStage& stage : stages_) {
    if (!stage.is_on_device) continue;
    std::set<InstructionId> taken(stage.instructions.begin(), stage.instructions.end()), frontier;
    for (const InstructionId id : stage.instructions) {
      for (const InstructionId operand : module_.operands(id)) {
        if (taken.contains(operand)) continue;
        if (IsKnownConstant(operand)) {
          taken.insert(operand);
        } else {
          frontier.insert(operand);
        }
      }
      const bool leaves = is_wanted_[Position(id)] && !module_.shape(id).IsToken();
      if (leaves) stage.piece.results.push_back(id);
    }
    stage.piece.taken.assign(taken.begin(), taken.end());
    stage.piece.frontier.assign(frontier.begin(), frontier.end());
  }
}

}  // namespace hloscope::debug
