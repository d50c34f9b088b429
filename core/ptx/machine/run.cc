// The loop that executes a block: warps in turn, and in a warp the group of lanes with the lowest
// pc, so that lanes that part meet again without a graph of the code.
#include "core/ptx/machine/run.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <numeric>

#include "core/ptx/ir/known_guards.h"
#include "core/ptx/machine/barrier.h"
#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/observer.h"

namespace hloscope::ptx {
namespace {

constexpr uint64_t kStepsBetweenQuestions = 1 << 14;
// After so many branches back in a row other groups of the warp get their turn: one may wait for
// what another writes.
constexpr uint32_t kPatience = 4096;
// After so many rounds in which all warps only asked for phases of mbarriers, and none changed,
// none will.
constexpr uint32_t kIdleRounds = 1 << 16;

// Any processor counts bits by a call; most masks are full.
uint32_t CountOf(uint32_t mask) {
  return mask == kAllLanes ? kLanes : static_cast<uint32_t>(std::popcount(mask));
}

// What a turn of a block came to: all its threads have returned or one had a fault; all its warps
// only asked for phases; they did more; or it was told to stop.
enum class Turn : uint8_t { kEnded, kIdle, kGoesOn, kStopped };

class Loop {
 public:
  virtual ~Loop() = default;
  virtual Turn Take() = 0;
  virtual bool Finish() = 0;
  virtual void GiveUp() = 0;
};

template <bool kObserved>
class BlockLoop final : public Loop {
 public:
  BlockLoop(const Executable& executable, Block& block, Executions& executions,
            const Continue& go_on)
      : kernel_(*executable.kernel),
        steps_(kObserved ? executable.steps : executable.quick_steps),
        straight_ends_(executable.straight_ends),
        block_(block),
        executions_(executions),
        go_on_(go_on),
        cluster_(*block.cluster) {}

  // One turn of every warp.
  Turn Take() override {
    if (block_.live_threads == 0) return Turn::kEnded;
    bool ran = false, waits = true;
    const uint64_t changes = block_.barrier_changes;
    for (size_t i = 0; i < block_.warps.size(); ++i) {
      Warp& warp = block_.warps[block_.warp_order != nullptr ? block_.warp_order[i] : i];
      failed_ = false;
      const bool this_ran = RunWarp(warp);
      ran |= this_ran;
      waits &= failed_ || !this_ran;
      if (stopped_) return Turn::kStopped;
      if (block_.fault.has_value()) return Turn::kEnded;
    }
    const bool released = ReleaseBarriers();
    if (!released && !ran) {
      Stuck();
      return Turn::kEnded;
    }
    const bool idle = waits && !released && changes == block_.barrier_changes;
    return idle ? Turn::kIdle : Turn::kGoesOn;
  }

  // Tells of the steps since the last question; false: to stop.
  bool Finish() override { return since_question_ == 0 || Ask(block_.pc); }

  // After so many turns in which all blocks only asked.
  void GiveUp() override {
    block_.pc = failed_pc_;
    block_.Fail(kernel_.instructions[failed_pc_].operation == Operation::kClusterWait
                    ? "a barrier that not all threads of the cluster reach"
                    : "waits for a phase of an mbarrier that never completes",
                failed_thread_);
  }

 private:
  // The running group with the lowest pc, or the highest where that has spun for long; nullptr
  // where none runs.
  Group* Choose(Warp& warp, uint32_t spins) {
    Group* chosen = nullptr;
    for (Group& group : warp.groups) {
      if (group.state != GroupState::kRuns) continue;
      if (chosen == nullptr || spins >= kPatience) chosen = &group;
      if (spins < kPatience) break;
    }
    return chosen;
  }

