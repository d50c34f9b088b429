// Checker: which warps wait for which.
#include <bit>

#include "core/ptx/checks/barriers.h"
#include "core/ptx/checks/checker.h"
#include "core/ptx/machine/coordinates.h"

namespace hloscope::ptx {
void Checker::PhaseEnds(Block& block, uint64_t address) {
  clocks_.EndPhase(address == kClusterBarrier ? address : BarrierAt(block, address));
}

void Checker::Arrive(const Warp& warp, const Instruction& in, const Slot& slot, uint32_t which,
                     uint32_t mask, bool copies, const Slot* targets) {
  const uint32_t number = warp.first_in_cluster / kLanes + (copies ? kLanes : 0);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    const uint64_t address = AddressOf(warp, in, slot, l, which);
    if (targets == nullptr || targets->bytes != 2) {
      clocks_.Arrive(number, BarrierAt(*block_, address));
      continue;
    }
    const uint64_t ranks = ReadLane(warp, *targets, l);
    for (uint32_t rank = 0; rank < block_->cluster->blocks.size(); ++rank) {
      if ((ranks >> rank & 1) != 0)
        clocks_.Arrive(number, BarrierAt(*block_, InBlock(address, rank)));
    }
  }
}

void Checker::Synchronise(Warp& warp, const Instruction& in, const Slot* s, uint32_t mask) {
  const uint32_t number = warp.first_in_cluster / kLanes;
  switch (in.operation) {
    case Operation::kBarrierInit:
      for (uint32_t l = 0; l < kLanes; ++l) {
        if ((mask >> l & 1) != 0)
          clocks_.MakeBarrier(BarrierAt(*block_, AddressOf(warp, in, s[0], l)));
      }
      return;
    case Operation::kBulkLoad:
    case Operation::kBulkShared:
      return Arrive(warp, in, s[3], 2, mask, true, in.slot_count > 4 ? s + 4 : nullptr);
    case Operation::kTensorMapLoad: {
      const uint32_t barrier = 2 + TensorCoordinates(in);
      return Arrive(warp, in, s[barrier], 1, mask, true,
                    in.slot_count > barrier + 1 ? s + barrier + 1 : nullptr);
    }
    case Operation::kStoreAsync:
      return Arrive(warp, in, s[1 + in.vector_width()], 1, mask, true);
    case Operation::kRedAsync:
      return Arrive(warp, in, s[2], 1, mask, true);
    case Operation::kTryCancel:
      return Arrive(warp, in, s[1], 1, mask, true);
    case Operation::kTryCancelAll:
      for (uint32_t rank = 0; rank < block_->cluster->blocks.size(); ++rank) {
        for (uint32_t l = 0; l < kLanes; ++l) {
          if ((mask >> l & 1) == 0) continue;
          const uint64_t barrier = InBlock(AddressOf(warp, in, s[1], l, 1), rank);
          clocks_.Arrive(kLanes + number, BarrierAt(*block_, barrier));
        }
      }
      return;
    case Operation::kBulkReduce:
      if (IsShared(ModifierStateSpace(in))) Arrive(warp, in, s[3], 2, mask, true);
      return;
    case Operation::kBarrierArrive:
    case Operation::kBarrierArriveExpect:
    case Operation::kBarrierCopied:
    case Operation::kBarrierDrop:
    case Operation::kBarrierDropExpect:
    case Operation::kTensorCommit: {
      // cp.async.mbarrier.arrive has no state: it arrives for the warp's copies.
      const bool copies = in.operation == Operation::kBarrierCopied ||
                          (in.operation == Operation::kBarrierArrive && in.slot_count == 1);
      const bool has_state = in.operation != Operation::kTensorCommit && !copies;
      const bool commits = in.operation == Operation::kTensorCommit && in.slot_count > 1;
      Arrive(warp, in, s[has_state ? 1 : 0], 0, mask, copies, commits ? s + 1 : nullptr);
      return clocks_.Advance(number + (copies ? kLanes : 0), shadow_.interval);
    }
    default:
      return;
  }
}

