// Reductions of operations on several arrays at once: arrays of a sort, reduction, window or
// scatter whose results nobody looks at, and which the others do not need.
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

// Array `slot` of a call: which of its operands and of its callee's parameters are that array's.
struct ArraySlot {
  InstructionId call;
  uint32_t slot = 0;
  std::array<uint32_t, 2> operands, parameters;
  bool is_made = false;  // the callee makes a tuple with an element for each array
};

ArraySlot SlotOf(const Module& module, InstructionId call, uint32_t slot, uint32_t count) {
  if (module[call].opcode == Opcode::kSort) {
    return {call, slot, {slot, slot}, {2 * slot, 2 * slot + 1}, false};
  }
  const uint32_t indices = module[call].opcode == Opcode::kScatter ? 1 : 0;
  return {call, slot, {slot, count + indices + slot}, {slot, count + slot}, true};
}

bool Holds(const std::array<uint32_t, 2>& numbers, uint32_t number) {
  return number == numbers[0] || number == numbers[1];
}

uint32_t ElementOf(const Module& module, InstructionId id) {
  return static_cast<uint32_t>(module.GetInt(module[id], AttributeKey::kIndex));
}

// True if what the callee gives to the other arrays does not depend on this one's parameters.
bool OthersDoWithout(const Module& module, const ArraySlot& array, ComputationId callee) {
  const std::vector<InstructionId> parameters = module.Parameters(callee);
  const InstructionId root = module[callee].root;
  std::vector<InstructionId> open;
  if (array.is_made) {
    if (module[root].opcode != Opcode::kTuple) return false;
    const auto made = module.operands(root);
    for (uint32_t i = 0; i < made.size(); ++i) {
      if (i != array.slot) open.push_back(made[i]);
    }
  } else {
    open.push_back(root);
  }
  std::vector<bool> seen(module.instructions().size(), false);
  while (!open.empty()) {
    const InstructionId id = open.back();
    open.pop_back();
    if (seen[id.index]) continue;
    seen[id.index] = true;
    const auto operands = module.operands(id);
    open.insert(open.end(), operands.begin(), operands.end());
  }
  return std::ranges::none_of(array.parameters, [&](uint32_t number) {
    return number >= parameters.size() || seen[parameters[number].index];
  });
}

void AppendArrays(const Module& module, InstructionId id, const hlo::UserIndex& users,
                  std::vector<ArraySlot>& arrays) {
  constexpr Opcode kKinds[] = {Opcode::kSort, Opcode::kReduce, Opcode::kReduceWindow,
                               Opcode::kScatter};
  const bool is_kind = std::ranges::find(kKinds, module[id].opcode) != std::end(kKinds);
  if (!is_kind || !module.shape(id).IsTuple() || module[module[id].computation].root == id) return;
  const std::vector<ComputationId> callees = module.CalledComputations(module[id]);
  if (callees.size() != 1 || hlo::CallGraphOf(module).OnlyCaller(callees[0]) != id) return;
  const auto readers = users.users(id);
  const bool by_elements = std::ranges::all_of(
      readers, [&](InstructionId u) { return module[u].opcode == Opcode::kGetTupleElement; });
  const auto count = static_cast<uint32_t>(module.shape(id).elements().size());
  for (uint32_t slot = 0; by_elements && count > 1 && slot < count; ++slot) {
    const ArraySlot array = SlotOf(module, id, slot, count);
    const bool is_read = std::ranges::any_of(
        readers, [&](InstructionId reader) { return ElementOf(module, reader) == slot; });
    if (!is_read && OthersDoWithout(module, array, callees[0])) arrays.push_back(array);
  }
}

std::vector<ArraySlot> ArraysOf(const Module& module) {
  const hlo::UserIndex users(module);
  std::vector<ArraySlot> arrays;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    AppendArrays(module, InstructionId(i), users, arrays);
  }
  return arrays;
}

// Takes one array out of a call and its callee.
class ArrayRemoval {
 public:
  ArrayRemoval(Edit& edit, const ArraySlot& array)
      : rewriter_(edit.rewriter()), module_(edit.module()), array_(array) {}

