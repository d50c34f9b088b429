// Reductions of what calls hand over: operands that a callee never looks at, and elements of a
// loop's state that only keep themselves.
#include <algorithm>
#include <array>
#include <vector>

#include "core/debug/reduce/edit.h"
#include "core/debug/reduce/reductions.h"
#include "core/hlo/analysis/call_graph.h"

namespace hloscope::debug {
namespace {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

// One thing handed over: operand `slot` of a fusion or call, or element `slot` of a loop's state.
struct Slot {
  InstructionId call;
  uint32_t slot = 0;
};

uint32_t IndexOf(const Module& module, InstructionId element) {
  return static_cast<uint32_t>(module.GetInt(module[element], AttributeKey::kIndex));
}

// The body or condition of a loop, seen by its state.
class StateUse {
 public:
  StateUse(const Module& module, ComputationId computation)
      : module_(module), computation_(module[computation]) {
    const std::vector<InstructionId> parameters = module.Parameters(computation);
    if (parameters.size() == 1) parameter_ = parameters[0];
  }

  InstructionId parameter() const { return parameter_; }
  // The state is looked at by its elements alone, and a body makes it anew as a tuple.
  bool IsPlain(bool makes_state) const {
    if (!parameter_.valid()) return false;
    if (makes_state && module_[computation_.root].opcode != Opcode::kTuple) return false;
    return std::ranges::all_of(Ids(), [&](InstructionId id) {
      const auto operands = module_.operands(id);
      return module_[id].opcode == Opcode::kGetTupleElement ||
             std::ranges::find(operands, parameter_) == operands.end();
    });
  }

  // Elements of the state that something else than element `slot` of the next state depends on.
  bool Needs(uint32_t slot, bool makes_state) const {
    std::vector<bool> live(computation_.instruction_count, false);
    std::vector<InstructionId> open;
    if (makes_state) {
      const auto next = module_.operands(computation_.root);
      for (uint32_t i = 0; i < next.size(); ++i) {
        if (i != slot) open.push_back(next[i]);
      }
    } else {
      open.push_back(computation_.root);
    }
    while (!open.empty()) {
      const InstructionId id = open.back();
      open.pop_back();
      if (live[id.index - computation_.first_instruction]) continue;
      live[id.index - computation_.first_instruction] = true;
      const auto operands = module_.operands(id);
      const bool is_element = module_[id].opcode == Opcode::kGetTupleElement;
      if (is_element && operands[0] == parameter_ && IndexOf(module_, id) == slot) return true;
      open.insert(open.end(), operands.begin(), operands.end());
    }
    return false;
  }

  std::vector<InstructionId> Ids() const {
    std::vector<InstructionId> ids;
    for (uint32_t i = 0; i < computation_.instruction_count; ++i) {
      ids.push_back(InstructionId(computation_.first_instruction + i));
    }
    return ids;
  }
  InstructionId root() const { return computation_.root; }

