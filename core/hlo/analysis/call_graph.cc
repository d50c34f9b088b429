// Gathering calls in one pass over the attributes, and ordering computations by them.
#include "core/hlo/analysis/call_graph.h"

#include <algorithm>
#include <utility>

namespace hloscope::hlo {

namespace {

bool CallsSomething(const Module& module, const Instruction& i) {
  return std::ranges::any_of(module.attributes(i), [](const Attribute& a) {
    const ValueKind kind = Info(a.key).kind;
    return kind == ValueKind::kComputation || kind == ValueKind::kComputations;
  });
}

}  // namespace

std::vector<bool> WithCallers(std::span<const Call> calls, std::vector<bool> marked) {
  std::vector<uint32_t> first(marked.size() + 1, 0);
  for (const Call& call : calls) ++first[call.callee.index + 1];
  for (size_t c = 1; c < first.size(); ++c) first[c] += first[c - 1];
  std::vector<uint32_t> callers(calls.size()), next(first.begin(), first.end() - 1);
  for (const Call& call : calls) callers[next[call.callee.index]++] = call.from.index;
  std::vector<uint32_t> open;
  for (uint32_t c = 0; c < marked.size(); ++c) {
    if (marked[c]) open.push_back(c);
  }
  while (!open.empty()) {
    const uint32_t c = open.back();
    open.pop_back();
    for (uint32_t k = first[c]; k < first[c + 1]; ++k) {
      if (marked[callers[k]]) continue;
      marked[callers[k]] = true;
      open.push_back(callers[k]);
    }
  }
  return marked;
}

CallGraph::CallGraph(const Module& module)
    : first_call_(module.computations().size(), 0), call_count_(module.computations().size(), 0) {
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    const Instruction& i = module.instructions()[k];
    if (!CallsSomething(module, i)) continue;
    uint32_t& count = call_count_[i.computation.index];
    if (count == 0) first_call_[i.computation.index] = static_cast<uint32_t>(calls_.size());
    for (ComputationId callee : module.CalledComputations(i)) {
      if (!callee.valid()) continue;
      calls_.push_back({InstructionId(k), i.computation, callee});
      ++count;
    }
  }
  IndexCallers(module.computations().size());
  IndexGivers(module);
  OrderCalleesFirst();
  OrderCallersFirst();
  FindReached(module.entry_id());
}

std::span<const Call> CallGraph::calls(ComputationId c) const {
  return std::span(calls_).subspan(first_call_[c.index], call_count_[c.index]);
}

std::span<const Call> CallGraph::calls(InstructionId id) const {
  const auto [begin, end] = std::ranges::equal_range(
      calls_, id.index, {}, [](const Call& call) { return call.caller.index; });
  return {begin, end};
}

InstructionId CallGraph::FirstCaller(ComputationId c) const {
  return callers(c).empty() ? InstructionId() : callers(c).front();
}

InstructionId CallGraph::OnlyCaller(ComputationId c) const {
  return callers(c).size() == 1 ? callers(c).front() : InstructionId();
}

// The first caller of each computation that gives it operands as they are.
void CallGraph::IndexGivers(const Module& module) {
  givers_.resize(module.computations().size());
  InstructionId before;
  int64_t branch = 0;
  for (const Call& call : calls_) {
    branch = call.caller == before ? branch + 1 : 1;
    before = call.caller;
    const Opcode opcode = module[call.caller].opcode;
    Giver& giver = givers_[call.callee.index];
    if (giver.caller.valid()) continue;
    if (opcode == Opcode::kCall || opcode == Opcode::kAsyncStart) giver = {call.caller, -1};
    if (opcode == Opcode::kWhile) giver = {call.caller, 0};
    if (opcode == Opcode::kConditional) giver = {call.caller, branch};
  }
}

InstructionId CallGraph::OperandOfParameter(const Module& module, InstructionId parameter) const {
  const Giver& giver = givers_[module[parameter].computation.index];
  if (!giver.caller.valid()) return {};
  int64_t operand = giver.only_operand;
  if (operand < 0) operand = module.GetInt(module[parameter], AttributeKey::kParameterNumber, -1);
  const auto operands = module.operands(giver.caller);
  const bool there = operand >= 0 && std::cmp_less(operand, operands.size());
  return there ? operands[static_cast<size_t>(operand)] : InstructionId();
}

void CallGraph::IndexCallers(size_t computations) {
  first_caller_.assign(computations + 1, 0);
  for (const Call& call : calls_) ++first_caller_[call.callee.index + 1];
  for (size_t c = 1; c < first_caller_.size(); ++c) first_caller_[c] += first_caller_[c - 1];
  callers_.resize(calls_.size());
  std::vector<uint32_t> next(first_caller_.begin(), first_caller_.end() - 1);
  for (const Call& call : calls_) callers_[next[call.callee.index]++] = call.caller;
}

// Depth first. A computation that is still open when it is met again is on a cycle.
void CallGraph::OrderCalleesFirst() {
  constexpr uint32_t kNew = 0xffffffffu;
  std::vector<uint32_t> next(first_call_.size(), kNew), stack;
  callees_first_.reserve(next.size());
  for (uint32_t root = 0; root < next.size(); ++root) {
    if (next[root] != kNew) continue;
    next[root] = 0;
    stack.push_back(root);
    while (!stack.empty()) {
      const uint32_t c = stack.back();
      if (next[c] == call_count_[c]) {
        stack.pop_back();
        callees_first_.emplace_back(c);
        continue;
      }
      const uint32_t callee = calls_[first_call_[c] + next[c]++].callee.index;
      if (next[callee] != kNew) continue;
      next[callee] = 0;
      stack.push_back(callee);
    }
  }
}

// Kahn's algorithm: a computation comes once all its callers have come.
void CallGraph::OrderCallersFirst() {
  std::vector<size_t> waiting(first_call_.size());
  for (uint32_t c = 0; c < waiting.size(); ++c) {
    waiting[c] = callers(ComputationId(c)).size();
    if (waiting[c] == 0) callers_first_.emplace_back(c);
  }
  for (size_t k = 0; k < callers_first_.size(); ++k) {
    for (const Call& call : calls(callers_first_[k])) {
      if (--waiting[call.callee.index] == 0) callers_first_.push_back(call.callee);
    }
  }
}

void CallGraph::FindReached(ComputationId entry) {
  reached_.assign(first_call_.size(), false);
  std::vector<ComputationId> open;
  const auto reach = [&](ComputationId c) {
    if (reached_[c.index]) return;
    reached_[c.index] = true;
    open.push_back(c);
  };
  if (entry.valid()) reach(entry);
  while (!open.empty()) {
    const ComputationId c = open.back();
    open.pop_back();
    for (const Call& call : calls(c)) reach(call.callee);
  }
}

}  // namespace hloscope::hlo
