// A search backwards in rounds, nearest first: values before decisions.
#include "core/ptx/trace/slice.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace hloscope::ptx {
namespace {

constexpr size_t kMaxFollowed = 1 << 18, kMaxReported = 8192;
// Of one instruction: what a loop or other threads do again and again says little more.
constexpr uint32_t kMaxIterations = 16;
// What may have been written in place of a value is less likely than what it comes from.
constexpr uint32_t kFurther = 4;

// A thread's steps by instruction.
using Events = std::unordered_map<uint32_t, std::vector<int64_t>>;

class Slicer {
 public:
  Slicer(const BlockTrace& trace, const ControlFlow& flow, StandIns stand_ins)
      : trace_(trace), flow_(flow), stand_ins_(stand_ins) {}

  Slice Run(std::span<const StepRef> from) {
    for (const StepRef& step : from) Reach(step, 0, false, kNobody);
    for (size_t i = 0; i < nodes_.size(); ++i) Follow(i, false);
    FollowDecisions();
    if (stand_ins_ == StandIns::kOfBranches) ReachStoresPassed();
    Tell();
    for (const auto& [instruction, thread] : unlike_) {
      std::vector<uint32_t>& threads = slice_.unlike_threads;
      if (std::ranges::find(threads, static_cast<uint32_t>(thread)) == threads.end())
        threads.push_back(static_cast<uint32_t>(thread));
    }
    slice_.other_threads.assign(others_.begin(), others_.end());
    slice_.complete &= flow_.is_known();
    return std::move(slice_);
  }

 private:
  static constexpr size_t kNobody = static_cast<size_t>(-1);

  struct Node {
    StepRef step;
    bool control;
    uint32_t distance;
    std::vector<size_t> needs;
  };

  // `alone`: what it comes from is not followed.
  void Reach(StepRef step, uint32_t distance, bool control, size_t by, bool alone = false) {
    if (step.thread < 0) return;
    const ThreadTrace* const thread = trace_.Find(step.thread);
    if (thread == nullptr) {
      others_.insert(static_cast<uint32_t>(step.thread));
      return;
    }
    if (!thread->Has(step.step)) return;
    if (nodes_.size() >= kMaxFollowed) {
      slice_.complete = false;
      return;
    }
    const auto [at, is_new] = seen_.try_emplace({step.thread, step.step}, nodes_.size());
    if (is_new) {
      nodes_.push_back({step, control, distance, {}});
      if (control && !alone) Round(distance).push_back(at->second);
    }
    if (by != kNobody) nodes_[by].needs.push_back(at->second);
  }

  std::vector<size_t>& Round(uint32_t distance) {
    if (rounds_.size() <= distance) rounds_.resize(distance + 1);
    return rounds_[distance];
  }

  // What it comes from: operands and memory, and the guard where it is one of decisions.
  void Follow(size_t node, bool control) {
    const auto [ref, is_control, distance, needs] = nodes_[node];
    const ThreadTrace& thread = *trace_.Find(ref.thread);
    const TracedStep& step = thread.at(ref.step);
    const TracedInstruction& in = trace_.instructions[step.instruction];
    const auto values = trace_.ValuesOf(thread, step);
    for (size_t i = 0; i < values.size(); ++i) {
      if (in.operands[i].guard == control) Reach(values[i].from, distance + 1, control, node);
    }
    if (control) return;
    for (const TracedAccess& access : thread.AccessesOf(step))
      Reach(access.from, distance + 1, is_control, node);
  }

  // Nearest first; what values come from is known by now.
  void FollowDecisions() {
    for (size_t i = nodes_.size(); i-- > 0;) Round(nodes_[i].distance).push_back(i);
    for (size_t distance = 0; distance < rounds_.size(); ++distance) {
      for (size_t i = 0; i < rounds_[distance].size(); ++i) {
        const size_t node = rounds_[distance][i];
        if (nodes_[node].control)
          FollowAll(node);
        else
          Follow(node, true);
        ReachDeciders(node);
        ReachChoices(node);
        ReachStoresNotMade(node);
      }
    }
  }

  // Of what is there for a decision everything is: of a step that was not done its guard alone.
  void FollowAll(size_t node) {
    const StepRef ref = nodes_[node].step;
    const uint32_t distance = nodes_[node].distance + 1;
    const ThreadTrace& thread = *trace_.Find(ref.thread);
    const TracedStep& step = thread.at(ref.step);
    const auto values = trace_.ValuesOf(thread, step);
    if (step.skipped) return Reach(values.back().from, distance, true, node);
    for (const TracedValue& value : values) Reach(value.from, distance, true, node);
    for (const TracedAccess& access : thread.AccessesOf(step))
      Reach(access.from, distance, true, node);
  }