  bool RunWarp(Warp& warp) {
    bool ran = false;
    uint32_t spins = 0;
    while (Group* group = Choose(warp, spins)) {
      ran = true;
      const bool impatient = spins >= kPatience;
      if (impatient) spins = 0;
      const Group taken = *group;
      warp.groups.erase(warp.groups.begin() + (group - warp.groups.data()));
      RunGroup(warp, taken, spins);
      if (stopped_ || block_.fault.has_value()) return true;
      // A warp that only waits for another warp must let it run.
      if (impatient) return true;
    }
    return ran;
  }

  // Puts a group among the others; groups that run at one pc become one, and a waiting one that it
  // completes too.
  void Insert(Warp& warp, Group group) {
    for (Group& other : warp.groups) {
      const bool joins = other.pc == group.pc && other.state != GroupState::kWaitsAtBarrier &&
                         group.state == GroupState::kRuns;
      if (!joins) continue;
      other.mask |= group.mask;
      other.state = GroupState::kRuns;
      return;
    }
    const auto at = std::ranges::upper_bound(warp.groups, group.pc, {}, &Group::pc);
    warp.groups.insert(at, group);
  }

  // Where the group has to stop: the lowest pc of another one that it could meet.
  uint32_t Limit(const Warp& warp, uint32_t pc) const {
    uint32_t limit = 0xffffffffu;
    for (const Group& other : warp.groups) {
      if (other.state != GroupState::kWaitsAtBarrier && other.pc >= pc)
        limit = std::min(limit, other.pc);
    }
    return limit;
  }

  void RunGroup(Warp& warp, Group group, uint32_t& spins) {
    uint32_t pc = group.pc, mask = group.mask;
    const uint32_t limit = Limit(warp, pc);
    bool first = true;
    for (;;) {
      if (pc >= limit && !(first && pc == limit)) break;
      first = false;
      const uint32_t stop = std::min(straight_ends_[pc], pc == limit ? pc + 1 : limit);
      if (stop > pc) {
        if (!RunStraight(warp, pc, stop, mask)) return;
        pc = stop;
      } else if (!RunOne(warp, pc, mask, spins)) {
        return;
      }
    }
    Insert(warp, {pc, mask});
  }

  // Instructions that all lanes of the group execute, one after the other; false where the block
  // ends.
  bool RunStraight(Warp& warp, uint32_t pc, uint32_t stop, uint32_t mask) {
    const uint32_t lanes = CountOf(mask);
    executions_.Add(pc, stop, lanes);
    since_question_ += stop - pc;
    if (since_question_ >= kStepsBetweenQuestions && !Ask(pc)) return false;
    const Instruction* const code = kernel_.instructions.data();
    const Slot* const all_slots = kernel_.slots.data();
    const Step* const steps = steps_.data();
    for (; pc < stop; ++pc) {
      const Instruction& in = code[pc];
      const Slot* const slots = all_slots + in.first_slot;
      block_.pc = pc;
      if constexpr (kObserved) block_.observer->Before(warp, in, slots, mask);
      steps[pc](warp, in, slots, mask);
      if constexpr (kObserved) block_.observer->After(warp, in, slots, mask);
      if (block_.fault.has_value()) {
        executions_.Remove(pc + 1, stop, lanes);
        return false;
      }
    }
    return true;
  }

  // An instruction with a guard, of control, or one that waits for lanes; false where the group
  // ended, parted or waits.
  bool RunOne(Warp& warp, uint32_t& pc, uint32_t& mask, uint32_t& spins) {
    const Instruction& in = kernel_.instructions[pc];
    uint32_t active = mask;
    if (in.guard != Slot::kAbsent) {
      uint32_t guard;
      std::memcpy(&guard, warp.registers + in.guard, 4);
      active &= in.guard_negated ? ~guard : guard;
    }
    executions_.Add(pc, pc + 1, CountOf(active));
    if (++since_question_ >= kStepsBetweenQuestions && !Ask(pc)) return false;
    const Step step = steps_[pc];
    if (step == nullptr || in.group_wide) {
      if constexpr (kObserved) TellSkipped(warp, in, pc, mask & ~active);
      return Control(warp, in, pc, mask, active, spins);
    }
    if (in.warp_wide && active != kAllLanes && active != 0 && Waits(warp, in, active, {pc, mask}))
      return false;
    if constexpr (kObserved) TellSkipped(warp, in, pc, mask & ~active);
    if (active != 0) {
      block_.pc = pc;
      const Slot* const slots = kernel_.slots.data() + in.first_slot;
      if constexpr (kObserved) block_.observer->Before(warp, in, slots, active);
      step(warp, in, slots, active);
      if constexpr (kObserved) block_.observer->After(warp, in, slots, active);
      if (block_.fault.has_value()) return false;
    }
    ++pc;
    return true;
  }

