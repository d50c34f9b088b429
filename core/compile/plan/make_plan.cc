// MakePlan: instructions to steps. Every array of every value gets a buffer of its own first;
// tuples and other names of values get none.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/compile/kernel_rules.h"
#include "core/compile/library_rules.h"
#include "core/compile/plan/kernel_bytes.h"
#include "core/compile/plan/plan_writer.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/effects.h"
#include "core/hlo/analysis/expansion_budget.h"
#include "core/hlo/opcode_table.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

// Loops in branches in loops … : deeper ones are run instruction by instruction.
constexpr int kDeepest = 24;
// A loop whose turn touches more bytes, or has more steps, does not notice the way between steps.
constexpr int64_t kMaxBytesInOneFunction = int64_t{64} << 10;
constexpr size_t kMaxStepsInOneFunction = 64;

using Leaves = std::vector<BufferNumber>;

bool IsPlannable(const Shape& shape) {
  return std::ranges::all_of(shape.LeafShapes(), [](const hlo::Shape* leaf) {
    const Shape& part = *leaf;
    return part.IsToken() || (part.IsArray() && part.is_static() && part.ByteSize().has_value());
  });
}

// Collectives whose every device knows beforehand what it gets.
bool IsCollectiveStep(Opcode opcode) {
  static constexpr hlo::OpcodeSet kMeetings = {
      Opcode::kAllReduce,     Opcode::kAllGather,           Opcode::kAllToAll,
      Opcode::kReduceScatter, Opcode::kCollectiveBroadcast, Opcode::kCollectivePermute};
  return kMeetings.Has(opcode);
}
bool AlwaysHasValue(const Module& module, InstructionId id) {
  const Opcode opcode = module[id].opcode;
  if (opcode == Opcode::kReplicaId || opcode == Opcode::kPartitionId) return true;
  const auto* literal = module.Get<hlo::Literal>(module[id], AttributeKey::kConstantValue);
  return opcode == Opcode::kConstant && literal != nullptr && !literal->elided();
}

class Planner {
 public:
  Planner(std::shared_ptr<const Module> module, ComputationId computation,
          const std::vector<InstructionId>& kernels, const PlanOptions& options)
      : module_(*module),
        kernels_(kernels),
        options_(options),
        steps_(*module, hlo::ExpansionBudget::kSteps),
        leaves_(module->instructions().size()) {
    draft_.plan.module = std::move(module);
    draft_.plan.computation = computation;
  }

  Result<Plan> Make() {
    const ComputationId computation = draft_.plan.computation;
    if (hlo::EffectsOf(module_).Has(computation)) return No("it has effects");
    AddSequence({});
    std::vector<Leaves> arguments;
    for (const InstructionId parameter : module_.Parameters(computation)) {
      if (!parameter.valid()) return No("a parameter is missing");
      arguments.push_back(NewBuffers(parameter, 0, Place::kParameter));
    }
    for (const Leaves& argument : arguments) {
      for (const BufferNumber b : argument) {
        Buffer(b).at = std::ssize(draft_.plan.parameters);
        draft_.plan.parameters.push_back(b);
      }
    }
    HLOSCOPE_ASSIGN_OR_RETURN(draft_.plan.results, Build(computation, 0, std::move(arguments), 0));
    if (may_be_missing_.valid() && HasCollectiveSteps(draft_.plan)) {
      return No(fmt::format("{} may be undefined where other devices wait",
                            module_.name(may_be_missing_)));
    }
    ResolveNames();
    ShareBuffers(draft_, options_.overwrites);
    NameResults();
    MarkSmallLoops();
    PlaceBuffers(draft_);
    return std::move(draft_.plan);
  }

 private:
  static std::unexpected<Error> No(std::string why) { return UnsupportedError(std::move(why)); }

  PlannedBuffer& Buffer(BufferNumber b) { return draft_.plan.buffers[b]; }
  const Leaves& Of(InstructionId id) const { return leaves_[id.index]; }
  bool IsKernelOfOurs(InstructionId id) const { return std::ranges::binary_search(kernels_, id); }

