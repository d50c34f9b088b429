// Instructions in two parts, start and done, as the one that does it at once. All devices run the
// same steps in the same order, so nobody waits for what comes later; control dependencies say
// nothing about values, and are dropped with the parts where nothing has an effect.
#include <algorithm>

#include "core/compile/passes/edit.h"
#include "core/hlo/analysis/effects.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::compile {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::OriginKind;
using hlo::Shape;

namespace {

// The whole instruction takes it.
bool Takes(Opcode opcode, AttributeKey key) {
  if (key == AttributeKey::kControlPredecessors) return false;
  return hlo::IsCommon(key) ||
         std::ranges::find(hlo::Info(opcode).attributes, key, &hlo::AttributeUse::key) !=
             hlo::Info(opcode).attributes.end();
}

class AsyncPairs {
 public:
  explicit AsyncPairs(const std::shared_ptr<const Module>& module)
      : module_(*module), edit_(module), users_(module->instructions().size()) {
    for (const hlo::Instruction& i : module_.instructions()) {
      for (const InstructionId operand : module_.operands(i)) ++users_[operand.index];
    }
    for (const hlo::Computation& c : module_.computations()) ++users_[c.root.index];
  }

  Result<PassResult> Run() {
    const std::vector<bool> runs = RunComputations(module_);
    auto left =
        std::ranges::count(module_.instructions(), Opcode::kAsyncStart, &hlo::Instruction::opcode);
    for (uint32_t k = 0; k < module_.instructions().size(); ++k) {
      const InstructionId done(k);
      const auto begins = hlo::StartOf(module_[done].opcode);
      if (!begins || !runs[module_[done].computation.index]) continue;
      const InstructionId start = StartOf(done);
      if (!start.valid() || module_[start].opcode != *begins) continue;
      const InstructionId whole = Whole(start, done);
      if (!whole.valid()) continue;
      if (*begins == Opcode::kAsyncStart) --left;
      edit_.Replace(done, whole);
      for (InstructionId part = done, before; part.valid(); part = before) {
        before = part == start ? InstructionId() : module_.operands(part)[0];
        edit_.rewriter().Remove(part);
      }
    }
    // Only what starts on another thread of XLA's is there: a plan has one order.
    if (left == 0) edit_.rewriter().DropThreads();
    return edit_.Finish();
  }

 private:
  // Through updates that only wait; invalid where anybody else has the state.
  InstructionId StartOf(InstructionId done) const {
    for (InstructionId part = done; module_.operands(part).size() == 1;) {
      part = module_.operands(part)[0];
      if (users_[part.index] != 1) return {};
      if (module_[part].opcode != Opcode::kAsyncUpdate) return part;
    }
    return {};
  }

  InstructionId Whole(InstructionId start, InstructionId done) {
    const auto at_once = hlo::SynchronousOf(module_[start].opcode);
    if (module_[start].opcode == Opcode::kAsyncStart) return Call(start, done);
    const bool is_plain = at_once == Opcode::kCopy || at_once == Opcode::kAllReduce ||
                          at_once == Opcode::kAllGather || at_once == Opcode::kCollectivePermute;
    // A permute may have an array to write into beside the one it sends.
    const Shape& shape = module_.shape(done);
    if (!is_plain || shape.results().size() != module_.operands(start).size()) return {};
    std::vector<Attribute> attributes;
    for (const Attribute& a : module_.attributes(module_[start])) {
      if (Takes(*at_once, a.key)) attributes.push_back(a);
    }
    const InstructionId whole = edit_.rewriter().Add(
        edit_.rewriter().computation(done), edit_.UniqueName(ToString(*at_once)), *at_once, shape,
        edit_.rewriter().operands(start), attributes);
    edit_.NoteOrigin(whole, start, OriginKind::kMade);
    return whole;
  }

  // A call of what an async-start calls.
  InstructionId Call(InstructionId start, InstructionId done) {
    const ComputationId callee = module_.GetComputation(module_[start], AttributeKey::kCalls);
    const auto operands = edit_.rewriter().operands(start);
    if (!callee.valid() || module_.Parameters(callee).size() != operands.size() ||
        !hlo::Compatible(module_.shape(module_[callee].root), module_.shape(done))) {
      return {};
    }
    const auto is_given = [&](InstructionId parameter) {
      const auto number = module_.GetInt(module_[parameter], AttributeKey::kParameterNumber);
      return hlo::Compatible(module_.shape(parameter),
                             module_.shape(module_.operands(start)[static_cast<size_t>(number)]));
    };
    if (!std::ranges::all_of(module_.Parameters(callee), is_given)) return {};
    return edit_.Add(start, "call", Opcode::kCall, module_.shape(done), operands,
                     {edit_.rewriter().builder().MakeComputation(AttributeKey::kToApply, callee)});
  }

  const Module& module_;
  Edit edit_;
  std::vector<uint32_t> users_;  // roots of computations have one more
};

}  // namespace

Result<PassResult> JoinAsyncPairs(const std::shared_ptr<const Module>& module, Compilation&) {
  const bool has_pairs = std::ranges::any_of(
      module->instructions(), [](const auto& i) { return HasFlag(i.opcode, hlo::kFlagStart); });
  if (!has_pairs || hlo::EffectsOf(*module).Has(module->entry_id())) return PassResult{};
  return AsyncPairs(module).Run();
}

}  // namespace hloscope::compile
