// The orders in which XLA prints computations and instructions, computed with flat arrays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::hlo {

// The computations XLA says an instruction calls, in its order: those of async-update and -done
// belong to their async-start, and a custom-call with operand layouts drops its own.
std::vector<ComputationId> PrintedCalls(const Module& module, const Instruction& instruction);

// The calls of every computation, flat.
class CallLists {
 public:
  explicit CallLists(const Module& module);
  struct Call {
    uint32_t callee;
    bool begins_instruction;  // the first call of its instruction
  };
  std::span<const Call> calls(uint32_t computation) const {
    return std::span(calls_).subspan(first_[computation],
                                     first_[computation + 1] - first_[computation]);
  }

 private:
  std::vector<uint32_t> first_;
  std::vector<Call> calls_;
};

// XLA's HloModule::MakeComputationPostOrder: nearly callees first, see the .cc.
std::vector<ComputationId> ComputationPrintOrder(const Module& module, const CallLists& calls);

// Orders of instructions within one computation after the other.
class InstructionOrder {
 public:
  explicit InstructionOrder(const Module& module);
  // XLA's HloComputation::MakeInstructionPostOrder. Valid until the next call.
  std::span<const InstructionId> PostOrder(const Computation& computation);
  // The order of the file, that is the schedule of a scheduled module. Valid until the next call.
  std::span<const InstructionId> FileOrder(const Computation& computation);

 private:
  void MarkUsed(const Computation& computation);
  void Visit(uint32_t root);
  void PushDependencies(uint32_t current);
  void PushControlPredecessors(const Attribute& predecessors);
  void Push(uint32_t id) {
    if ((state_[id] & kVisited) == 0) stack_.push_back(id);
  }

  static constexpr uint8_t kHasUser = 1, kVisiting = 2, kVisited = 4;
  const Module& module_;
  std::vector<uint8_t> state_;
  std::vector<uint32_t> stack_;
  std::vector<InstructionId> order_;
  std::vector<uint32_t> stamp_;
  uint32_t stamp_value_ = 0;
};

}  // namespace hloscope::hlo
