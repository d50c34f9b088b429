// Algebraic simplification: applies the rules until none fits.
#include <array>
#include <vector>

#include "core/compile/passes/simplify/rules.h"
#include "core/hlo/analysis/by_id.h"

namespace hloscope::compile {

using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

struct RuleRow {
  Opcode opcode;
  SimplifyRule rule;
};
constexpr RuleRow kRules[] = {
#define RULE(opcode, function) {Opcode::opcode, &function},
#include "core/compile/passes/simplify/rules.def"
#undef RULE
};

// By opcode: where its rules begin; the rows are in order.
constexpr auto kFirstRule = [] {
  std::array<size_t, hlo::kOpcodeCount + 1> first{};
  for (size_t opcode = 0, row = 0; opcode <= hlo::kOpcodeCount; ++opcode) {
    while (row < std::size(kRules) && static_cast<size_t>(kRules[row].opcode) < opcode) ++row;
    first[opcode] = row;
  }
  return first;
}();
static_assert([] {
  for (size_t k = 1; k < std::size(kRules); ++k) {
    if (kRules[k].opcode < kRules[k - 1].opcode) return false;
  }
  return true;
}());

// Rules make progress, each in its direction; this bounds what a mistake in one could cost.
constexpr size_t kMaxRewritesPerInstruction = 16;

class Simplifier {
 public:
  explicit Simplifier(const std::shared_ptr<const Module>& module) : edit_(module) {
    is_waiting_.resize(module->instructions().size(), true);
    for (uint32_t k = 0; k < module->instructions().size(); ++k) worklist_.emplace_back(k);
  }

  Result<PassResult> Run() {
    size_t steps_left = kMaxRewritesPerInstruction * worklist_.size();
    // Operands before users: a chain is folded from its beginning.
    for (size_t k = 0; k < worklist_.size() && steps_left > 0; ++k) {
      const InstructionId id = worklist_[k];
      is_waiting_[id.index] = false;
      if (edit_.rewriter().removed(id) || !IsUsed(id) || !IsStatic(id)) continue;
      const size_t before = edit_.rewriter().instruction_count();
      const InstructionId now = Apply(id);
      if (!now.valid()) continue;
      --steps_left;
      for (size_t added = before; added < edit_.rewriter().instruction_count(); ++added) {
        Enqueue(InstructionId(added));
      }
      const std::vector<InstructionId> users = edit_.rewriter().users(id);
      edit_.Replace(id, now);
      for (const InstructionId user : users) Enqueue(user);
    }
    return edit_.Finish();
  }

 private:
  void Enqueue(InstructionId id) {
    if (is_waiting_.size() <= id.index) is_waiting_.resize(id.index + 1, false);
    if (is_waiting_[id.index]) return;
    is_waiting_[id.index] = true;
    worklist_.push_back(id);
  }

  bool IsUsed(InstructionId id) const {
    return edit_.rewriter().has_users(id) ||
           edit_.rewriter().root(edit_.rewriter().computation(id)) == id;
  }

  // Sizes that are known only when it runs follow rules of their own.
  bool IsStatic(InstructionId id) {
    if (!HasStaticShape(id)) return false;
    for (size_t k = 0; k < edit_.rewriter().operand_count(id); ++k) {
      if (!HasStaticShape(edit_.operand(id, k))) return false;
    }
    return true;
  }
  bool HasStaticShape(InstructionId id) {
    return are_static_.Get(edit_.rewriter().shape_id(id),
                           [&] { return edit_.shape(id).is_static(); });
  }

  bool Fits(InstructionId id, InstructionId now) const {
    return now.valid() && now != id && Compatible(edit_.shape(id), edit_.shape(now)) &&
           edit_.MayReplace(id, now);
  }

  InstructionId Apply(InstructionId id) {
    if (edit_.IsPinned(id)) return kNoReplacement;
    const auto opcode = static_cast<size_t>(edit_.opcode(id));
    for (size_t row = kFirstRule[opcode]; row < kFirstRule[opcode + 1]; ++row) {
      const InstructionId now = kRules[row].rule(edit_, id);
      if (Fits(id, now)) return now;
    }
    if (Info(edit_.opcode(id)).category == hlo::Category::kElementwise &&
        edit_.opcode(id) != Opcode::kMap) {
      InstructionId now = ElementwiseOfBroadcasts(edit_, id);
      if (!now.valid()) now = ElementwiseOfReshapes(edit_, id);
      if (Fits(id, now)) return now;
    }
    return kNoReplacement;
  }

  Edit edit_;
  std::vector<InstructionId> worklist_;
  std::vector<bool> is_waiting_;
  hlo::ById<hlo::ShapeId, bool> are_static_;
};

}  // namespace

Result<PassResult> SimplifyAlgebra(const std::shared_ptr<const Module>& module, Compilation&) {
  return Simplifier(module).Run();
}

}  // namespace hloscope::compile
