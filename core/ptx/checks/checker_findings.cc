// Checker: what is said of an access that is wrong.
#include <algorithm>
#include <tuple>
#include <utility>

#include "core/ptx/checks/barriers.h"
#include "core/ptx/checks/checker.h"
#include "core/ptx/machine/coordinates.h"

namespace hloscope::ptx {
namespace {

// Findings of a launch beyond so many different ones say nothing new.
constexpr size_t kMaxFindings = 100;

}  // namespace

// Warps come to the two accesses in any order, so that the earlier one may be further down; unless
// there is a barrier between them, it is there that one is missing. Of one instruction that no
// branch goes back before it is nowhere.
std::pair<std::optional<BarrierGap>, std::string> Checker::MissingBarrier(uint32_t other,
                                                                          bool in_cluster) const {
  const uint32_t first = std::min(block_->pc, other), last = std::max(block_->pc, other);
  const std::vector<Instruction>& code = launch_.kernel->instructions;
  const std::string from = std::to_string(code[first].position.line),
                    to = std::to_string(code[last].position.line);
  // In a loop: up to the branch that goes back.
  uint32_t end = last + 1;
  const auto goes_back = [&](const Instruction& in) {
    return in.operation == Operation::kBranchIndexed ||
           (in.operation == Operation::kBra && in.target <= first);
  };
  while (end + 1 < code.size() && !goes_back(code[end])) ++end;
  if (first == last && (end == code.size() || !goes_back(code[end])))
    return {std::nullopt,
            ", and line " + to + " is in no loop: a barrier of all threads does not order them"};
  const BarrierGap behind{last, end};
  const std::string none = in_cluster ? ", with no barrier.cluster " : ", with no barrier ";
  if (from == to) return {behind, none + "between two executions of line " + to};
  const bool has_one = std::any_of(code.begin() + first, code.begin() + last, [&](const auto& in) {
    return in_cluster ? in.operation == Operation::kClusterWait : IsBarrier(in.operation);
  });
  if (!has_one) return {BarrierGap{first, last}, none + "between lines " + from + " and " + to};
  return {behind, none + "after line " + to + " before a loop reaches line " + from + " again"};
}

// A thread's wait makes its copies visible to others only with a barrier behind it.
std::string Checker::MissingBarrierBehindWait() const {
  const std::vector<Instruction>& code = launch_.kernel->instructions;
  const bool has_groups = !facts_.copy_groups.empty();
  for (uint32_t pc = block_->pc; has_groups && pc-- > 0 && !IsBarrier(code[pc].operation);) {
    const CopyGroup group = facts_.copy_groups[pc];
    if (group != CopyGroup::kWait && group != CopyGroup::kWaitAll) continue;
    return ", with no barrier between lines " + std::to_string(code[pc].position.line) +
           ", which waits for copies, and " + std::to_string(code[block_->pc].position.line);
  }
  return ", with no barrier between them";
}

void Checker::ReportRace(const Collision& found, bool writes, uint32_t thread, const Spot& spot) {
  std::string what = writes ? "writes what " : "reads what ";
  const bool in_cluster = RankOfThread(found.earlier.thread()) != RankOfThread(thread);
  what += found.other_block ? "a thread of another block "
          : in_cluster      ? "a thread of another block of its cluster "
                            : "a thread of another warp ";
  const bool copies = found.earlier.agent() >= kLanes;
  std::optional<BarrierGap> gap;
  std::string lacks;
  if (copies) {
    lacks = MissingBarrierBehindWait();
  } else {
    std::tie(gap, lacks) = MissingBarrier(found.earlier.pc(), in_cluster);
  }
  if (copies && !found.other_block && found.earlier.thread() / kLanes == thread / kLanes) {
    lacks = ", with no barrier between them";
    what = std::string(writes ? "writes" : "reads") + " what a copy without a wait ";
  }
  what += found.earlier_writes ? "wrote" : "read";
  what += found.other_block ? ", and blocks have no order" : lacks;
  if (found.other_block) gap.reset();
  Report(FindingKind::kRace, std::move(what), thread, &spot, found.earlier, gap);
}

void Checker::Report(FindingKind kind, std::string what, uint32_t thread, const Spot* spot,
                     std::optional<Stamp> other, std::optional<BarrierGap> gap) {
  const std::array<uint64_t, 4> key{static_cast<uint64_t>(kind), block_->pc,
                                    other ? other->pc() : ~uint64_t{0},
                                    spot != nullptr ? spot->window : 0};
  if (found_.size() >= kMaxFindings && !found_.contains(key)) return;
  const auto [at, is_new] = found_.try_emplace(key, findings_.size());
  if (!is_new) {
    ++findings_[at->second].count;
    return;
  }
  if (launch_.found != nullptr) launch_.found->request_stop();
  Finding& finding = findings_.emplace_back();
  finding.kind = kind;
  finding.what = std::move(what);
  finding.kernel = launch_.kernel->name;
  finding.gap = gap;
  finding.at = SideOf(block_->pc, thread, block_starts_.back().second);
  if (other) finding.other = SideOf(other->pc(), other->thread(), BlockOf(other->interval));
  if (spot == nullptr) return;
  finding.byte = spot->offset;
  if (spot->window == kSharedWindow) {
    finding.memory = "shared memory";
  } else if (spot->window == kLocalWindow) {
    finding.memory = "local memory";
  } else {
    finding.argument = static_cast<uint32_t>(spot->window - kFirstArgumentWindow);
    finding.memory = "argument " + std::to_string(*finding.argument);
  }
}

// `block` is the first of its cluster, whose threads are counted through.
FindingSide Checker::SideOf(uint32_t pc, uint32_t thread, uint64_t block) const {
  const uint32_t threads = static_cast<uint32_t>(block_->warps.size()) * kLanes;
  const Kernel& kernel = *launch_.kernel;
  const Instruction& in = kernel.instructions[pc];
  return {{launch_.file, in.position.line, in.position.column},
          kernel.forms[pc],
          BlockOfRank(block, thread / threads),
          Unflattened(thread % threads, launch_.block),
          pc};
}

uint64_t Checker::BlockOf(uint32_t interval) const {
  const auto after =
      std::ranges::upper_bound(block_starts_, interval, {}, &std::pair<uint32_t, uint64_t>::first);
  return after == block_starts_.begin() ? block_starts_.back().second : std::prev(after)->second;
}

uint32_t Checker::RankOfThread(uint32_t thread) const {
  return thread / kLanes / static_cast<uint32_t>(block_->warps.size());
}

std::array<uint32_t, 3> Checker::BlockOfRank(uint64_t first, uint32_t rank) const {
  auto block = Unflattened(first, launch_.grid);
  const auto inside = Unflattened(rank, launch_.cluster);
  for (size_t i = 0; i < 3; ++i) block[i] += inside[i];
  return block;
}

}  // namespace hloscope::ptx