  void TellSkipped(Warp& warp, const Instruction& in, uint32_t pc, uint32_t skipped) {
    if (skipped == 0) return;
    block_.pc = pc;
    block_.observer->Skips(warp, in, kernel_.slots.data() + in.first_slot, skipped);
  }

  bool Ask(uint32_t pc) {
    stopped_ = !go_on_(since_question_);
    since_question_ = 0;
    if (stopped_) block_.pc = pc;
    return !stopped_;
  }

  // Whether lanes that the member mask names are elsewhere in the code: then the group waits for
  // them.
  bool Waits(Warp& warp, const Instruction& in, uint32_t active, Group group) {
    uint32_t members = kAllLanes;
    if (const auto counted = ClassOf(in.operation);
        counted == InstructionClass::kWarp || counted == InstructionClass::kControl) {
      const Slot slot = kernel_.slots[in.first_slot + in.slot_count - 1];
      members = static_cast<uint32_t>(
          ReadLane(warp, slot, static_cast<uint32_t>(std::countr_zero(active))));
    }
    const uint32_t missing = members & warp.live & ~group.mask;
    if (missing == 0) return false;
    group.state = GroupState::kWaitsForLanes;
    Insert(warp, group);
    return true;
  }

  // A control instruction; false where the group ended, parted or waits.
  bool Control(Warp& warp, const Instruction& in, uint32_t& pc, uint32_t& mask, uint32_t active,
               uint32_t& spins) {
    block_.pc = pc;
    if constexpr (kObserved) {
      if (active != 0)
        block_.observer->Before(warp, in, kernel_.slots.data() + in.first_slot, active);
    }
    switch (in.operation) {
      case Operation::kBra:
        return Branch(warp, in, pc, mask, active, spins);
      case Operation::kRet:
        warp.live &= ~active;
        block_.live_threads -= static_cast<uint32_t>(std::popcount(active));
        LeaveCluster(warp, active);
        mask &= ~active;
        ++pc;
        return mask != 0;
      case Operation::kBar:
      case Operation::kBarReduce:
        return active == 0 ? (++pc, true) : Barrier(warp, in, pc, mask, active);
      case Operation::kClusterArrive:
        if (active != 0) ArriveAtCluster(warp, active);
        ++pc;
        return true;
      case Operation::kClusterWait:
        return active == 0 ? (++pc, true) : WaitForCluster(warp, in, pc, mask, active, spins);
      case Operation::kBarArrive:
        if (active != 0) ArriveAtBarrier(warp, in, active);
        ++pc;
        return !block_.fault.has_value();
      case Operation::kWarpBar:
        if (active != 0 && active != kAllLanes && Waits(warp, in, active, {pc, mask})) return false;
        ++pc;
        return true;
      case Operation::kBranchIndexed:
        return active == 0 ? (++pc, true) : BranchByIndex(warp, in, pc, mask, active);
      case Operation::kBarrierWait:
      case Operation::kBarrierWaitParity:
        return active == 0 ? (++pc, true) : TestBarrier(warp, in, pc, mask, active, spins);
      case Operation::kWarpGroupMultiply:
      case Operation::kWarpGroupMultiplyRegisters:
        return active == 0 ? (++pc, true) : WarpGroup(warp, in, pc, mask, active);
      case Operation::kTrap:
        if (active != 0) {
          block_.Fail("the kernel stops itself (trap)",
                      warp.first_thread + static_cast<uint32_t>(std::countr_zero(active)));
          return false;
        }
        ++pc;
        return true;
      default:
        ++pc;
        return true;
    }
  }

