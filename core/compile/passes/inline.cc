// Inlining of calls, and of the fusions a module came with: our own fusion decides anew.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "core/compile/passes/edit.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/effects.h"
#include "core/hlo/analysis/expansion_budget.h"

namespace hloscope::compile {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

class Inliner {
 public:
  explicit Inliner(const std::shared_ptr<const Module>& module)
      : module_(*module),
        calls_(CallGraphOf(*module)),
        edit_(module),
        copies_(*module, hlo::ExpansionBudget::kCopies) {}

  Result<PassResult> Run() {
    // Callees first: what is copied several times has been flattened. What is copied once is
    // flattened there, so that no instruction is copied at each level.
    for (const ComputationId c : calls_.callees_first()) {
      if (IsCopiedOnce(c)) continue;
      const hlo::Computation& computation = module_[c];
      for (uint32_t k = 0; k < computation.instruction_count; ++k) {
        HLOSCOPE_TRY(Visit(InstructionId(computation.first_instruction + k)));
      }
    }
    return edit_.Finish();
  }

 private:
  // The computation to put in place of an instruction; invalid where it stays.
  ComputationId CalleeOf(InstructionId id) const {
    const hlo::Instruction& i = module_[id];
    if (i.opcode == Opcode::kCall) return module_.GetComputation(i, AttributeKey::kToApply);
    if (i.opcode != Opcode::kFusion) return {};
    return module_.GetComputation(i, AttributeKey::kCalls);
  }

  // An effect keeps its place among the others, and a constant without bytes its name.
  bool MayCopy(ComputationId callee, bool is_only_call) {
    for (const hlo::Instruction& i : module_.instructions(module_[callee])) {
      if (module_.Find(i, AttributeKey::kControlPredecessors) != nullptr) return false;
      if (HasFlag(i.opcode, hlo::kFlagStart) || HasFlag(i.opcode, hlo::kFlagDone)) return false;
      const auto* literal = module_.Get<hlo::Literal>(i, AttributeKey::kConstantValue);
      if (literal != nullptr && literal->elided() &&
          (!is_only_call || edit_.NameCount(module_[i.name]) > 1)) {
        return false;
      }
    }
    return !EffectsOf(module_).Has(callee);
  }

  Result<const std::vector<InstructionId>*> OrderOf(ComputationId callee) {
    std::optional<std::vector<InstructionId>>& order = orders_[callee];
    if (!order) {
      HLOSCOPE_ASSIGN_OR_RETURN(order, edit_.rewriter().Order(callee, state_));
    }
    return &*order;
  }

  // Whether the computation takes the place of its only call.
  bool IsCopiedOnce(ComputationId c) {
    const InstructionId caller = calls_.OnlyCaller(c);
    return caller.valid() && CalleeOf(caller) == c && !edit_.IsPinned(caller) && MayCopy(c, true);
  }

  Status Visit(InstructionId id) {
    if (!edit_.IsPinned(id)) open_.push_back({id, CalleeOf(id)});
    while (!open_.empty()) {
      const auto [call, callee] = open_.back();
      open_.pop_back();
      if (!callee.valid()) continue;
      const bool is_only_call = calls_.OnlyCaller(callee).valid();
      if (!MayCopy(callee, is_only_call)) continue;
      HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<InstructionId>* order, OrderOf(callee));
      if (!is_only_call && !copies_.Take(order->size())) continue;
      Copy(call, callee, *order, is_only_call);
    }
    return {};
  }

  void Copy(InstructionId call, ComputationId callee, const std::vector<InstructionId>& order,
            bool is_only_call) {
    hlo::Rewriter& rewriter = edit_.rewriter();
    std::unordered_map<InstructionId, InstructionId> copies;
    std::vector<InstructionId> operands;
    std::vector<Attribute> attributes;
    for (const InstructionId id : order) {
      if (rewriter.opcode(id) == Opcode::kParameter) {
        const auto number = static_cast<size_t>(edit_.Int(id, AttributeKey::kParameterNumber));
        copies[id] = rewriter.operand(call, number);
        edit_.NoteOrigin(copies[id], id, hlo::OriginKind::kReplaced);
      } else {
        operands.clear();
        for (const InstructionId operand : rewriter.operands(id)) {
          operands.push_back(copies.at(operand));
        }
        attributes.assign(rewriter.attributes(id).begin(), rewriter.attributes(id).end());
        const bool keeps_name = is_only_call && edit_.NameCount(rewriter.name(id)) == 1;
        const std::string name =
            keeps_name ? std::string(rewriter.name(id)) : edit_.UniqueName(rewriter.name(id));
        copies[id] = rewriter.Add(rewriter.computation(call), name, rewriter.opcode(id),
                                  rewriter.shape(id), operands, attributes);
        edit_.NoteOrigin(copies[id], id, hlo::OriginKind::kCopied);
        // A computation that is copied once was left as it was.
        if (is_only_call && id.index < module_.instructions().size() && !edit_.IsPinned(id)) {
          open_.push_back({copies[id], CalleeOf(id)});
        }
      }
      if (is_only_call) edit_.NoteSameValue(id, copies[id]);
    }
    edit_.Replace(call, copies.at(rewriter.root(callee)));
    rewriter.Remove(call);
  }

  const Module& module_;
  const hlo::CallGraph& calls_;
  Edit edit_;
  hlo::ExpansionBudget copies_;  // of computations that several instructions call
  std::unordered_map<ComputationId, std::optional<std::vector<InstructionId>>> orders_;
  std::vector<uint8_t> state_;
  struct Call {
    InstructionId id;
    ComputationId callee;
  };
  std::vector<Call> open_;  // to be inlined yet
};

}  // namespace

Result<PassResult> InlineCalls(const std::shared_ptr<const Module>& module, Compilation&) {
  const bool has_calls = std::ranges::any_of(module->instructions(), [](const auto& i) {
    return i.opcode == Opcode::kCall || i.opcode == Opcode::kFusion;
  });
  if (!has_calls) return PassResult{};
  return Inliner(module).Run();
}

}  // namespace hloscope::compile
