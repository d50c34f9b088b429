// A search backwards over instructions and the element of their tuple that is asked for.
#include "profiler/data_dependencies.h"

#include <algorithm>
#include <unordered_set>

#include "core/hlo/analysis/call_graph.h"

namespace hloscope::profiler {

using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;

// A value: of an instruction, or one element of its tuple.
class DataDependencies::Walk {
 public:
  static constexpr int64_t kWhole = -1;

  Walk(const hlo::Module& module, const std::vector<bool>& ran) : m_(module), ran_(ran) {}

  std::vector<InstructionId> From(InstructionId id) {
    PushOperands(id, kWhole);
    if (const hlo::Attribute* before = m_.Find(id, hlo::AttributeKey::kControlPredecessors)) {
      for (uint32_t k : m_.IdsOf(*before)) Push(InstructionId(k), kWhole);
    }
    // A parameter, or what only calls others, has its values from elsewhere.
    if (m_.operands(id).empty()) Visit(id, kWhole);
    for (size_t next = 0; next < work_.size() && next < kMaxVisited; ++next) {
      const auto [at, element] = work_[next];
      if (ran_[at.index]) {
        found_.push_back(at);
      } else {
        Visit(at, element);
      }
    }
    std::ranges::sort(found_);
    const auto twice = std::ranges::unique(found_);
    found_.erase(twice.begin(), twice.end());
    return std::move(found_);
  }

 private:
  void Push(InstructionId id, int64_t element) {
    const uint64_t key = uint64_t{id.index} << 32 | static_cast<uint32_t>(element);
    if (seen_.insert(key).second) work_.emplace_back(id, element);
  }
  void PushOperands(InstructionId id, int64_t element) {
    for (InstructionId operand : m_.operands(id)) Push(operand, element);
  }

  void Visit(InstructionId id, int64_t element) {
    const hlo::Instruction& i = m_[id];
    const std::span<const InstructionId> operands = m_.operands(i);
    if (i.opcode == Opcode::kParameter) return VisitParameter(id, element);
    const bool is_known = element >= 0 && element < std::ssize(operands);
    if (i.opcode == Opcode::kTuple && is_known) {
      return Push(operands[static_cast<size_t>(element)], kWhole);
    }
    if (i.opcode == Opcode::kGetTupleElement) {
      return PushOperands(id, m_.GetInt(i, hlo::AttributeKey::kIndex, kWhole));
    }
    const bool is_loop = i.opcode == Opcode::kWhile;
    if (is_loop || i.opcode == Opcode::kCall || i.opcode == Opcode::kConditional) {
      for (ComputationId called : m_.CalledComputations(i)) Push(m_[called].root, element);
    }
    const bool keeps_element = is_loop || i.opcode == Opcode::kOptimizationBarrier;
    PushOperands(id, keeps_element ? element : kWhole);
  }

  // The value that the callers hand over; in a loop also what the iteration before left.
  void VisitParameter(InstructionId id, int64_t element) {
    const ComputationId own = m_[id].computation;
    const int64_t number = m_.GetInt(m_[id], hlo::AttributeKey::kParameterNumber);
    for (InstructionId caller : hlo::CallGraphOf(m_).callers(own)) {
      const hlo::Instruction& call = m_[caller];
      const std::span<const InstructionId> operands = m_.operands(call);
      if (call.opcode == Opcode::kWhile) {
        PushOperands(caller, element);
        for (ComputationId called : m_.CalledComputations(call)) Push(m_[called].root, element);
      } else if (call.opcode != Opcode::kConditional && number >= 0 &&
                 number < std::ssize(operands)) {
        Push(operands[static_cast<size_t>(number)], element);
      } else {
        PushOperands(caller, kWhole);
      }
    }
  }

  const hlo::Module& m_;
  const std::vector<bool>& ran_;
  std::unordered_set<uint64_t> seen_;
  std::vector<std::pair<InstructionId, int64_t>> work_;
  std::vector<InstructionId> found_;
};

std::span<const InstructionId> DataDependencies::Of(InstructionId id) {
  const auto [entry, is_new] = known_.try_emplace(id.index);
  if (is_new) entry->second = Walk(module_, ran_).From(id);
  return entry->second;
}

}  // namespace hloscope::profiler
