// Custom calls in plain instructions: notes to a compiler are the value they stand on, and what a
// library does is written as hlo::expand has it.
#include "core/hlo/expand/custom_calls.h"

#include <algorithm>
#include <unordered_map>

#include "core/compile/kernel_rules.h"
#include "core/compile/passes/edit.h"
#include "core/compile/passes/simplify/rules.h"
#include "core/hlo/analysis/effects.h"
#include "core/hlo/expand/expand.h"
#include "core/hlo/rewrite/module_copier.h"
#include "core/hlo/sharding/manual_region.h"

namespace hloscope::compile {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::OriginKind;
using hlo::Shape;
using hlo::expand::CustomCall;

namespace {

// The instructions of an expansion, in the module that has the call.
class Expansion {
 public:
  Expansion(Edit& edit, InstructionId call, const Module& from)
      : edit_(edit), call_(call), from_(from), copier_(from, edit.rewriter().builder()) {}

  // False for what calls several computations at once.
  bool CanCopy() const {
    return std::ranges::none_of(from_.instructions(), [&](const hlo::Instruction& i) {
      return std::ranges::any_of(from_.attributes(i), [](const Attribute& a) {
        return Info(a.key).kind == hlo::ValueKind::kComputations;
      });
    });
  }

  InstructionId CopyEntry() {
    return CopyInto(from_.entry_id(), edit_.rewriter().computation(call_), true);
  }

 private:
  InstructionId CopyInto(ComputationId computation, ComputationId to, bool is_entry) {
    const hlo::Computation& c = from_[computation];
    for (uint32_t k = 0; k < c.instruction_count; ++k) {
      const InstructionId id(c.first_instruction + k);
      if (is_entry && from_[id].opcode == Opcode::kParameter) {
        const int64_t number = from_.GetInt(from_[id], AttributeKey::kParameterNumber);
        copies_[id] = edit_.operand(call_, static_cast<size_t>(number));
        continue;
      }
      std::vector<InstructionId> operands;
      for (const InstructionId operand : from_.operands(id)) {
        operands.push_back(copies_.at(operand));
      }
      std::vector<Attribute> attributes;
      for (const Attribute& a : from_.attributes(from_[id])) {
        const bool calls = Info(a.key).kind == hlo::ValueKind::kComputation;
        attributes.push_back(calls ? Called(a, to) : copier_.Copy(a));
      }
      const Attribute* const metadata = edit_.Find(call_, AttributeKey::kMetadata);
      if (is_entry && metadata != nullptr) attributes.push_back(*metadata);
      copies_[id] = edit_.rewriter().Add(to, edit_.UniqueName(from_.name(id)), from_[id].opcode,
                                         from_.shape(id), operands, attributes);
      edit_.NoteOrigin(copies_[id], call_, OriginKind::kMade);
    }
    return copies_.at(c.root);
  }

  Attribute Called(const Attribute& attribute, ComputationId user) {
    const ComputationId callee(attribute.value);
    ComputationId& made = computations_[callee];
    if (!made.valid()) {
      const ComputationId added =
          edit_.rewriter().AddComputation(edit_.UniqueName(from_[from_[callee].name]), user);
      edit_.rewriter().SetRoot(added, CopyInto(callee, added, false));
      computations_[callee] = added;
      return edit_.rewriter().builder().MakeComputation(attribute.key, added);
    }
    return edit_.rewriter().builder().MakeComputation(attribute.key, made);
  }