  const Events& EventsOf(const ThreadTrace& thread) {
    const auto [at, is_new] = events_.try_emplace(thread.thread);
    if (!is_new) return at->second;
    for (size_t i = 0; i < thread.steps.size(); ++i)
      at->second[thread.steps[i].instruction].push_back(thread.first + static_cast<int64_t>(i));
    return at->second;
  }

  // The last step of that instruction before `step`; -1: none.
  static int64_t LastOf(const Events& events, uint32_t instruction, int64_t step) {
    const auto found = events.find(instruction);
    if (found == events.end()) return -1;
    const auto at = std::ranges::lower_bound(found->second, step);
    return at == found->second.begin() ? -1 : *std::prev(at);
  }

  void ReachDeciders(size_t node) {
    const StepRef ref = nodes_[node].step;
    const ThreadTrace& thread = *trace_.Find(ref.thread);
    int64_t last = -1;
    for (const uint32_t decider : flow_.DecidersOf(thread.at(ref.step).instruction))
      last = std::max(last, LastOf(EventsOf(thread), decider, ref.step));
    if (last >= 0) Reach({ref.thread, last}, nodes_[node].distance + 1, true, node);
  }

  void ReachChoices(size_t node) {
    const StepRef ref = nodes_[node].step;
    const ThreadTrace& thread = *trace_.Find(ref.thread);
    const TracedStep& step = thread.at(ref.step);
    const Instruction& in = flow_.kernel().instructions[step.instruction];
    const auto values = trace_.ValuesOf(thread, step);
    const auto reach = [&](uint32_t offset, const TracedValue& value) {
      const int64_t written = value.from.thread == ref.thread ? value.from.step : -1;
      for (const uint32_t choice : flow_.ChoicesOf(offset)) {
        const int64_t last = LastOf(EventsOf(thread), choice, ref.step);
        if (last > written) Reach({ref.thread, last}, nodes_[node].distance + 1, true, node);
      }
    };
    for (uint32_t s = 0; s < in.slot_count && !step.skipped; ++s) {
      const Slot& slot = flow_.kernel().slots[in.first_slot + s];
      const bool is_read = slot.present() && !slot.written && (slot.offset & Slot::kConstant) == 0;
      if (is_read) reach(slot.offset, values[s]);
    }
    if (in.guard != Slot::kAbsent) reach(in.guard, values.back());
  }

  // What may have kept another value from shared memory, behind the write of that which is read.
  void ReachStoresNotMade(size_t node) {
    const StepRef ref = nodes_[node].step;
    const uint32_t distance = nodes_[node].distance + kFurther;
    const ThreadTrace& thread = *trace_.Find(ref.thread);
    const TracedStep& step = thread.at(ref.step);
    for (const TracedAccess& access : thread.AccessesOf(step)) {
      if (access.writes || access.space != TracedSpace::kShared) continue;
      if (trace_.Find(access.from.thread) == nullptr)
        ReachUse(access.writer, thread, step.turn, distance, node, false);
      for (const SharedUse& beside : access.beside) {
        if (beside.turn > access.writer.turn)
          ReachUse(beside, thread, step.turn, distance, node, true);
      }
      // Who read it before may have had to write to it then.
      for (const SharedUse& reader : access.readers) {
        const StepRef by = ReachUse(reader, thread, step.turn, distance, node, false);
        if (by.thread < 0) continue;
        const ThreadTrace& other = *trace_.Find(by.thread);
        const int64_t decision = FirstSharedChoice(other, by.step);
        if (decision >= 0 && other.at(decision).turn < step.turn)
          Reach({by.thread, decision}, distance, true, node);
      }
    }
  }

  // A step that used shared memory; of a thread that was not recorded, where that is wanted, what
  // a recorded one did there: `near` or another. Which step that is; no thread: none.
  StepRef ReachUse(const SharedUse& use, const ThreadTrace& near, uint64_t turn, uint32_t distance,
                   size_t node, bool alone) {
    if (use.turn == 0) return {};
    StepRef step = use.step;
    const ThreadTrace* const own = trace_.Find(step.thread);
    if (own == nullptr) {
      others_.insert(static_cast<uint32_t>(step.thread));
      if (stand_ins_ == StandIns::kNone) return {};
      step = StandIn(near, use.instruction, turn);
      for (size_t i = 0; i < trace_.threads.size() && step.thread < 0; ++i)
        step = StandIn(trace_.threads[i], use.instruction, turn);
      if (step.thread < 0) unlike_.try_emplace(use.instruction, use.step.thread);
    } else if (!own->Has(step.step)) {
      return {};
    }
    Reach(step, distance, true, node, alone);
    return step;
  }

