// CallGraph: who calls whom in a module, and the orders that follow. CallGraphOf(module) keeps one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::hlo {

struct Call {
  InstructionId caller;
  ComputationId from;  // the computation of the caller
  ComputationId callee;
};

// By computation: true for those marked and for all that call one of them, however far away.
std::vector<bool> WithCallers(std::span<const Call> calls, std::vector<bool> marked);

// Every call counts once, also where an instruction calls a computation twice. Updates and dones of
// an asynchronous call name its computation again and count as callers of it.
class CallGraph {
 public:
  explicit CallGraph(const Module& module);

  // In the order of the instructions, those of one instruction in XLA's order.
  std::span<const Call> calls() const { return calls_; }
  std::span<const Call> calls(ComputationId c) const;
  std::span<const Call> calls(InstructionId id) const;
  std::span<const InstructionId> callers(ComputationId c) const {
    return std::span(callers_).subspan(first_caller_[c.index],
                                       first_caller_[c.index + 1] - first_caller_[c.index]);
  }
  // Invalid where there is none; where there is not exactly one.
  InstructionId FirstCaller(ComputationId c) const;
  InstructionId OnlyCaller(ComputationId c) const;
  // Of a parameter, the operand that the first call, loop, branch or asynchronous start that calls
  // its computation gives it; invalid where there is none.
  InstructionId OperandOfParameter(const Module& module, InstructionId parameter) const;

  // Callees before callers; computations on a cycle of calls, which no sound module has, in some
  // order.
  std::span<const ComputationId> callees_first() const { return callees_first_; }
  // Callers before callees, without computations on a cycle and what only those call.
  std::span<const ComputationId> callers_first() const { return callers_first_; }
  // True for the entry and all that it calls, however far away.
  bool IsReached(ComputationId c) const { return reached_[c.index]; }

 private:
  struct Giver {
    InstructionId caller;
    int64_t only_operand = -1;  // that all parameters are; -1: the operand of their number
  };
  void IndexCallers(size_t computations);
  void IndexGivers(const Module& module);
  void OrderCalleesFirst();
  void OrderCallersFirst();
  void FindReached(ComputationId entry);

  std::vector<Call> calls_;
  std::vector<uint32_t> first_call_, call_count_;  // by computation, in calls_
  std::vector<uint32_t> first_caller_;
  std::vector<InstructionId> callers_;
  std::vector<Giver> givers_;  // by computation
  std::vector<ComputationId> callees_first_, callers_first_;
  std::vector<bool> reached_;
};

// The call graph of a module, worked out when first asked for and kept with the module; threads may
// ask at the same time. Likewise EffectsOf and UsersOf.
const CallGraph& CallGraphOf(const Module& module);

}  // namespace hloscope::hlo
