#include "core/debug/explain/passes/carried.h"

#include <set>
#include <utility>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::debug {

using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

class Walk {
 public:
  Walk(const Module& module, std::vector<int64_t> path, LoopState state)
      : module_(module), path_(std::move(path)), state_(state) {}

  // The path is from the end to here: its last entry is taken first.
  InstructionId From(InstructionId id) {
    constexpr int kMaxSteps = 1000;
    for (int step = 0; step < kMaxSteps; ++step) {
      const InstructionId next = Next(id);
      if (!next.valid()) return {};
      if (next == id) return path_.empty() ? id : InstructionId{};
      id = next;
    }
    return {};
  }

 private:
  // `id` itself where the value is made there, invalid where nobody knows.
  InstructionId Next(InstructionId id) {
    using Self = Walk;
    static constexpr hlo::OpcodeTable<InstructionId (Self::*)(InstructionId)> kNext(
        {
            {Opcode::kCall, &Self::RootOfCalled},
            {Opcode::kCopy, &Self::Operand},
            {Opcode::kGetTupleElement, &Self::TupleOfElement},
            {Opcode::kOptimizationBarrier, &Self::Operand},
            {Opcode::kParameter, &Self::FromCaller},
            {Opcode::kTuple, &Self::Element},
            {Opcode::kWhile, &Self::RootOfBody},
        },
        &Self::Made);
    return (this->*kNext[module_[id].opcode])(id);
  }

  InstructionId Made(InstructionId id) { return id; }
  InstructionId Operand(InstructionId id) { return module_.operands(id)[0]; }
  InstructionId TupleOfElement(InstructionId id) {
    path_.push_back(module_.GetInt(module_[id], hlo::AttributeKey::kIndex));
    return Operand(id);
  }
  InstructionId Element(InstructionId tuple) {
    const auto elements = module_.operands(tuple);
    if (path_.empty() || std::cmp_greater_equal(path_.back(), elements.size())) return {};
    return elements[static_cast<size_t>(Take())];
  }
  InstructionId RootOfBody(InstructionId loop) {
    return RootOf(module_.GetComputation(module_[loop], hlo::AttributeKey::kBody));
  }
  InstructionId RootOfCalled(InstructionId call) {
    return RootOf(module_.CalledComputations(module_[call])[0]);
  }

  int64_t Take() {
    const int64_t index = path_.back();
    path_.pop_back();
    return index;
  }

  InstructionId RootOf(ComputationId computation) const { return module_[computation].root; }

  InstructionId FromCaller(InstructionId parameter) {
    const ComputationId home = module_[parameter].computation;
    const InstructionId caller = hlo::CallGraphOf(module_).OnlyCaller(home);
    if (!caller.valid()) return parameter;
    const Opcode opcode = module_[caller].opcode;
    if (opcode == Opcode::kWhile && std::exchange(state_, LoopState::kFirst) == LoopState::kLater) {
      return RootOf(module_.GetComputation(module_[caller], hlo::AttributeKey::kBody));
    }
    if (opcode != Opcode::kWhile && opcode != Opcode::kCall) return parameter;
    const int64_t number = module_.GetInt(module_[parameter], hlo::AttributeKey::kParameterNumber);
    const auto operands = module_.operands(caller);
    if (std::cmp_greater_equal(number, operands.size())) return {};
    return operands[static_cast<size_t>(number)];
  }

  const Module& module_;
  std::vector<int64_t> path_;
  LoopState state_;
};

}  // namespace

bool IsCarrier(Opcode opcode) {
  constexpr hlo::OpcodeSet kCarriers = {Opcode::kCall,      Opcode::kGetTupleElement,
                                        Opcode::kParameter, Opcode::kOptimizationBarrier,
                                        Opcode::kTuple,     Opcode::kWhile};
  return kCarriers.Has(opcode);
}

InstructionId CarriedFrom(const Module& module, InstructionId id, std::vector<int64_t> path,
                          LoopState state) {
  return Walk(module, {path.rbegin(), path.rend()}, state).From(id);
}

bool IsInside(const Module& module, InstructionId id, InstructionId caller) {
  const hlo::CallGraph& graph = hlo::CallGraphOf(module);
  std::set<uint32_t> seen;
  std::vector<ComputationId> pending = {module[id].computation};
  while (!pending.empty()) {
    const ComputationId home = pending.back();
    pending.pop_back();
    if (!seen.insert(home.index).second) continue;
    for (const InstructionId one : graph.callers(home)) {
      if (one == caller) return true;
      pending.push_back(module[one].computation);
    }
  }
  return false;
}

}  // namespace hloscope::debug
