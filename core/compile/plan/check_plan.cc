// Kernels and their uses; numbers of a plan, its buffers, then its steps in the order they run.
#include "core/compile/plan/check_plan.h"

#include <algorithm>
#include <ranges>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/hlo/literal.h"

namespace hloscope::compile {
namespace {

using hlo::InstructionId;
using hlo::Shape;

bool IsInstruction(const hlo::Module& module, InstructionId id) {
  return id.index < module.instructions().size();
}

// The arrays and tokens of a value, in order.
void AppendLeaves(const Shape& shape, std::vector<const Shape*>& leaves) {
  for (const Shape* leaf : shape.LeafShapes()) leaves.push_back(leaf);
}

class CodeCheck {
 public:
  CodeCheck(const hlo::Module& module, const GpuCode& code) : module_(module), code_(code) {}

  bool Holds() const {
    return std::ranges::all_of(code_.kernels, [&](const GpuKernel& each) { return Holds(each); }) &&
           std::ranges::all_of(code_.uses, [&](const GpuCode::Use& each) { return Holds(each); }) &&
           std::ranges::all_of(code_.refused, [&](const auto& each) {
             return IsInstruction(module_, each.instruction);
           });
  }

 private:
  bool Holds(const GpuKernel& kernel) const {
    constexpr int64_t kMaxBlocks = INT32_MAX, kMaxThreads = 1024, kMaxBytes = int64_t{1} << 48;
    const int64_t grains = kernel.block > 1 ? 1 : kMaxGpuThreads;  // of a block
    return kernel.module < code_.modules.size() && kernel.grains >= 1 &&
           kernel.grains <= kMaxBlocks * grains && kernel.block >= 1 && !kernel.passes.empty() &&
           kernel.block <= kMaxThreads && kernel.scratch_bytes >= 0 &&
           kernel.scratch_bytes <= kMaxBytes;
  }

  // Kernels take arrays and make arrays, in place of one that is as large.
  bool Holds(const GpuCode::Use& use) const {
    if (!IsInstruction(module_, use.instruction) || use.kernel >= code_.kernels.size()) {
      return false;
    }
    const auto operands = module_.operands(use.instruction);
    const std::span<const Shape> results = module_.shape(use.instruction).results();
    const std::vector<int>& in_place = code_.kernels[use.kernel].in_place;
    if (!std::ranges::all_of(operands, [&](auto id) { return module_.shape(id).IsArray(); }) ||
        !std::ranges::all_of(results, [](const Shape& leaf) { return leaf.IsArray(); }) ||
        in_place.size() > results.size()) {
      return false;
    }
    for (size_t i = 0; i < in_place.size(); ++i) {
      if (in_place[i] == -1) continue;
      if (in_place[i] < 0 || in_place[i] >= std::ssize(operands) ||
          module_.shape(operands[static_cast<size_t>(in_place[i])]).ByteSize() !=
              results[i].ByteSize()) {
        return false;
      }
    }
    return true;
  }

  const hlo::Module& module_;
  const GpuCode& code_;
};

// Numbers alone: what leads to what.
class NumberCheck {
 public:
  explicit NumberCheck(const Plan& plan) : plan_(plan), module_(*plan.module) {}

  bool Holds() const {
    return plan_.computation.index < module_.computations().size() && plan_.arena_bytes >= 0 &&
           plan_.result_buffers >= 0 && plan_.result_buffers <= std::ssize(plan_.buffers) &&
           std::ranges::all_of(
               plan_.buffers, [&](const auto& each) { return Holds(each); }) &&
           Lead(plan_.parameters) && Lead(plan_.results) && StepsHold();
  }

 private:
  bool Lead(const std::vector<BufferNumber>& buffers) const {
    return std::ranges::all_of(buffers, [&](BufferNumber b) { return b < plan_.buffers.size(); });
  }

  bool Holds(const PlannedBuffer& buffer) const {
    if (buffer.bytes < 0 || buffer.at < 0 || !IsInstruction(module_, buffer.made_by)) return false;
    switch (buffer.place) {
      case Place::kArena:
        return buffer.at <= plan_.arena_bytes && buffer.bytes <= plan_.arena_bytes - buffer.at &&
               buffer.at % kBufferAlignment == 0;
      case Place::kResult:
        return buffer.at < plan_.result_buffers;
      case Place::kConstant:
        return buffer.at < std::ssize(module_.instructions()) && IsConstant(buffer);
      case Place::kParameter:
      case Place::kOutside:
        return true;
    }
    return false;
  }
  bool IsConstant(const PlannedBuffer& buffer) const {
    const auto* literal =
        module_.Get<hlo::Literal>(module_[InstructionId(static_cast<uint32_t>(buffer.at))],
                                  hlo::AttributeKey::kConstantValue);
    return literal != nullptr && literal->shape().IsArray() && !literal->elided() &&
           std::cmp_equal(literal->bytes().size(), buffer.bytes);
  }