 private:
  const Module& module_;
  const hlo::Computation& computation_;
  InstructionId parameter_;
};

// A loop whose state can be taken apart.
struct Loop {
  InstructionId call;
  ComputationId body, condition;
};

std::optional<Loop> LoopOf(const Module& module, InstructionId id, const hlo::UserIndex& users) {
  const hlo::Instruction& instruction = module[id];
  if (instruction.opcode != Opcode::kWhile || !module.shape(id).IsTuple()) return std::nullopt;
  const Loop loop{id, module.GetComputation(instruction, AttributeKey::kBody),
                  module.GetComputation(instruction, AttributeKey::kCondition)};
  const hlo::CallGraph& graph = hlo::CallGraphOf(module);
  const bool is_own = loop.body.valid() && loop.condition.valid() &&
                      graph.OnlyCaller(loop.body) == id && graph.OnlyCaller(loop.condition) == id;
  if (!is_own || module[module[id].computation].root == id) return std::nullopt;
  const bool by_elements = std::ranges::all_of(users.users(id), [&](InstructionId user) {
    return module[user].opcode == Opcode::kGetTupleElement;
  });
  if (!by_elements || !StateUse(module, loop.body).IsPlain(true)) return std::nullopt;
  if (!StateUse(module, loop.condition).IsPlain(false)) return std::nullopt;
  return loop;
}

void AppendLoopSlots(const Module& module, const Loop& loop, const hlo::UserIndex& users,
                     std::vector<Slot>& slots) {
  const auto count = static_cast<uint32_t>(module.shape(loop.call).elements().size());
  const StateUse body(module, loop.body), condition(module, loop.condition);
  for (uint32_t slot = 0; slot < count && count > 1; ++slot) {
    const bool is_read = std::ranges::any_of(
        users.users(loop.call), [&](InstructionId user) { return IndexOf(module, user) == slot; });
    if (!is_read && !body.Needs(slot, true) && !condition.Needs(slot, false)) {
      slots.push_back({loop.call, slot});
    }
  }
}

void AppendOperandSlots(const Module& module, InstructionId id, const hlo::UserIndex& users,
                        std::vector<Slot>& slots) {
  const Opcode opcode = module[id].opcode;
  if (opcode != Opcode::kFusion && opcode != Opcode::kCall) return;
  const std::vector<ComputationId> callees = module.CalledComputations(module[id]);
  if (callees.size() != 1 || hlo::CallGraphOf(module).OnlyCaller(callees[0]) != id) return;
  const std::vector<InstructionId> parameters = module.Parameters(callees[0]);
  for (uint32_t slot = 0; slot < parameters.size(); ++slot) {
    const InstructionId parameter = parameters[slot];
    if (!parameter.valid() || parameter == module[callees[0]].root) continue;
    if (users.users(parameter).empty()) slots.push_back({id, slot});
  }
}

std::vector<Slot> SlotsOf(const Module& module) {
  const hlo::UserIndex users(module);
  std::vector<Slot> slots;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const InstructionId id(i);
    AppendOperandSlots(module, id, users, slots);
    if (const auto loop = LoopOf(module, id, users)) AppendLoopSlots(module, *loop, users, slots);
  }
  return slots;
}

// Takes one slot out of a module.
class SlotRemoval {
 public:
  SlotRemoval(Edit& edit, Slot slot)
      : edit_(edit), rewriter_(edit.rewriter()), module_(edit.module()), slot_(slot) {}

  void Run() { module_[slot_.call].opcode == Opcode::kWhile ? OfLoop() : OfOperands(); }

 private:
  std::vector<hlo::Attribute> Attributes(InstructionId id) const {
    const auto all = module_.attributes(module_[id]);
    return {all.begin(), all.end()};
  }

  InstructionId AddLike(InstructionId id, Shape shape, std::span<const InstructionId> operands,
                        std::span<const hlo::Attribute> attributes) {
    return rewriter_.Add(module_[id].computation, module_.name(id), module_[id].opcode,
                         std::move(shape), operands, attributes);
  }

  void OfOperands() {
    const ComputationId callee = module_.CalledComputations(module_[slot_.call])[0];
    const std::vector<InstructionId> parameters = module_.Parameters(callee);
    for (size_t i = slot_.slot + 1; i < parameters.size(); ++i) {
      const std::array number = {
          rewriter_.builder().MakeInt(AttributeKey::kParameterNumber, static_cast<int64_t>(i) - 1)};
      const InstructionId moved = AddLike(parameters[i], module_.shape(parameters[i]), {}, number);
      rewriter_.ReplaceAllUses(parameters[i], moved);
      rewriter_.Remove(parameters[i]);
    }
    rewriter_.Remove(parameters[slot_.slot]);
    std::vector<InstructionId> operands = rewriter_.operands(slot_.call);
    operands.erase(operands.begin() + slot_.slot);
    rewriter_.ReplaceAllUses(slot_.call, AddLike(slot_.call, module_.shape(slot_.call), operands,
                                                 Attributes(slot_.call)));
  }