  Edit& edit_;
  InstructionId call_;
  const Module& from_;
  hlo::ModuleCopier copier_;
  std::unordered_map<InstructionId, InstructionId> copies_;
  std::unordered_map<ComputationId, ComputationId> computations_;
};

// The computation that stands beside the call says what it does.
InstructionId CallCalledComputation(Edit& edit, const Module& module, InstructionId id) {
  const auto called = module.CalledComputations(module[id]);
  if (called.size() != 1) return {};
  const auto operands = module.operands(id);
  const auto parameters = module.Parameters(called[0]);
  const InstructionId root = module[called[0]].root;
  const bool fits =
      std::ranges::equal(parameters, operands,
                         [&](InstructionId parameter, InstructionId operand) {
                           return hlo::Compatible(module.shape(parameter), module.shape(operand));
                         }) &&
      hlo::Compatible(module.shape(root), module.shape(id));
  if (!fits) return {};
  return edit.Add(id, "call", Opcode::kCall, module.shape(id), edit.rewriter().operands(id),
                  {edit.rewriter().builder().MakeComputation(AttributeKey::kToApply, called[0])});
}

CustomCall MeaningOf(const Module& module, InstructionId id) {
  if (module[id].opcode == Opcode::kDomain) return CustomCall::kIdentity;
  const auto* const row = hlo::expand::FindCustomCall(module, id);
  return row == nullptr ? CustomCall::kUnsupported : row->meaning;
}

// The value of the call made of others; invalid where that is not known.
InstructionId LowerCustomCall(Edit& edit, const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  const CustomCall meaning = MeaningOf(module, id);
  if (meaning == CustomCall::kIdentity) {
    const bool is_same =
        operands.size() == 1 && hlo::Compatible(module.shape(id), module.shape(operands[0]));
    return is_same ? edit.operand(id, 0) : InstructionId();
  }
  if (meaning == CustomCall::kZeroBuffer) {
    const Shape& shape = module.shape(id);
    // Zero bytes are no zero where the type has none.
    if (!IsWholeArray(shape) || hlo::IsComplex(shape.element_type()) ||
        shape.element_type() == hlo::ElementType::kF8E8M0FNU) {
      return {};
    }
    return Filled(edit, id, PlainArray(shape.element_type(), shape.dimensions()), 0);
  }
  if (meaning == CustomCall::kCalledComputation) return CallCalledComputation(edit, module, id);
  // Errors are the run's to tell.
  const auto expansion = hlo::expand::Expand(module, id);
  if (!expansion.has_value() || *expansion == nullptr) return {};
  Expansion copied(edit, id, **expansion);
  return copied.CanCopy() ? copied.CopyEntry() : InstructionId();
}

bool HasCalls(const Module& module) {
  return HasOpcode(module, Opcode::kCustomCall) || HasOpcode(module, Opcode::kDomain);
}

// Where what the instruction does is known.
void ReplaceCall(Edit& edit, const Module& module, InstructionId id) {
  const Opcode opcode = module[id].opcode;
  if (opcode != Opcode::kCustomCall && opcode != Opcode::kDomain) return;
  const bool is_note = hlo::IsShardyAnnotation(module, id);
  if (!is_note && hlo::EffectsOf(module).Has(id)) return;
  const InstructionId value = LowerCustomCall(edit, module, id);
  if (!value.valid() || !edit.MayReplace(id, value)) return;
  edit.Replace(id, value);
  if (is_note) edit.rewriter().Remove(id);
}

}  // namespace

Result<PassResult> ExpandCustomCalls(const std::shared_ptr<const Module>& module, Compilation&) {
  if (!HasCalls(*module)) return PassResult{};
  Edit edit(module);
  edit.ForEachRunning([&](InstructionId id) { ReplaceCall(edit, *module, id); });
  return edit.Finish();
}

// JAX writes shardings into the reducers of a region that is manual in part.
Result<PassResult> DropAnnotationsInReducers(const std::shared_ptr<const Module>& module,
                                             Compilation&) {
  if (!HasCalls(*module)) return PassResult{};
  Edit edit(module);
  const std::vector<bool> runs = RunComputations(*module, true);
  for (uint32_t k = 0; k < module->instructions().size(); ++k) {
    const InstructionId id(k);
    if (runs[(*module)[id].computation.index]) continue;
    if (MeaningOf(*module, id) == CustomCall::kIdentity) ReplaceCall(edit, *module, id);
  }
  return edit.Finish();
}

}  // namespace hloscope::compile