  // Sequences are a tree: each but the first belongs to one step.
  bool StepsHold() const {
    if (plan_.sequences.empty()) return false;
    std::vector<bool> is_run(plan_.sequences.size(), false);
    is_run[0] = true;
    for (SequenceNumber s = 0; s < plan_.sequences.size(); ++s) {
      for (const PlannedStep& step : plan_.sequences[s]) {
        if (!Holds(step)) return false;
        for (const SequenceNumber inner : step.sequences) {
          if (inner <= s || inner >= is_run.size() || is_run[inner]) return false;
          is_run[inner] = true;
        }
      }
    }
    return true;
  }

  bool Holds(const PlannedStep& step) const {
    if (!IsInstruction(module_, step.id) || !Lead(step.operands) || !Lead(step.results)) {
      return false;
    }
    switch (step.kind) {
      case StepKind::kKernel:
      case StepKind::kLibraryCall:
      case StepKind::kEvaluate:
        return step.sequences.empty();
      case StepKind::kCopy:
        return step.operands.size() == 1 && step.results.size() == 1 &&
               plan_.buffers[step.operands[0]].bytes >= plan_.buffers[step.results[0]].bytes;
      case StepKind::kWhile:
        return step.operands.size() >= 1 && step.sequences.size() == 2;
      case StepKind::kConditional:
        return step.operands.size() >= 1 && !step.sequences.empty();
    }
    return false;
  }

  const Plan& plan_;
  const hlo::Module& module_;
};

// Of a plan whose numbers lead somewhere.
class StepCheck {
 public:
  StepCheck(const Plan& plan, const GpuCode& code)
      : module_(*plan.module), plan_(plan), has_memory_(plan.buffers.size(), false) {
    for (const GpuCode::Use& use : code.uses) {
      in_place_[use.instruction.index] = code.kernels[use.kernel].in_place;
    }
  }

  bool Holds() { return BuffersHold() && SequenceHolds(0, 0) && ResultsHold(); }

 private:
  bool BuffersHold() {
    std::set<int64_t> results;
    for (const PlannedBuffer& buffer : plan_.buffers) {
      if (buffer.place == Place::kResult && !results.insert(buffer.at).second) return false;
    }
    std::vector<const Shape*> leaves;
    for (const InstructionId id : module_.Parameters(plan_.computation)) {
      if (!id.valid()) return false;
      AppendLeaves(module_.shape(id), leaves);
    }
    return GetMemory(plan_.parameters, leaves);
  }
  bool ResultsHold() const {
    std::vector<const Shape*> leaves;
    AppendLeaves(module_.shape(module_[plan_.computation].root), leaves);
    return Are(plan_.results, leaves) && CanBeRead(plan_.results, leaves);
  }