  bool Branch(Warp& warp, const Instruction& in, uint32_t& pc, uint32_t& mask, uint32_t active,
              uint32_t& spins) {
    if (active == 0) {
      ++pc;
      return true;
    }
    const bool back = in.target <= pc;
    if (back) ++spins;
    if (active == mask && !back && warp.groups.empty()) {
      pc = in.target;
      return true;
    }
    if (active == mask && back && warp.groups.empty() && spins < kPatience) {
      pc = in.target;
      return true;
    }
    Insert(warp, {in.target, active});
    if ((mask & ~active) != 0) Insert(warp, {pc + 1, mask & ~active});
    return false;
  }

  bool Barrier(Warp& warp, const Instruction& in, uint32_t pc, uint32_t mask, uint32_t active) {
    // bar.red gives something back first.
    const Slot* s =
        kernel_.slots.data() + in.first_slot + (in.operation == Operation::kBarReduce ? 1 : 0);
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(active));
    Group group{pc, active, GroupState::kWaitsAtBarrier,
                static_cast<uint32_t>(ReadLane(warp, s[0], lane)), 0};
    if (s[1].present()) group.threads = static_cast<uint32_t>(ReadLane(warp, s[1], lane));
    if (group.barrier >= kBarriers) {
      block_.Fail("a block has the barriers 0 to 15", warp.first_thread + lane);
      return false;
    }
    if ((mask & ~active) != 0) Insert(warp, {pc + 1, mask & ~active});
    Insert(warp, group);
    return false;
  }

  // bar.arrive does not wait; who waits at the barrier counts it.
  void ArriveAtBarrier(Warp& warp, const Instruction& in, uint32_t active) {
    const Slot* s = kernel_.slots.data() + in.first_slot;
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(active));
    const uint64_t barrier = ReadLane(warp, s[0], lane);
    if (barrier >= kBarriers)
      return block_.Fail("a block has the barriers 0 to 15", warp.first_thread + lane);
    arrived_[barrier] += static_cast<uint32_t>(std::popcount(active));
    // Where nobody waits for the last to arrive the barrier is complete at once.
    const uint64_t threads = ReadLane(warp, s[1], lane);
    if (arrived_[barrier] >= threads && WaitingAt(static_cast<uint32_t>(barrier)) == 0)
      arrived_[barrier] = 0;
  }

  // barrier.cluster: a phase ends when all threads of the cluster that live have arrived.
  void ArriveAtCluster(Warp& warp, uint32_t active) {
    if (cluster_phases_.empty()) cluster_phases_.resize(block_.warps.size() * kLanes);
    for (uint32_t l = 0; l < kLanes; ++l) {
      if ((active >> l & 1) != 0) cluster_phases_[warp.first_thread + l] = cluster_.phase + 1;
    }
    cluster_.arrived += CountOf(active);
    EndClusterPhase();
  }

  // Threads that return count neither as arrived nor as awaited.
  void LeaveCluster(const Warp& warp, uint32_t active) {
    if (cluster_phases_.empty()) return;
    for (uint32_t l = 0; l < kLanes; ++l) {
      const bool leaves = (active >> l & 1) != 0;
      if (leaves && cluster_phases_[warp.first_thread + l] == cluster_.phase + 1)
        --cluster_.arrived;
    }
  }

  void EndClusterPhase() {
    uint32_t live = 0;
    for (const Block* block : cluster_.blocks) live += block->live_threads;
    if (cluster_.arrived == 0 || cluster_.arrived < live) return;
    cluster_.arrived = 0;
    ++cluster_.phase;
    ++block_.barrier_changes;
    if constexpr (kObserved) block_.observer->PhaseEnds(block_, kClusterBarrier);
  }