  // The elements of `state` but one, of the state that `smaller` is.
  void MoveElements(InstructionId state, InstructionId smaller) {
    for (const InstructionId user : rewriter_.users(state)) {
      const uint32_t index = IndexOf(module_, user);
      if (index == slot_.slot) continue;
      const std::array attribute = {rewriter_.builder().MakeInt(
          AttributeKey::kIndex, static_cast<int64_t>(index > slot_.slot ? index - 1 : index))};
      rewriter_.ReplaceAllUses(user, AddLike(user, module_.shape(user), {&smaller, 1}, attribute));
    }
  }

  void OfComputation(ComputationId computation, const Shape& shape, bool makes_state) {
    const StateUse use(module_, computation);
    if (makes_state) {
      std::vector<InstructionId> next = rewriter_.operands(use.root());
      next.erase(next.begin() + slot_.slot);
      rewriter_.SetRoot(computation, AddLike(use.root(), shape, next, {}));
      rewriter_.Remove(use.root());
    }
    const InstructionId parameter =
        AddLike(use.parameter(), shape, {}, Attributes(use.parameter()));
    MoveElements(use.parameter(), parameter);
    Drop(use.parameter());
  }

  // With what it has left of users, which nothing uses.
  void Drop(InstructionId id) {
    std::vector<InstructionId> open = rewriter_.users(id);
    rewriter_.Remove(id);
    while (!open.empty()) {
      const InstructionId user = open.back();
      open.pop_back();
      if (rewriter_.removed(user)) continue;
      const std::vector<InstructionId> more = rewriter_.users(user);
      open.insert(open.end(), more.begin(), more.end());
      rewriter_.Remove(user);
    }
  }

  void OfLoop() {
    Shape shape = module_.shape(slot_.call);
    shape.RemoveElement(static_cast<size_t>(slot_.slot));
    const hlo::Instruction& call = module_[slot_.call];
    OfComputation(module_.GetComputation(call, AttributeKey::kBody), shape, true);
    OfComputation(module_.GetComputation(call, AttributeKey::kCondition), shape, false);
    const InstructionId init = rewriter_.operands(slot_.call)[0];
    const InstructionId loop =
        AddLike(slot_.call, shape, std::array{InitWithout(init, shape)}, Attributes(slot_.call));
    MoveElements(slot_.call, loop);
  }

  InstructionId InitWithout(InstructionId init, const Shape& shape) {
    std::vector<InstructionId> parts;
    const bool is_tuple =
        init.index < module_.instructions().size() && module_[init].opcode == Opcode::kTuple;
    if (is_tuple) parts = rewriter_.operands(init);
    for (size_t i = 0; !is_tuple && i < shape.elements().size() + 1; ++i) {
      const std::array attribute = {
          rewriter_.builder().MakeInt(AttributeKey::kIndex, static_cast<int64_t>(i))};
      const Shape& element = module_.shape(slot_.call).elements()[i];
      parts.push_back(rewriter_.Add(module_[slot_.call].computation, edit_.FreeName("element"),
                                    Opcode::kGetTupleElement, element, {&init, 1}, attribute));
    }
    parts.erase(parts.begin() + slot_.slot);
    return rewriter_.Add(module_[slot_.call].computation, edit_.FreeName("state"), Opcode::kTuple,
                         shape, parts);
  }

  Edit& edit_;
  hlo::Rewriter& rewriter_;
  const Module& module_;
  Slot slot_;
};

}  // namespace

void DropCarried(Search& search) {
  // One at a time: a slot that goes moves the others of its call.
  for (bool dropped = true; dropped && !search.stopped();) {
    const Candidate from = search.best();
    const std::vector<Slot> slots = SlotsOf(*from.module);
    dropped = search
                  .First(
                      slots.size(),
                      [&](size_t i) {
                        Edit edit(from);
                        SlotRemoval(edit, slots[i]).Run();
                        return edit.Finish();
                      },
                      Search::Need::kNotLarger)
                  .has_value();
  }
}

}  // namespace hloscope::debug
