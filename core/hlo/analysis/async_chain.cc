// Going back from the end of an asynchronous operation to its start, through whatever hands its
// state on (XLA: HloAsyncInstruction::async_chain_start).
#include "core/hlo/analysis/async_chain.h"

#include <string_view>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::hlo {
namespace {

using enum Opcode;

// Steps for all chains together, by instruction: a loop may hand its own state on for ever.
constexpr size_t kStepsEach = 64;

bool IsAsync(Opcode opcode) {
  return opcode == kAsyncStart || opcode == kAsyncUpdate || opcode == kAsyncDone;
}

bool IsShardingCall(const Module& module, const Instruction& i) {
  std::string_view target = module.GetString(i, AttributeKey::kCustomCallTarget);
  return i.operand_count == 1 && (target == "Sharding" || target == "SPMDFullToShardShape" ||
                                  target == "SPMDShardToFullShape");
}

}  // namespace

bool MayCarryAsyncState(Opcode opcode) {
  static constexpr OpcodeSet kCarriers = {kTuple, kGetTupleElement, kOptimizationBarrier,
                                          kCopy,  kParameter,       kWhile,
                                          kCall,  kConditional,     kCustomCall};
  return kCarriers.Has(opcode);
}

bool CarriesAsyncState(const Module& module, const Instruction& i) {
  return MayCarryAsyncState(i.opcode) && (i.opcode != kCustomCall || IsShardingCall(module, i));
}

AsyncChains::AsyncChains(const Module& module) : module_(module) {
  auto count = static_cast<uint32_t>(module.instructions().size());
  for (uint32_t k = 0; k < count; ++k) {
    if (IsAsync(module.instructions()[k].opcode)) all_.push_back(InstructionId(k));
  }
  if (all_.empty()) return;
  starts_.resize(count);
  steps_left_ = kStepsEach * count;
  for (InstructionId id : all_) {
    starts_[id.index] = module[id].opcode == kAsyncStart ? id : Trace(id);
  }
}

InstructionId AsyncChains::Trace(InstructionId id) {
  std::vector<int64_t> part;  // of what `id` is, outermost index last
  for (; id.valid() && steps_left_ > 0; --steps_left_) {
    const Instruction& i = module_[id];
    auto operands = module_.operands(i);
    if (i.opcode == kAsyncStart) return id;
    if (starts_[id.index].valid()) return starts_[id.index];
    if (i.opcode == kParameter) {
      id = CallGraphOf(module_).OperandOfParameter(module_, id);
    } else if (i.opcode == kTuple) {
      if (part.empty() || static_cast<size_t>(part.back()) >= operands.size()) return {};
      id = operands[static_cast<size_t>(part.back())];
      part.pop_back();
    } else if (i.opcode == kCall || i.opcode == kConditional) {
      std::vector<ComputationId> callees = module_.CalledComputations(i);
      if (callees.empty()) return {};
      id = module_[callees[0]].root;
    } else if (operands.empty() || (i.opcode != kAsyncUpdate && i.opcode != kAsyncDone &&
                                    !CarriesAsyncState(module_, i))) {
      return {};
    } else {
      if (i.opcode == kGetTupleElement) part.push_back(module_.GetInt(i, AttributeKey::kIndex));
      id = operands[0];
    }
  }
  return {};
}

}  // namespace hloscope::hlo