  // Threads whose phase has not ended let the other warps run.
  bool WaitForCluster(Warp& warp, const Instruction& in, uint32_t& pc, uint32_t mask,
                      uint32_t active, uint32_t& spins) {
    EndClusterPhase();  // threads may have returned
    cluster_phases_.resize(block_.warps.size() * kLanes);
    for (uint32_t l = 0; l < kLanes; ++l) {
      if ((active >> l & 1) == 0 || cluster_phases_[warp.first_thread + l] <= cluster_.phase)
        continue;
      spins = kPatience;
      failed_pc_ = pc;
      failed_thread_ = warp.first_thread + l;
      failed_ = true;
      Insert(warp, {pc, mask});
      return false;
    }
    if constexpr (kObserved)
      block_.observer->After(warp, in, kernel_.slots.data() + in.first_slot, active);
    ++pc;
    return true;
  }

  // brx.idx: each lane goes where the list of its label says.
  bool BranchByIndex(Warp& warp, const Instruction& in, uint32_t pc, uint32_t mask,
                     uint32_t active) {
    const Instruction& list = kernel_.instructions[in.target];
    const Slot index = kernel_.slots[in.first_slot];
    for (uint32_t l = 0; l < kLanes; ++l) {
      if ((active >> l & 1) == 0) continue;
      const uint64_t which = ReadLane(warp, index, l);
      if (which >= list.target) {
        block_.Fail("an index beyond the list of branch targets", warp.first_thread + l);
        return false;
      }
      Insert(warp, {kernel_.branch_targets[list.value + which], 1u << l});
    }
    if ((mask & ~active) != 0) Insert(warp, {pc + 1, mask & ~active});
    return false;
  }

  // test_wait and try_wait: a warp whose phase is not complete lets the others run.
  bool TestBarrier(Warp& warp, const Instruction& in, uint32_t& pc, uint32_t mask, uint32_t active,
                   uint32_t& spins) {
    const Slot* slots = kernel_.slots.data() + in.first_slot;
    const uint32_t waiting = TestBarriers(warp, in, slots, active);
    if (block_.fault.has_value()) return false;
    if constexpr (kObserved) block_.observer->After(warp, in, slots, active);
    ++pc;
    if (waiting == 0) return true;
    spins = kPatience;
    failed_pc_ = pc - 1;
    failed_thread_ = warp.first_thread + static_cast<uint32_t>(std::countr_zero(waiting));
    failed_ = true;
    Insert(warp, {pc, mask});
    return false;
  }

  // What the four warps of a warp group do together is done when the last of them has come.
  bool WarpGroup(Warp& warp, const Instruction& in, uint32_t& pc, uint32_t mask, uint32_t active) {
    if (active != kAllLanes) {
      if (Waits(warp, in, active, {pc, mask})) return false;
      block_.Fail("wgmma without all 32 lanes of a warp", warp.first_thread);
      return false;
    }
    const size_t first = warp.first_thread / kLanes / 4 * 4;
    if (first + 4 > block_.warps.size()) {
      block_.Fail("wgmma in a warp group of fewer than four warps", warp.first_thread);
      return false;
    }
    Warp* const group = block_.warps.data() + first;
    const auto has_come = [&](const Warp& other) {
      return &other == &warp || std::ranges::any_of(other.groups, [&](const Group& g) {
        return g.pc == pc && g.state == GroupState::kWaitsForWarps;
      });
    };
    if (!std::all_of(group, group + 4, has_come)) {
      Insert(warp, {pc, mask, GroupState::kWaitsForWarps});
      return false;
    }
    const Slot* slots = kernel_.slots.data() + in.first_slot;
    steps_[pc](*group, in, slots, kAllLanes);
    if (block_.fault.has_value()) return false;
    for (Warp* other = group; other < group + 4; ++other) {
      if constexpr (kObserved) block_.observer->After(*other, in, slots, kAllLanes);
      if (other == &warp) continue;
      std::erase_if(other->groups, [&](const Group& g) { return g.pc == pc; });
      Insert(*other, {pc + 1, kAllLanes});
    }
    ++pc;
    return true;
  }