void Checker::Control(Warp& warp, const Instruction& in, const Slot* s, uint32_t mask) {
  if (in.operation == Operation::kBra && MaySkip(block_->pc)) {
    for (uint32_t pc = block_->pc + 1; pc < in.target; ++pc) NoteSkipped(warp, pc, mask);
  }
  const bool arrives =
      in.operation == Operation::kBarArrive || in.operation == Operation::kClusterArrive;
  if (arrives && launch_.race) {
    const uint32_t number = warp.first_in_cluster / kLanes;
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    const uint64_t barrier = in.operation == Operation::kClusterArrive
                                 ? kClusterBarrier
                                 : NamedBarrier(*block_, ReadLane(warp, s[0], lane));
    clocks_.MakeBarrier(barrier);
    clocks_.Arrive(number, barrier);
    clocks_.Advance(number, shadow_.interval);
    return;
  }
  if (in.operation == Operation::kNop && launch_.race && !facts_.copy_groups.empty()) {
    const uint32_t number = warp.first_in_cluster / kLanes;
    const CopyGroup group = facts_.copy_groups[block_->pc];
    if (group == CopyGroup::kCommit || group == CopyGroup::kWaitAll)
      clocks_.Commit(number, shadow_.interval);
    if (group == CopyGroup::kWait) clocks_.Wait(number, in.value);
    if (group == CopyGroup::kWaitAll) clocks_.Wait(number, 0);
    return;
  }
  if (!launch_.uninitialised || in.guard == Slot::kAbsent) return;
  if (in.operation != Operation::kBra && in.operation != Operation::kRet) return;
  Slot guard{in.guard, 0};
  CheckOperand(warp, guard, mask, "branches on an uninitialised value");
}

void Checker::BarrierOpens(Block& block, uint32_t barrier) {
  block_ = &block;
  uint32_t participants = 0;
  for (const Warp& warp : block.warps) {
    const Group* first = nullptr;
    uint32_t waiting = 0;
    for (const Group& group : warp.groups) {
      if (group.state != GroupState::kWaitsAtBarrier || group.barrier != barrier) continue;
      participants |= 1u << (warp.first_in_cluster / kLanes);
      waiting |= group.mask;
      if (first == nullptr) {
        first = &group;
      } else if (first->pc != group.pc) {
        block.pc = group.pc;
        const uint32_t thread =
            warp.first_in_cluster + static_cast<uint32_t>(std::countr_zero(group.mask));
        Report(FindingKind::kBarrier,
               "is where some threads of a warp wait while others wait elsewhere", thread, nullptr,
               Stamp::Of(
                   clocks_.first(), first->pc, false,
                   warp.first_in_cluster + static_cast<uint32_t>(std::countr_zero(first->mask))));
      }
    }
    if (first != nullptr) CheckAligned(warp, *first, waiting);
    absent_[warp.first_in_cluster / kLanes] = 0;
  }
  clocks_.Meet(participants, shadow_.interval);
  // Those that arrived and went on.
  const uint64_t named = NamedBarrier(block, barrier);
  if (!clocks_.IsBarrier(named)) return;
  clocks_.EndPhase(named);
  for (uint32_t w = 0; w < kLanes; ++w) {
    if ((participants >> w & 1) != 0) clocks_.Leave(w, named);
  }
}

// bar and barrier.aligned want all threads of a warp but those that have nothing more to do than
// return.
void Checker::CheckAligned(const Warp& warp, const Group& group, uint32_t waiting) {
  const uint32_t number = warp.first_in_cluster / kLanes;
  const uint32_t missing = (warp.live | (absent_[number] & worked_[number])) & ~waiting;
  const Instruction& in = launch_.kernel->instructions[group.pc];
  const bool is_aligned =
      ModifierAligned(in) == Aligned::kOn || launch_.kernel->forms[group.pc].starts_with("bar.");
  if (missing == 0 || !is_aligned) return;
  block_->pc = group.pc;
  Report(FindingKind::kBarrier,
         "is executed by " + std::to_string(std::popcount(waiting)) + " of the " +
             std::to_string(std::popcount(waiting | missing)) +
             " threads of a warp: what it does then is undefined",
         warp.first_in_cluster + static_cast<uint32_t>(std::countr_zero(waiting)), nullptr);
}

}  // namespace hloscope::ptx
