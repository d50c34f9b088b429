// Control dependence by post-dominators. Every block has an edge to the one behind it, so what
// comes after a block always has a higher number.
#include "core/ptx/trace/control_flow.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/ptx/module.h"

namespace hloscope::ptx {
namespace {

// Of more the closure below would take too long.
constexpr size_t kMaxBlocks = 1 << 12;

bool WritesShared(const Instruction& in) {
  switch (in.operation) {
    case Operation::kSt:
    case Operation::kAtom:
    case Operation::kAtomCas:
    case Operation::kRed:
      return IsShared(ModifierStateSpace(in)) || ModifierStateSpace(in) == StateSpace::kNone;
    case Operation::kCpAsync:
    case Operation::kCpAsyncIgnore:
    case Operation::kStmatrix:
      return true;
    default:
      return false;
  }
}

}  // namespace

ControlFlow::ControlFlow(const Kernel& kernel) : kernel_(&kernel) {
  auto blocks = BasicBlocksOf(kernel);
  if (!blocks || blocks->size() > kMaxBlocks) return;
  blocks_ = *std::move(blocks);
  is_known_ = true;
  block_of_.resize(kernel.instructions.size());
  for (uint32_t b = 0; b < blocks_.size(); ++b)
    std::fill(block_of_.begin() + blocks_[b].first, block_of_.begin() + blocks_[b].end, b);
  FindPostdominators();
  FindDeciders();
  FindChoices();
}

// The number of blocks stands for the end of the thread.
std::vector<uint32_t> ControlFlow::NextOf(uint32_t block) const {
  const BasicBlock& from = blocks_[block];
  std::vector<uint32_t> next(from.next, from.next + from.next_count);
  if (EndsThread(kernel_->instructions[from.end - 1]))
    next.push_back(static_cast<uint32_t>(blocks_.size()));
  next.push_back(block + 1);
  return next;
}

void ControlFlow::FindPostdominators() {
  const auto end = static_cast<uint32_t>(blocks_.size());
  after_.assign(blocks_.size(), end);
  const auto common = [this](uint32_t a, uint32_t b) {
    while (a != b) (a < b ? a : b) = after_[std::min(a, b)];
    return a;
  };
  std::vector<bool> is_done(blocks_.size() + 1, false);
  is_done[end] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b = end; b-- > 0;) {
      uint32_t found = b + 1;
      for (const uint32_t next : NextOf(b)) {
        if (is_done[next]) found = common(found, next);
      }
      changed |= !is_done[b] || after_[b] != found;
      after_[b] = found;
      is_done[b] = true;
    }
  }
}

void ControlFlow::FindDeciders() {
  deciders_.resize(blocks_.size());
  decided_.resize(blocks_.size());
  for (uint32_t b = 0; b < blocks_.size(); ++b) {
    for (const uint32_t next : NextOf(b)) {
      for (uint32_t at = next; at != after_[b]; at = after_[at]) {
        if (!decided_[b].empty() && std::ranges::find(decided_[b], at) != decided_[b].end())
          continue;
        decided_[b].push_back(at);
        deciders_[at].push_back(blocks_[b].end - 1);
      }
    }
  }
}

void ControlFlow::FindChoices() {
  const auto writes_of = [this](uint32_t instruction, const auto& take) {
    const Instruction& in = kernel_->instructions[instruction];
    for (uint32_t s = in.first_slot; s < in.first_slot + in.slot_count; ++s) {
      const Slot& slot = kernel_->slots[s];
      if (slot.written && slot.present()) take(slot.offset);
    }
    if (WritesShared(in)) take(kShared);
  };
  std::vector<std::set<uint32_t>> written(blocks_.size());
  for (uint32_t i = 0; i < kernel_->instructions.size(); ++i) {
    writes_of(i, [&](uint32_t offset) {
      written[block_of_[i]].insert(offset);
      if (kernel_->instructions[i].guard != Slot::kAbsent) choices_[offset].push_back(i);
    });
  }
  for (uint32_t b = 0; b < blocks_.size(); ++b) {
    for (const uint32_t at : decided_[b]) {
      for (uint32_t i = blocks_[at].first; written[at].contains(kShared) && i < blocks_[at].end;
           ++i)
        if (WritesShared(kernel_->instructions[i])) shared_stores_[blocks_[b].end - 1].push_back(i);
    }
  }
  std::vector<uint32_t> seen(blocks_.size(), ~0u), open;
  for (uint32_t b = 0; b < blocks_.size(); ++b) {
    const uint32_t branch = blocks_[b].end - 1;
    open = decided_[b];
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      if (std::exchange(seen[at], b) == b) continue;
      for (const uint32_t offset : written[at]) {
        std::vector<uint32_t>& choices = choices_[offset];
        if (choices.empty() || choices.back() != branch) choices.push_back(branch);
      }
      open.insert(open.end(), decided_[at].begin(), decided_[at].end());
    }
  }
}

std::span<const uint32_t> ControlFlow::DecidersOf(uint32_t instruction) const {
  if (!is_known_) return {};
  return deciders_[block_of_[instruction]];
}

std::span<const uint32_t> ControlFlow::ChoicesOf(uint32_t offset) const {
  const auto found = choices_.find(offset);
  return found == choices_.end() ? std::span<const uint32_t>() : found->second;
}

std::span<const uint32_t> ControlFlow::SharedStoresOf(uint32_t branch) const {
  const auto found = shared_stores_.find(branch);
  return found == shared_stores_.end() ? std::span<const uint32_t>() : found->second;
}

Result<ControlFlow> FlowOf(const Module& module, const std::string& entry) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Kernel* const kernel, KernelOf(module, entry));
  return ControlFlow(*kernel);
}

}  // namespace hloscope::ptx
