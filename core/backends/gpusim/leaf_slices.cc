// Following values to the instructions that define them.
#include "core/backends/gpusim/leaf_slices.h"

#include <algorithm>

#include "core/base/work_count.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::replay {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Opcode;

namespace {

void DropFirst(std::vector<int64_t>& index) { index.erase(index.begin()); }

}  // namespace

LeafSlices::LeafSlices(const hlo::Module& module, const dump::BufferTable& buffers)
    : module_(module), calls_(hlo::CallGraphOf(module)) {
  for (const dump::BufferValue& value : buffers.values) {
    if (value.instruction.empty() || value.allocation < 0) continue;
    const auto& allocation = buffers.allocations[static_cast<size_t>(value.allocation)];
    if (allocation.is_thread_local) continue;
    slices_.emplace(std::pair(value.instruction, value.shape_index),
                    Slice{value.allocation, value.offset, value.size});
  }
}

Slice LeafSlices::Of(InstructionId id, std::span<const int64_t> index) const {
  Leaf leaf{id, {index.begin(), index.end()}};
  // Every step leads to an operand, into a computation or out of it; a module whose assignment
  // names nothing on the way must not be gone through for ever.
  for (size_t steps = 4 * module_.instructions().size() + 64; steps > 0; --steps) {
    CountWork(1);
    const auto found = slices_.find({std::string(module_.name(leaf.id)), leaf.index});
    if (found != slices_.end()) return found->second;
    if (!Follow(leaf)) break;
  }
  return {};
}

std::vector<Slice> LeafSlices::AllOf(InstructionId id) const {
  std::vector<Slice> out;
  for (const auto& [index, shape] : module_.shape(id).Leaves()) {
    out.push_back(shape->IsToken() ? Slice() : Of(id, index));
  }
  return out;
}

bool LeafSlices::Follow(Leaf& leaf) const {
  const hlo::Instruction& i = module_[leaf.id];
  const auto operands = module_.operands(i);
  static constexpr hlo::OpcodeSet kSame = {Opcode::kBitcast, Opcode::kOptimizationBarrier,
                                           Opcode::kAddDependency, Opcode::kDomain, Opcode::kWhile};
  if (kSame.Has(i.opcode)) {
    if (operands.empty()) return false;
    leaf.id = operands[0];
    return true;
  }
  if (i.opcode == Opcode::kGetTupleElement) {
    leaf.index.insert(leaf.index.begin(), module_.GetInt(i, AttributeKey::kIndex));
    leaf.id = operands[0];
    return true;
  }
  if (i.opcode == Opcode::kTuple) {
    if (leaf.index.empty()) return false;
    const auto element = static_cast<size_t>(leaf.index[0]);
    if (element >= operands.size()) return false;
    leaf.id = operands[element];
    DropFirst(leaf.index);
    return true;
  }
  if (i.opcode == Opcode::kCall || i.opcode == Opcode::kConditional) {
    const auto callees = calls_.calls(leaf.id);
    if (callees.empty()) return false;
    leaf.id = module_[callees[0].callee].root;
    return true;
  }
  if (i.opcode != Opcode::kParameter) return FollowAsync(leaf);
  leaf.id = calls_.OperandOfParameter(module_, leaf.id);
  return leaf.id.valid();
}

// The value of a start is (operands, results, …), that of an all-reduce-start its result.
bool LeafSlices::FollowAsync(Leaf& leaf) const {
  const hlo::Instruction& i = module_[leaf.id];
  const auto operands = module_.operands(i);
  if (operands.empty()) return false;
  // What ends a pair has an element of what begins it, or all of it.
  static constexpr hlo::OpcodeTable<std::optional<int64_t>> kElements = {
      {Opcode::kAllGatherDone, 1},
      {Opcode::kAsyncDone, 1},
      {Opcode::kCollectivePermuteDone, 1},
      {Opcode::kCopyDone, 0}};
  const std::optional<int64_t> element = kElements[i.opcode];
  if (element || i.opcode == Opcode::kAllReduceDone || i.opcode == Opcode::kAsyncUpdate) {
    if (element) leaf.index.insert(leaf.index.begin(), *element);
    leaf.id = operands[0];
    return true;
  }
  if (i.opcode == Opcode::kCopyStart) {
    if (leaf.index != std::vector<int64_t>{1}) return false;
    leaf.index.clear();
    leaf.id = operands[0];
    return true;
  }
  static constexpr hlo::OpcodeSet kStarts = {Opcode::kAllGatherStart,
                                             Opcode::kCollectivePermuteStart, Opcode::kAsyncStart};
  if (!kStarts.Has(i.opcode)) return false;
  if (leaf.index.empty()) return false;
  if (leaf.index[0] == 1 && i.opcode == Opcode::kAsyncStart) {
    const auto callees = calls_.calls(leaf.id);
    if (callees.empty()) return false;
    DropFirst(leaf.index);
    leaf.id = module_[callees[0].callee].root;
    return true;
  }
  if (leaf.index[0] != 0) return false;
  DropFirst(leaf.index);
  size_t operand = 0;
  if (operands.size() > 1 || i.opcode == Opcode::kAsyncStart) {
    if (leaf.index.empty()) return false;
    operand = static_cast<size_t>(leaf.index[0]);
    DropFirst(leaf.index);
  }
  if (operand >= operands.size()) return false;
  leaf.id = operands[operand];
  return true;
}

}  // namespace hloscope::replay