  SequenceNumber AddSequence(SequenceOwner owner) {
    draft_.plan.sequences.emplace_back();
    draft_.owners.push_back(owner);
    return static_cast<SequenceNumber>(draft_.plan.sequences.size() - 1);
  }

  BufferNumber NewBuffer(InstructionId id, SequenceNumber home, Place place, int64_t bytes) {
    draft_.plan.buffers.push_back({place, bytes, 0, id});
    draft_.home.push_back(home);
    return static_cast<BufferNumber>(draft_.plan.buffers.size() - 1);
  }

  Leaves NewBuffers(InstructionId id, SequenceNumber home, Place place) {
    Leaves out;
    for (const hlo::Shape* shape : module_.shape(id).LeafShapes()) {
      out.push_back(NewBuffer(id, home, place, shape->ByteSize().value_or(0)));
    }
    return out;
  }

  PlannedStep& AddStep(SequenceNumber sequence, StepKind kind, InstructionId id, Leaves operands,
                       Leaves results) {
    return draft_.plan.sequences[sequence].emplace_back(
        PlannedStep{kind, id, std::move(operands), std::move(results)});
  }

  void AddCopies(SequenceNumber sequence, InstructionId id, const Leaves& from, const Leaves& to) {
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] != to[i]) AddStep(sequence, StepKind::kCopy, id, {from[i]}, {to[i]});
    }
  }

  // The buffers of the root. The steps go into `sequence`.
  Result<Leaves> Build(ComputationId computation, SequenceNumber sequence,
                       std::vector<Leaves> arguments, int depth) {
    if (depth > kDeepest) return No("loops and branches nest too deep");
    const hlo::Computation& c = module_[computation];
    if (!steps_.Take(c.instruction_count)) return No("loops and branches have too many steps");
    const std::vector<bool> live = hlo::LiveInstructions(module_, computation);
    for (uint32_t k = 0; k < c.instruction_count; ++k) {
      const InstructionId id(c.first_instruction + k);
      if (!live[k]) continue;
      if (!IsPlannable(module_.shape(id))) {
        return No(fmt::format("{} has no static shape", module_.name(id)));
      }
      if ((HasFlag(module_[id].opcode, hlo::kFlagCollective) &&
           !(options_.collectives && IsCollectiveStep(module_[id].opcode))) ||
          HasFlag(module_[id].opcode, hlo::kFlagStart)) {
        return No(fmt::format("{} is a collective step", module_.name(id)));
      }
      HLOSCOPE_TRY(Add(id, sequence, arguments, depth));
    }
    return Of(c.root);
  }

  // True for another name of operand 0's elements.
  bool IsSameElements(InstructionId id) const {
    const Opcode opcode = module_[id].opcode;
    if (opcode == Opcode::kOptimizationBarrier || opcode == Opcode::kAddDependency) return true;
    return IsBitcastLike(module_, id);
  }

  Status Add(InstructionId id, SequenceNumber sequence, std::vector<Leaves>& arguments, int depth) {
    const hlo::Instruction& i = module_[id];
    Leaves& out = leaves_[id.index];
    out.clear();
    if (IsSameElements(id)) {
      out = Of(module_.operands(id)[0]);
      return {};
    }
    switch (i.opcode) {
      case Opcode::kAfterAll:  // order, which steps have anyway
        out = NewBuffers(id, sequence, Place::kArena);
        return {};
      case Opcode::kParameter:
        out = arguments[static_cast<size_t>(module_.GetInt(i, AttributeKey::kParameterNumber))];
        return {};
      case Opcode::kTuple:
        for (const InstructionId operand : module_.operands(id)) {
          out.insert(out.end(), Of(operand).begin(), Of(operand).end());
        }
        return {};
      case Opcode::kGetTupleElement:
        return AddElement(id);
      case Opcode::kConstant:
        if (IsHeldConstant(id)) {
          out = {NewBuffer(id, sequence, Place::kConstant, *module_.shape(id).ByteSize())};
          Buffer(out[0]).at = id.index;
          return {};
        }
        break;
      case Opcode::kWhile:
        return AddWhile(id, sequence, depth);
      case Opcode::kConditional:
        return AddConditional(id, sequence, depth);
      default:
        break;
    }
    return AddWork(id, sequence);
  }

  bool IsHeldConstant(InstructionId id) const {
    const auto* literal = module_.Get<hlo::Literal>(module_[id], AttributeKey::kConstantValue);
    return module_.shape(id).IsArray() && literal != nullptr && !literal->elided();
  }

  Status AddElement(InstructionId id) {
    const InstructionId operand = module_.operands(id)[0];
    const Shape& tuple = module_.shape(operand);
    const auto index = static_cast<size_t>(module_.GetInt(module_[id], AttributeKey::kIndex));
    if (index >= tuple.elements().size()) return No("a tuple has no such element");
    const hlo::LeafRange range = tuple.ElementLeaves(index);
    const auto from = Of(operand).begin();
    leaves_[id.index] = Leaves(from + static_cast<ptrdiff_t>(range.begin),
                               from + static_cast<ptrdiff_t>(range.end));
    return {};
  }

  Status AddWork(InstructionId id, SequenceNumber sequence) {
    StepKind kind = StepKind::kEvaluate;
    if (IsLibraryCall(module_, id)) kind = StepKind::kLibraryCall;
    if (IsKernelOfOurs(id)) kind = StepKind::kKernel;
    const bool meets = IsCollectiveStep(module_[id].opcode);
    if (kind == StepKind::kEvaluate && !meets && !AlwaysHasValue(module_, id) &&
        !IsRefusal(module_, id)) {
      may_be_missing_ = id;
    }
    Leaves operands;
    for (const InstructionId operand : module_.operands(id)) {
      operands.insert(operands.end(), Of(operand).begin(), Of(operand).end());
    }
    leaves_[id.index] = NewBuffers(
        id, sequence, kind == StepKind::kEvaluate && !meets ? Place::kOutside : Place::kArena);
    AddStep(sequence, kind, id, std::move(operands), Of(id));
    return {};
  }

  // Buffers that the loop carries; what its body hands on is copied there at the end of each turn.
  // What no turn changes is the array that the loop was given.
  Status AddWhile(InstructionId id, SequenceNumber sequence, int depth) {
    const ComputationId condition = module_.GetComputation(module_[id], AttributeKey::kCondition);
    const ComputationId body = module_.GetComputation(module_[id], AttributeKey::kBody);
    const Leaves initial = Of(module_.operands(id)[0]);
    Leaves carried = NewBuffers(id, sequence, Place::kArena);
    const SequenceNumber decide = AddSequence({sequence, id, true});
    HLOSCOPE_ASSIGN_OR_RETURN(const Leaves decision,
                              Build(condition, decide, {carried}, depth + 1));
    const SequenceNumber turn = AddSequence({sequence, id, true});
    HLOSCOPE_ASSIGN_OR_RETURN(Leaves next, Build(body, turn, {carried}, depth + 1));
    AddTurnCopies(id, turn, next, carried);
    Leaves out = carried;
    for (size_t i = 0; i < next.size(); ++i) {
      if (next[i] != carried[i]) continue;
      same_[carried[i]] = out[i] = initial[i];
    }
    AddCopies(sequence, id, initial, out);
    PlannedStep& step = AddStep(sequence, StepKind::kWhile, id, decision, out);
    step.sequences = {decide, turn};
    leaves_[id.index] = std::move(out);
    return {};
  }

  // What changes places is put aside first.
  void AddTurnCopies(InstructionId id, SequenceNumber turn, Leaves next, const Leaves& carried) {
    for (size_t i = 0; i < next.size(); ++i) {
      if (next[i] == carried[i] || std::ranges::find(carried, next[i]) == carried.end()) continue;
      const BufferNumber aside = NewBuffer(id, turn, Place::kArena, Buffer(next[i]).bytes);
      AddCopies(turn, id, {next[i]}, {aside});
      next[i] = aside;
    }
    AddCopies(turn, id, next, carried);
  }

  Status AddConditional(InstructionId id, SequenceNumber sequence, int depth) {
    const auto branches = hlo::CallGraphOf(module_).calls(id);
    const auto operands = module_.operands(id);
    if (branches.empty() || operands.size() < branches.size() + 1) return No("a branch is missing");
    const Leaves results = NewBuffers(id, sequence, Place::kArena);
    std::vector<SequenceNumber> sequences;
    for (size_t k = 0; k < branches.size(); ++k) {
      const SequenceNumber branch = AddSequence({sequence, id, false});
      sequences.push_back(branch);
      HLOSCOPE_ASSIGN_OR_RETURN(
          const Leaves root, Build(branches[k].callee, branch, {Of(operands[k + 1])}, depth + 1));
      AddCopies(branch, id, root, results);
    }
    AddStep(sequence, StepKind::kConditional, id, Of(operands[0]), results).sequences =
        std::move(sequences);
    leaves_[id.index] = results;
    return {};
  }

  // Names of buffers that turned out to be others.
  void ResolveNames() {
    const auto resolve = [&](Leaves& leaves) {
      for (BufferNumber& b : leaves) {
        for (auto it = same_.find(b); it != same_.end(); it = same_.find(b)) b = it->second;
      }
    };
    for (Sequence& sequence : draft_.plan.sequences) {
      for (PlannedStep& step : sequence) {
        resolve(step.operands);
        resolve(step.results);
      }
    }
    resolve(draft_.plan.results);
  }

  // What steps make and the caller takes lies in memory of its own.
  void NameResults() {
    Plan& plan = draft_.plan;
    for (const BufferNumber b : plan.results) {
      if (Buffer(b).place != Place::kArena) continue;
      Buffer(b).place = Place::kResult;
      Buffer(b).at = plan.result_buffers++;
    }
  }

  void MarkSmallLoops() {
    for (SequenceNumber s = 0; s < draft_.plan.sequences.size(); ++s) {
      for (PlannedStep& step : draft_.plan.sequences[s]) {
        if (step.kind == StepKind::kWhile) step.is_one_function = IsSmall(step);
      }
    }
  }

  bool IsSmall(const PlannedStep& loop) {
    int64_t bytes = 0;
    size_t steps = 0;
    bool is_ours = true;
    const auto look = [&](const PlannedStep& step) {
      is_ours = is_ours && step.kind != StepKind::kEvaluate && step.kind != StepKind::kLibraryCall;
      ++steps;
      if (step.kind == StepKind::kKernel) {
        bytes += ReadBytes(module_, step.id) + WrittenBytes(module_, step.id);
      } else if (step.kind == StepKind::kCopy) {
        bytes += 2 * Buffer(step.results[0]).bytes;
      }
    };
    for (const SequenceNumber s : loop.sequences) ForEachStep(draft_.plan, s, look);
    return is_ours && steps <= kMaxStepsInOneFunction && bytes <= kMaxBytesInOneFunction;
  }

  const Module& module_;
  const std::vector<InstructionId>& kernels_;
  PlanOptions options_;
  hlo::ExpansionBudget steps_;
  InstructionId may_be_missing_;  // the last of those that the evaluator computes
  std::vector<Leaves> leaves_;    // by instruction
  // What a loop carries without changing it, by its buffer: the buffer it was given.
  std::unordered_map<BufferNumber, BufferNumber> same_;
  PlanDraft draft_;
};

}  // namespace

bool HasCollectiveSteps(const Plan& plan) {
  return std::ranges::any_of(plan.sequences, [&](const Sequence& sequence) {
    return std::ranges::any_of(sequence, [&](const PlannedStep& step) {
      return step.kind == StepKind::kEvaluate && IsCollectiveStep((*plan.module)[step.id].opcode);
    });
  });
}

Result<Plan> MakePlan(std::shared_ptr<const Module> module, ComputationId computation,
                      const std::vector<InstructionId>& kernels, const PlanOptions& options) {
  return Planner(std::move(module), computation, kernels, options).Make();
}

}  // namespace hloscope::compile