  // Arrays of these buffers have memory from now on; tokens have none. False: they are not as many.
  bool GetMemory(std::span<const BufferNumber> buffers, const std::vector<const Shape*>& leaves) {
    if (buffers.size() != leaves.size()) return false;
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (leaves[i]->IsToken() || has_memory_[buffers[i]]) continue;
      has_memory_[buffers[i]] = true;
      got_memory_.push_back(buffers[i]);
    }
    return true;
  }
  // Forgets all but the first `count` buffers that got memory.
  void LoseMemory(size_t count) {
    for (; got_memory_.size() > count; got_memory_.pop_back()) {
      has_memory_[got_memory_.back()] = false;
    }
  }
  bool CanBeRead(std::span<const BufferNumber> buffers,
                 const std::vector<const Shape*>& leaves) const {
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i]->IsToken() && !CanBeRead(buffers[i])) return false;
    }
    return true;
  }

  // The buffers hold these arrays.
  bool Are(std::span<const BufferNumber> buffers, const std::vector<const Shape*>& leaves) const {
    return std::ranges::equal(buffers, leaves, [&](BufferNumber b, const Shape* leaf) {
      return leaf->IsToken() || plan_.buffers[b].bytes == leaf->ByteSize();
    });
  }
  bool IsOf(const PlannedStep& step, hlo::Opcode opcode) const {
    return module_[step.id].opcode == opcode;
  }
  // Memory of a parameter, and of what the evaluator made, is there once that was so.
  bool CanBeRead(BufferNumber b) const {
    const Place place = plan_.buffers[b].place;
    return (place != Place::kParameter && place != Place::kOutside) || has_memory_[b];
  }
  bool CanBeWritten(BufferNumber b) const {
    const Place place = plan_.buffers[b].place;
    return place == Place::kArena || place == Place::kResult;
  }

  // What a sequence makes is there for those behind it that it leads to.
  bool SequenceHolds(SequenceNumber sequence, int depth) {
    constexpr int kMaxDepth = 64;  // more than our planner makes
    if (depth > kMaxDepth) return false;
    const Sequence& steps = plan_.sequences[sequence];
    for (size_t i = 0; i < steps.size(); ++i) {
      if (!StepHolds(steps[i], depth) || !UpdatesHold(std::span(steps).first(i), steps[i])) {
        return false;
      }
    }
    return true;
  }
  // What a kernel updates is where its result will be: in one memory, or copied there just before.
  bool UpdatesHold(std::span<const PlannedStep> before, const PlannedStep& step) const {
    const auto found = in_place_.find(step.id.index);
    if (step.kind != StepKind::kKernel || found == in_place_.end()) return true;
    for (size_t i = 0; i < found->second.size(); ++i) {
      if (found->second[i] < 0) continue;
      const BufferNumber operand = step.operands[static_cast<size_t>(found->second[i])];
      if (operand != step.results[i] && !IsCopied(before, operand, step.results[i])) return false;
    }
    return true;
  }
  static bool IsCopied(std::span<const PlannedStep> before, BufferNumber from, BufferNumber to) {
    for (const PlannedStep& step : before | std::views::reverse) {
      if (step.kind != StepKind::kCopy) return false;
      if (step.results[0] == to) return step.operands[0] == from;
    }
    return false;
  }
  bool StepHolds(const PlannedStep& step, int depth) {
    switch (step.kind) {
      case StepKind::kKernel:
      case StepKind::kLibraryCall:
        return WorkHolds(step) &&
               std::ranges::all_of(step.results, [&](BufferNumber b) { return CanBeWritten(b); });
      case StepKind::kEvaluate:
        return WorkHolds(step) && EvaluatedHolds(step);
      case StepKind::kCopy:
        return CanBeRead(step.operands[0]) && CanBeWritten(step.results[0]);
      case StepKind::kWhile:
        return LoopHolds(step, depth);
      case StepKind::kConditional:
        return BranchHolds(step, depth);
    }
    return false;
  }
  bool EvaluatedHolds(const PlannedStep& step) {
    std::vector<const Shape*> results;
    AppendLeaves(module_.shape(step.id), results);
    return std::ranges::all_of(step.results,
                               [&](BufferNumber b) {
                                 return CanBeWritten(b) ||
                                        plan_.buffers[b].place == Place::kOutside;
                               }) &&
           GetMemory(step.results, results);
  }
  bool WorkHolds(const PlannedStep& step) const {
    std::vector<const Shape*> operands, results;
    for (const InstructionId id : module_.operands(step.id)) {
      AppendLeaves(module_.shape(id), operands);
    }
    AppendLeaves(module_.shape(step.id), results);
    return Are(step.operands, operands) && Are(step.results, results) &&
           CanBeRead(step.operands, operands);
  }
  bool LoopHolds(const PlannedStep& step, int depth) {
    if (!IsOf(step, hlo::Opcode::kWhile)) return false;
    std::vector<const Shape*> carried;
    AppendLeaves(module_.shape(step.id), carried);
    const size_t before = got_memory_.size();
    const bool holds = Are(step.results, carried) && SequenceHolds(step.sequences[0], depth + 1) &&
                       plan_.buffers[step.operands[0]].bytes >= 1 && CanBeRead(step.operands[0]) &&
                       SequenceHolds(step.sequences[1], depth + 1) &&
                       CanBeRead(step.results, carried);
    LoseMemory(before);
    return holds;
  }
  bool BranchHolds(const PlannedStep& step, int depth) {
    if (!IsOf(step, hlo::Opcode::kConditional)) return false;
    const Shape& decision = module_.shape(module_.operands(step.id)[0]);
    if (plan_.buffers[step.operands[0]].bytes != decision.ByteSize()) return false;
    if (!CanBeRead(step.operands[0])) return false;
    const size_t before = got_memory_.size();
    return std::ranges::all_of(step.sequences, [&](SequenceNumber inner) {
      const bool holds = SequenceHolds(inner, depth + 1);
      LoseMemory(before);
      return holds;
    });
  }

  const hlo::Module& module_;
  const Plan& plan_;
  std::unordered_map<uint32_t, std::vector<int>> in_place_;  // by instruction that is a kernel
  std::vector<bool> has_memory_;                             // by buffer
  std::vector<BufferNumber> got_memory_;                     // in this order
};

}  // namespace

bool CheckPlan(const Plan& plan, const GpuCode& code) {
  return NumberCheck(plan).Holds() && StepCheck(plan, code).Holds();
}

bool CheckGpuCode(const hlo::Module& module, const GpuCode& code) {
  return CodeCheck(module, code).Holds();
}

}  // namespace hloscope::compile