  // Stores to shared memory that are no part of the slice, but could have been by what its branches
  // decide: what threads that were not recorded read may come from them.
  void ReachStoresPassed() {
    std::unordered_map<uint32_t, uint32_t> nearest;  // distance, by instruction
    for (const Node& node : nodes_) {
      const auto [at, is_new] = nearest.try_emplace(StepOf(node.step).instruction, node.distance);
      if (!is_new) at->second = std::min(at->second, node.distance);
    }
    std::map<uint32_t, uint32_t> passed;
    for (const auto& [branch, distance] : nearest) {
      for (const uint32_t store : flow_.SharedStoresOf(branch)) {
        if (nearest.contains(store)) continue;
        const auto [at, is_new] = passed.try_emplace(store, distance + kFurther);
        if (!is_new) at->second = std::min(at->second, distance + kFurther);
      }
    }
    for (const SharedUse& done : trace_.shared_stores) {
      const auto at = passed.find(done.instruction);
      if (at == passed.end()) continue;
      StepRef step;
      for (size_t i = 0; i < trace_.threads.size() && step.thread < 0; ++i)
        step = StandIn(trace_.threads[i], done.instruction, done.turn + 1);
      if (step.thread < 0)
        unlike_.try_emplace(done.instruction, done.step.thread);
      else
        nodes_.push_back({step, true, at->second, {}});
    }
  }

  StepRef StandIn(const ThreadTrace& thread, uint32_t instruction, uint64_t turn) {
    const Events& events = EventsOf(thread);
    const auto found = events.find(instruction);
    if (found == events.end()) return {};
    const auto at = std::ranges::lower_bound(found->second, turn, {},
                                             [&](int64_t step) { return thread.at(step).turn; });
    if (at == found->second.begin()) return {};
    return {static_cast<int32_t>(thread.thread), *std::prev(at)};
  }

  // The first step behind that one which decides about a write to shared memory.
  int64_t FirstSharedChoice(const ThreadTrace& thread, int64_t step) {
    const Events& events = EventsOf(thread);
    int64_t first = -1;
    for (const uint32_t choice : flow_.ChoicesOfShared()) {
      const auto found = events.find(choice);
      if (found == events.end()) continue;
      const auto at = std::ranges::upper_bound(found->second, step);
      if (at != found->second.end() && (first < 0 || *at < first)) first = *at;
    }
    return first;
  }

  // The nearest of each instruction, in the order of their execution.
  void Tell() {
    std::vector<size_t> order(nodes_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](size_t i) { return nodes_[i].distance; });
    std::unordered_map<uint32_t, uint32_t> turns;  // of each instruction, so far
    std::vector<std::pair<uint32_t, size_t>> first;
    for (const size_t i : order) first.emplace_back(turns[StepOf(nodes_[i].step).instruction]++, i);
    std::ranges::stable_sort(first, {}, &std::pair<uint32_t, size_t>::first);
    std::vector<size_t> told;
    for (const auto& [turn, i] : first) {
      if (turn >= kMaxIterations || told.size() >= kMaxReported) break;
      told.push_back(i);
    }
    slice_.shortened = told.size() < nodes_.size();
    std::ranges::sort(told, {}, [&](size_t i) {
      const StepRef ref = nodes_[i].step;
      return std::tuple(StepOf(ref).turn, ~nodes_[i].distance, ref.thread);
    });
    std::vector<uint32_t> places(nodes_.size(), kUntold);
    for (size_t i = 0; i < told.size(); ++i) places[told[i]] = static_cast<uint32_t>(i);
    for (const size_t i : told) {
      SliceStep& step = slice_.steps.emplace_back();
      step.step = nodes_[i].step;
      step.control = nodes_[i].control;
      step.distance = nodes_[i].distance;
      for (const size_t need : nodes_[i].needs) {
        if (places[need] != kUntold) step.needs.push_back(places[need]);
      }
    }
  }

  const TracedStep& StepOf(StepRef ref) const { return trace_.Find(ref.thread)->at(ref.step); }

  static constexpr uint32_t kUntold = 0xffffffffu;
  const BlockTrace& trace_;
  const ControlFlow& flow_;
  const StandIns stand_ins_;
  std::vector<Node> nodes_;
  std::map<std::pair<int32_t, int64_t>, size_t> seen_;
  std::vector<std::vector<size_t>>
      rounds_;                         // by distance: nodes whose decisions are to be followed
  std::map<uint32_t, Events> events_;  // by thread
  std::set<uint32_t> others_;
  std::map<uint32_t, int32_t> unlike_;  // threads, by instruction
  Slice slice_;
};

}  // namespace

Slice SliceFrom(const BlockTrace& trace, const ControlFlow& flow, std::span<const StepRef> from,
                StandIns stand_ins) {
  return Slicer(trace, flow, stand_ins).Run(from);
}

}  // namespace hloscope::ptx