  // A barrier opens when as many threads as it names wait at it, or all that live.
  bool ReleaseBarriers() {
    bool released = false;
    for (Warp& warp : block_.warps) {
      for (const Group& group : warp.groups) {
        if (group.state != GroupState::kWaitsAtBarrier) continue;
        const uint32_t wanted = group.threads == 0 ? block_.live_threads : group.threads;
        if (WaitingAt(group.barrier) + arrived_[group.barrier] < wanted) continue;
        Reduce(group.barrier);
        arrived_[group.barrier] = 0;
        Release(group.barrier);
        released = true;
        break;
      }
    }
    return released;
  }

  uint32_t WaitingAt(uint32_t barrier) const {
    uint32_t threads = 0;
    for (const Warp& warp : block_.warps) {
      for (const Group& group : warp.groups) {
        const bool waits = group.state == GroupState::kWaitsAtBarrier && group.barrier == barrier;
        if (waits) threads += static_cast<uint32_t>(std::popcount(group.mask));
      }
    }
    return threads;
  }

  // What bar.red gives to those that wait: how many, whether all, whether any of their predicates
  // are true.
  void Reduce(uint32_t barrier) {
    uint32_t yes = 0, all = 0;
    const auto for_groups = [&](auto f) {
      for (Warp& warp : block_.warps) {
        for (const Group& group : warp.groups) {
          if (group.state != GroupState::kWaitsAtBarrier || group.barrier != barrier) continue;
          const Instruction& in = kernel_.instructions[group.pc];
          if (in.operation == Operation::kBarReduce)
            f(warp, in, kernel_.slots.data() + in.first_slot, group.mask);
        }
      }
    };
    for_groups([&](Warp& warp, const Instruction&, const Slot* s, uint32_t mask) {
      yes += CountOf(ReadMask(warp, s[3]) & mask);
      all += CountOf(mask);
    });
    if (all == 0) return;
    for_groups([&](Warp& warp, const Instruction& in, const Slot* s, uint32_t mask) {
      if (s[0].bytes == 0) {
        const bool holds = ModifierBool(in) == Bool::kAnd ? yes == all : yes != 0;
        return WriteMask(warp, s[0], holds ? kAllLanes : 0, mask);
      }
      for (uint32_t l = 0; l < kLanes; ++l) {
        if ((mask >> l & 1) != 0) WriteLane(warp, s[0], l, yes);
      }
    });
  }

  void Release(uint32_t barrier) {
    if constexpr (kObserved) block_.observer->BarrierOpens(block_, barrier);
    for (Warp& warp : block_.warps) {
      if (warp.groups.size() == 1) {
        Group& group = warp.groups.front();
        if (group.state == GroupState::kWaitsAtBarrier && group.barrier == barrier)
          group = {group.pc + 1, group.mask};
        continue;
      }
      std::vector<Group> groups;
      groups.swap(warp.groups);
      for (Group group : groups) {
        if (group.state == GroupState::kWaitsAtBarrier && group.barrier == barrier) {
          group = {group.pc + 1, group.mask};
        }
        Insert(warp, group);
      }
    }
  }

  // Nobody can go on: named by the first thread that waits.
  void Stuck() {
    for (const Warp& warp : block_.warps) {
      if (warp.groups.empty()) continue;
      const Group& group = warp.groups.front();
      block_.pc = group.pc;
      block_.Fail(group.state == GroupState::kWaitsAtBarrier
                      ? "a barrier that not all threads of the block reach"
                  : group.state == GroupState::kWaitsForWarps
                      ? "a warp group whose four warps do not all arrive"
                      : "lanes of the member mask that never arrive",
                  warp.first_thread + static_cast<uint32_t>(std::countr_zero(group.mask)));
      return;
    }
  }

