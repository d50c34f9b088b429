// Going back from the end of an asynchronous operation to its start, through whatever hands its
// state on (XLA: HloAsyncInstruction::async_chain_start).
#include "core/hlo/analysis/async_chain.h"

#include <string_view>

#include "core/hlo/analysis/call_graph.h"

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
  switch (opcode) {
    case kTuple:
    case kGetTupleElement:
    case kOptimizationBarrier:
    case kCopy:
    case kParameter:
    case kWhile:
    case kCall:
    case kConditional:
    case kCustomCall:
      return true;
    default:
      return false;
  }
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
      id = OperandOfParameter(id);
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

InstructionId AsyncChains::OperandOfParameter(InstructionId parameter) {
  if (callers_.empty()) IndexCallers();
  const Caller& caller = callers_[module_[parameter].computation.index];
  if (!caller.instruction.valid()) return {};
  int64_t operand = caller.only_operand;
  if (operand < 0) operand = module_.GetInt(module_[parameter], AttributeKey::kParameterNumber, -1);
  auto operands = module_.operands(caller.instruction);
  bool there = operand >= 0 && operand < static_cast<int64_t>(operands.size());
  return there ? operands[static_cast<size_t>(operand)] : InstructionId();
}

void AsyncChains::IndexCallers() {
  callers_.resize(module_.computations().size());
  InstructionId before;
  int64_t branch = 0;
  for (const Call& call : CallGraphOf(module_).calls()) {
    branch = call.caller == before ? branch + 1 : 1;
    before = call.caller;
    const Opcode opcode = module_[call.caller].opcode;
    Caller& caller = callers_[call.callee.index];
    if (caller.instruction.valid() ||
        (opcode != kCall && opcode != kWhile && opcode != kConditional)) {
      continue;
    }
    const int64_t only = opcode == kWhile ? 0 : opcode == kConditional ? branch : -1;
    caller = {call.caller, only};
  }
}

}  // namespace hloscope::hlo