  void Run() {
    const ComputationId callee = module_.CalledComputations(module_[array_.call])[0];
    if (array_.is_made) MakeWithout(callee);
    TakeWithout(callee);
    std::vector<InstructionId> operands;
    for (uint32_t i = 0; i < module_.operands(array_.call).size(); ++i) {
      if (!Holds(array_.operands, i)) operands.push_back(rewriter_.operands(array_.call)[i]);
    }
    Shape shape = module_.shape(array_.call);
    shape.RemoveElement(static_cast<size_t>(array_.slot));
    if (shape.elements().size() == 1) shape = Shape(shape.elements()[0]);
    const InstructionId call =
        AddLike(array_.call, shape, operands, module_.attributes(module_[array_.call]));
    for (const InstructionId reader : rewriter_.users(array_.call)) Read(reader, call, shape);
  }

 private:
  InstructionId AddLike(InstructionId id, Shape shape, std::span<const InstructionId> operands,
                        std::span<const hlo::Attribute> attributes) {
    const std::vector<hlo::Attribute> own(attributes.begin(), attributes.end());
    return rewriter_.Add(module_[id].computation, module_.name(id), module_[id].opcode,
                         std::move(shape), operands, own);
  }

  void MakeWithout(ComputationId callee) {
    const InstructionId root = module_[callee].root;
    std::vector<InstructionId> made = rewriter_.operands(root);
    made.erase(made.begin() + array_.slot);
    if (made.size() == 1) {
      rewriter_.SetRoot(callee, made[0]);
    } else {
      Shape shape = module_.shape(root);
      shape.RemoveElement(static_cast<size_t>(array_.slot));
      rewriter_.SetRoot(callee, AddLike(root, std::move(shape), made, {}));
    }
    rewriter_.Remove(root);
  }

  void TakeWithout(ComputationId callee) {
    const std::vector<InstructionId> parameters = module_.Parameters(callee);
    int64_t number = 0;
    for (uint32_t i = 0; i < parameters.size(); ++i) {
      if (Holds(array_.parameters, i)) {
        Drop(parameters[i]);
        continue;
      }
      const std::array attribute = {
          rewriter_.builder().MakeInt(AttributeKey::kParameterNumber, number++)};
      const InstructionId moved =
          AddLike(parameters[i], module_.shape(parameters[i]), {}, attribute);
      rewriter_.ReplaceAllUses(parameters[i], moved);
      rewriter_.Remove(parameters[i]);
    }
  }

  // With what it has left of users, which nothing uses.
  void Drop(InstructionId id) {
    std::vector<InstructionId> open = {id};
    while (!open.empty()) {
      const InstructionId next = open.back();
      open.pop_back();
      if (rewriter_.removed(next)) continue;
      const std::vector<InstructionId> users = rewriter_.users(next);
      open.insert(open.end(), users.begin(), users.end());
      rewriter_.Remove(next);
    }
  }

  void Read(InstructionId reader, InstructionId call, const Shape& shape) {
    if (!shape.IsTuple()) return rewriter_.ReplaceAllUses(reader, call);
    const uint32_t index = ElementOf(module_, reader);
    const std::array attribute = {rewriter_.builder().MakeInt(
        AttributeKey::kIndex, static_cast<int64_t>(index > array_.slot ? index - 1 : index))};
    rewriter_.ReplaceAllUses(reader, AddLike(reader, module_.shape(reader), {&call, 1}, attribute));
  }

  hlo::Rewriter& rewriter_;
  const Module& module_;
  ArraySlot array_;
};

}  // namespace

void DropArrays(Search& search) {
  // One at a time: an array that goes moves the others of its call.
  for (bool dropped = true; dropped && !search.stopped();) {
    const Candidate from = search.best();
    const std::vector<ArraySlot> arrays = ArraysOf(*from.module);
    const auto make = [&](size_t i) {
      Edit edit(from);
      ArrayRemoval(edit, arrays[i]).Run();
      return edit.Finish();
    };
    dropped = search.First(arrays.size(), make, Search::Need::kNotLarger).has_value();
  }
}

}  // namespace hloscope::debug