  const Kernel& kernel_;
  const std::vector<Step>& steps_;
  const std::vector<uint32_t>& straight_ends_;
  Block& block_;
  Executions& executions_;
  const Continue& go_on_;
  uint64_t since_question_ = 0;
  bool stopped_ = false;
  static constexpr uint32_t kBarriers = 16;
  std::array<uint32_t, kBarriers> arrived_{};  // threads that have come and do not wait
  Cluster& cluster_;
  std::vector<uint64_t> cluster_phases_;  // by thread: the phase that it waits for
  bool failed_ = false;                   // the warp has asked for a phase that is not complete
  uint32_t failed_pc_ = 0, failed_thread_ = 0;
};

}  // namespace

Executable::Executable(const Kernel& of, std::vector<Step> by)
    : kernel(&of), steps(std::move(by)), quick_steps(steps), straight_ends(steps.size()) {
  const std::vector<bool> guards_hold = GuardsThatHold(of);
  for (size_t i = steps.size(); i-- > 0;) {
    const Instruction& in = of.instructions[i];
    const bool is_guarded = in.guard != Slot::kAbsent && !guards_hold[i];
    const bool is_plain = steps[i] != nullptr && !is_guarded && !in.warp_wide && !in.group_wide &&
                          i + 1 < steps.size();
    straight_ends[i] = is_plain ? straight_ends[i + 1] : static_cast<uint32_t>(i);
  }
  const std::vector<bool> lost = LostMoves(of, straight_ends);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (lost[i]) quick_steps[i] = [](Warp&, const Instruction&, const Slot*, uint32_t) {};
  }
}

void Executions::Add(const Executions& other) {
  for (size_t i = 0; i < warps_.size(); ++i) {
    warps_[i] += other.warps_[i];
    lanes_[i] += other.lanes_[i];
  }
}

Executions::Counts Executions::Sum() const {
  Counts counts{warps_, lanes_};
  for (std::vector<uint64_t>* const of : {&counts.warps, &counts.lanes}) {
    std::partial_sum(of->begin(), of->end(), of->begin());
    of->pop_back();
  }
  return counts;
}

Block* RunCluster(const Executable& executable, Cluster& cluster,
                  std::span<Executions* const> executions, const Continue& go_on) {
  const size_t count = cluster.blocks.size();
  std::vector<std::unique_ptr<Loop>> loops;
  for (size_t i = 0; i < count; ++i) {
    Block& block = *cluster.blocks[i];
    if (block.observer != nullptr) {
      loops.push_back(std::make_unique<BlockLoop<true>>(executable, block, *executions[i], go_on));
    } else {
      loops.push_back(std::make_unique<BlockLoop<false>>(executable, block, *executions[i], go_on));
    }
  }
  uint32_t idle_turns = 0;
  for (bool any = true, faulty = false; any && !faulty;) {
    any = false;
    bool idle = true;
    size_t asks = count;  // a block that only asks
    for (size_t i = 0; i < count && !faulty; ++i) {
      const Turn turn = loops[i]->Take();
      if (turn == Turn::kStopped) return cluster.blocks[i];
      faulty = cluster.blocks[i]->fault.has_value();
      if (turn == Turn::kEnded) continue;
      any = true;
      idle &= turn == Turn::kIdle;
      if (turn == Turn::kIdle && asks == count) asks = i;
    }
    idle_turns = any && idle ? idle_turns + 1 : 0;
    if (idle_turns < kIdleRounds || faulty) continue;
    loops[asks]->GiveUp();
    break;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!loops[i]->Finish()) return cluster.blocks[i];
  }
  return nullptr;
}

}  // namespace hloscope::ptx
