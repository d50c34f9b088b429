// Post-orders of computations and instructions as XLA's printer walks them.
#include "core/hlo/text/print_order.h"

#include <algorithm>

#include "core/hlo/analysis/call_graph.h"

namespace hloscope::hlo {
namespace {

bool CallsNothing(const Module& module, const Instruction& i) {
  if (i.opcode == Opcode::kAsyncUpdate || i.opcode == Opcode::kAsyncDone) return true;
  return i.opcode == Opcode::kCustomCall &&
         module.Find(i, AttributeKey::kOperandLayoutConstraints) != nullptr;
}

}  // namespace

std::vector<ComputationId> PrintedCalls(const Module& module, const Instruction& instruction) {
  if (CallsNothing(module, instruction)) return {};
  return module.CalledComputations(instruction);
}

CallLists::CallLists(const Module& module) {
  const CallGraph& graph = CallGraphOf(module);
  first_.reserve(module.computations().size() + 1);
  for (uint32_t c = 0; c < module.computations().size(); ++c) {
    first_.push_back(static_cast<uint32_t>(calls_.size()));
    InstructionId before;
    for (const hlo::Call& call : graph.calls(ComputationId(c))) {
      if (CallsNothing(module, module[call.caller])) continue;
      calls_.push_back({call.callee.index, call.caller != before});
      before = call.caller;
    }
  }
  first_.push_back(static_cast<uint32_t>(calls_.size()));
}

// XLA walks from every computation nobody calls. On meeting an instruction it marks all that it
// calls as visited at once and then walks them one by one, so a computation that a sibling calls
// too comes after that sibling: not quite callees first, but the printed order.
std::vector<ComputationId> ComputationPrintOrder(const Module& module, const CallLists& calls) {
  size_t count = module.computations().size();
  std::vector<uint8_t> called(count, 0), visited(count, 0);
  for (uint32_t c = 0; c < count; ++c) {
    for (const CallLists::Call& call : calls.calls(c)) called[call.callee] = 1;
  }
  struct Frame {
    uint32_t computation;
    uint32_t next;
  };
  std::vector<Frame> stack;
  std::vector<ComputationId> order;
  order.reserve(count);
  // Takes the next instruction's calls off the frame and pushes them in reverse.
  auto push_calls = [&](size_t frame) {
    std::span<const CallLists::Call> list = calls.calls(stack[frame].computation);
    uint32_t begin = stack[frame].next, end = begin + 1;
    while (end < list.size() && !list[end].begins_instruction) ++end;
    stack[frame].next = end;
    for (uint32_t k = end; k-- > begin;) {
      uint32_t callee = list[k].callee;
      if (visited[callee] == 0) stack.push_back({callee, 0});
      visited[callee] = 1;
    }
  };
  auto walk = [&](uint32_t root) {
    visited[root] = 1;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      Frame top = stack.back();
      if (top.next < calls.calls(top.computation).size()) {
        push_calls(stack.size() - 1);
      } else {
        stack.pop_back();
        order.push_back(ComputationId(top.computation));
      }
    }
  };
  for (uint32_t c = 0; c < count; ++c) {
    if (called[c] == 0) walk(c);
  }
  // Only computations that call themselves in a circle are left; XLA refuses such a module.
  for (uint32_t c = 0; c < count; ++c) {
    if (visited[c] == 0) walk(c);
  }
  return order;
}

InstructionOrder::InstructionOrder(const Module& module)
    : module_(module), state_(module.instructions().size(), 0) {}

std::span<const InstructionId> InstructionOrder::FileOrder(const Computation& computation) {
  order_.resize(computation.instruction_count);
  for (uint32_t k = 0; k < computation.instruction_count; ++k) {
    order_[k] = InstructionId(computation.first_instruction + k);
  }
  return order_;
}

std::span<const InstructionId> InstructionOrder::PostOrder(const Computation& computation) {
  uint32_t begin = computation.first_instruction, end = begin + computation.instruction_count;
  order_.clear();
  order_.reserve(computation.instruction_count);
  std::fill(state_.begin() + begin, state_.begin() + end, uint8_t{0});
  MarkUsed(computation);
  for (uint32_t i = begin; i < end; ++i) {
    if ((state_[i] & kHasUser) == 0) Visit(i);
  }
  // Left over only where operands form a circle, which no reader accepts.
  for (uint32_t i = begin; i < end; ++i) {
    if ((state_[i] & kVisited) == 0) Visit(i);
  }
  return order_;
}

void InstructionOrder::MarkUsed(const Computation& computation) {
  for (const Instruction& i : module_.instructions(computation)) {
    for (InstructionId operand : module_.operands(i)) state_[operand.index] |= kHasUser;
  }
}

void InstructionOrder::Visit(uint32_t root) {
  Push(root);
  while (!stack_.empty()) {
    uint32_t current = stack_.back();
    uint8_t& state = state_[current];
    if ((state & (kVisiting | kVisited)) == 0) {
      state |= kVisiting;
      PushDependencies(current);
      continue;
    }
    stack_.pop_back();
    if ((state & kVisited) != 0) continue;
    state |= kVisited;
    order_.push_back(InstructionId(current));
  }
}

void InstructionOrder::PushDependencies(uint32_t current) {
  const Instruction& i = module_.instructions()[current];
  std::span<const InstructionId> operands = module_.operands(i);
  for (size_t k = operands.size(); k-- > 0;) Push(operands[k].index);
  if (const Attribute* control = module_.Find(i, AttributeKey::kControlPredecessors)) {
    PushControlPredecessors(*control);
  }
}

// XLA keeps a predecessor that is named twice once, at its first place.
void InstructionOrder::PushControlPredecessors(const Attribute& predecessors) {
  stamp_.resize(module_.instructions().size(), 0);
  ++stamp_value_;
  for (uint32_t id : module_.IdsOf(predecessors)) {
    if (stamp_[id] == stamp_value_) continue;
    stamp_[id] = stamp_value_;
    Push(id);
  }
}

}  // namespace hloscope::hlo
