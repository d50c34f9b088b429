// Copying computations call by call, from the entry on.
#include "core/hlo/rewrite/separate_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "core/hlo/analysis/expansion_budget.h"
#include "core/hlo/opcode_table.h"
#include "core/hlo/rewrite/copy_module.h"

namespace hloscope::hlo {
namespace {

bool IsCall(Opcode opcode) {
  constexpr OpcodeSet kCalls = {Opcode::kCall, Opcode::kConditional, Opcode::kFusion,
                                Opcode::kWhile};
  return kCalls.Has(opcode);
}

class Separator {
 public:
  explicit Separator(std::shared_ptr<const Module> module)
      : module_(std::move(module)), budget_(*module_, ExpansionBudget::kCopies) {
    const size_t count = module_->computations().size();
    separated_.was_shared.assign(count, false);
    for (uint32_t c = 0; c < count; ++c) separated_.original.emplace_back(c);
  }

  SeparatedModule Run() && {
    separated_.module = module_;
    if (!module_->entry_id().valid() || !HasShared()) return std::move(separated_);
    builder_ = CopyModule(*module_);
    taken_.assign(module_->computations().size(), false);
    taken_[module_->entry_id().index] = true;
    open_ = {module_->entry_id()};
    while (!open_.empty()) {
      const Computation computation = builder_->computation(open_.back());
      open_.pop_back();
      for (uint32_t k = 0; k < computation.instruction_count; ++k)
        SeparateAt(InstructionId(computation.first_instruction + k));
    }
    separated_.module = builder_->Build();
    return std::move(separated_);
  }

 private:
  bool HasShared() {
    std::vector<bool> called(module_->computations().size(), false);
    bool is_any = false;
    for (const Instruction& i : module_->instructions()) {
      if (!IsCall(i.opcode)) continue;
      for (const ComputationId callee : module_->CalledComputations(i)) {
        if (called[callee.index]) separated_.was_shared[callee.index] = is_any = true;
        called[callee.index] = true;
      }
    }
    return is_any;
  }

  void SeparateAt(InstructionId id) {
    const Module& made = builder_->module();
    if (!IsCall(made[id].opcode)) return;
    const auto list = made.attributes(made[id]);
    for (Attribute attribute : std::vector<Attribute>(list.begin(), list.end())) {
      const ValueKind kind = Info(attribute.key).kind;
      if (kind == ValueKind::kComputation) {
        const ComputationId own = OwnOf(ComputationId(attribute.value));
        if (own.index == attribute.value) continue;
        attribute.value = own.index;
      } else if (kind == ValueKind::kComputations) {
        const auto ids = made.IdsOf(attribute);
        std::vector<uint32_t> own(ids.begin(), ids.end());
        for (uint32_t& callee : own) callee = OwnOf(ComputationId(callee)).index;
        if (std::ranges::equal(own, made.IdsOf(attribute))) continue;
        attribute = builder_->MakeIds(attribute.key, own);
      } else {
        continue;
      }
      builder_->SetAttribute(id, attribute);
    }
  }

  // The first call keeps the computation.
  ComputationId OwnOf(ComputationId callee) {
    if (!taken_[callee.index]) {
      taken_[callee.index] = true;
      open_.push_back(callee);
      return callee;
    }
    if (!budget_.Take((*module_)[callee].instruction_count)) {
      separated_.is_whole = false;
      return callee;
    }
    open_.push_back(Copy(callee));
    return open_.back();
  }

  ComputationId Copy(ComputationId callee) {
    const Computation& from = (*module_)[callee];
    const ComputationId id = builder_->DeclareComputation(
        builder_->Intern(fmt::format("{}~{}", (*module_)[from.name], separated_.original.size())));
    separated_.original.push_back(callee);
    builder_->BeginComputation(id);
    const size_t first = builder_->NextInstruction().index;
    const auto moved = [&](InstructionId old) {
      return InstructionId(old.index - from.first_instruction + first);
    };
    std::vector<InstructionId> operands;
    std::vector<Attribute> attributes;
    for (uint32_t k = 0; k < from.instruction_count; ++k) {
      const InstructionId old(from.first_instruction + k);
      const Instruction& instruction = (*module_)[old];
      operands.clear();
      for (const InstructionId operand : module_->operands(old)) operands.push_back(moved(operand));
      attributes.clear();
      for (Attribute attribute : module_->attributes(instruction)) {
        if (Info(attribute.key).kind == ValueKind::kInstructions) {
          std::vector<uint32_t> ids;
          for (const uint32_t other : module_->IdsOf(attribute))
            ids.push_back(moved(InstructionId(other)).index);
          attribute = builder_->MakeIds(attribute.key, ids);
        }
        attributes.push_back(attribute);
      }
      builder_->AddInstruction(instruction.name, instruction.opcode, instruction.shape, operands,
                               attributes, module_->source_offset(old));
    }
    builder_->EndComputation(moved(from.root), from.execution_thread);
    return id;
  }

  std::shared_ptr<const Module> module_;
  std::optional<ModuleBuilder> builder_;
  ExpansionBudget budget_;
  SeparatedModule separated_;
  std::vector<bool> taken_;          // by computation of the module given
  std::vector<ComputationId> open_;  // whose calls are to be looked at
};

}  // namespace

SeparatedModule SeparateCalls(std::shared_ptr<const Module> module) {
  return Separator(std::move(module)).Run();
}

}  // namespace hloscope::hlo
