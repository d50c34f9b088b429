#include "core/analysis/memory/loop_aliases.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/hlo/attribute.h"
#include "core/hlo/opcode.h"

namespace hloscope::analysis {
namespace {

using hlo::InstructionId;
using hlo::Opcode;
using Index = std::vector<int64_t>;
using Place = std::pair<InstructionId, Index>;

class Aliases {
 public:
  Aliases(const hlo::Module& module, const dump::BufferTable& table)
      : module_(module), first_(table.values.size()) {
    std::iota(first_.begin(), first_.end(), 0);
    for (size_t v = 0; v < table.values.size(); ++v) {
      const dump::BufferValue& value = table.values[v];
      values_.try_emplace({value.instruction, value.shape_index}, static_cast<int32_t>(v));
    }
    for (uint32_t k = 0; k < module.instructions().size(); ++k) {
      const InstructionId id(k);
      if (module[id].opcode != Opcode::kWhile) continue;
      for (const hlo::ComputationId called : module.CalledComputations(module[id])) {
        const auto parameters = module.Parameters(called);
        if (!parameters.empty() && parameters[0].valid()) loops_.emplace(parameters[0], id);
      }
    }
  }

  std::vector<int32_t> Find() {
    for (uint32_t k = 0; k < module_.instructions().size(); ++k) {
      const InstructionId id(k);
      const hlo::Instruction& i = module_[id];
      if (i.opcode != Opcode::kWhile && i.opcode != Opcode::kConditional) continue;
      for (const auto& [index, shape] : module_.shape(id).Leaves()) Join(id, index);
    }
    for (size_t v = 0; v < first_.size(); ++v) first_[v] = Of(static_cast<int32_t>(v));
    return std::move(first_);
  }

 private:
  // All that an element of a loop's state, or of a conditional's result, is.
  void Join(InstructionId id, const Index& index) {
    const hlo::Instruction& i = module_[id];
    std::vector<std::optional<int32_t>> same = {ValueAt(id, index)};
    if (i.opcode == Opcode::kWhile && i.operand_count > 0)
      same.push_back(ValueAt(module_.operands(id)[0], index));
    const auto called = module_.CalledComputations(i);
    for (size_t c = 0; c < called.size(); ++c) {
      const auto parameters = module_.Parameters(called[c]);
      if (i.opcode == Opcode::kWhile && !parameters.empty() && parameters[0].valid())
        same.push_back(ValueAt(parameters[0], index));
      // The body of a loop comes before its condition.
      if (i.opcode != Opcode::kWhile || c == 0)
        same.push_back(ValueAt(module_[called[c]].root, index));
    }
    std::optional<int32_t> known;
    for (const std::optional<int32_t>& value : same) {
      if (value && known) Unite(*value, *known);
      if (value && !known) known = value;
    }
  }

  // The value that is the element `index` of what the instruction gives.
  std::optional<int32_t> ValueAt(InstructionId id, Index index) {
    std::vector<Place> passed;
    const std::optional<int32_t> value = Walk(id, std::move(index), passed);
    for (Place& place : passed) found_.try_emplace(std::move(place), value);
    return value;
  }

  // Takes down where it comes by, so that no part of the way is gone twice.
  std::optional<int32_t> Walk(InstructionId id, Index index, std::vector<Place>& passed) const {
    for (size_t steps = 0; id.valid() && steps <= module_.instructions().size(); ++steps) {
      const auto at = values_.find({std::string(module_.name(id)), index});
      if (at != values_.end()) return at->second;
      const auto known = found_.find({id, index});
      if (known != found_.end()) return known->second;
      passed.emplace_back(id, index);
      const auto operands = module_.operands(id);
      const auto loop = loops_.find(id);
      if (module_[id].opcode == Opcode::kTuple && !index.empty() &&
          static_cast<size_t>(index[0]) < operands.size()) {
        id = operands[static_cast<size_t>(index[0])];
        index.erase(index.begin());
      } else if (module_[id].opcode == Opcode::kGetTupleElement && !operands.empty()) {
        index.insert(index.begin(), module_.GetInt(module_[id], hlo::AttributeKey::kIndex));
        id = operands[0];
      } else if (IsOfOperand(module_[id].opcode) && !operands.empty()) {
        id = operands[0];
      } else if (loop != loops_.end() && module_[loop->second].operand_count > 0) {
        id = module_.operands(loop->second)[0];  // what the loop does not change
      } else {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  // What they give has the memory of their first operand; a loop has a value of its own for what it
  // changes.
  static bool IsOfOperand(Opcode opcode) {
    return opcode == Opcode::kBitcast || opcode == Opcode::kWhile ||
           opcode == Opcode::kOptimizationBarrier || opcode == Opcode::kAddDependency;
  }

  // The first of those that are one; on the way each is led closer to it.
  int32_t Of(int32_t value) {
    const auto next = [&](int32_t v) -> int32_t& { return first_[static_cast<size_t>(v)]; };
    while (next(value) != value) value = next(value) = next(next(value));
    return value;
  }

  void Unite(int32_t a, int32_t b) {
    a = Of(a);
    b = Of(b);
    first_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }

  const hlo::Module& module_;
  std::vector<int32_t> first_;
  std::map<std::pair<std::string, Index>, int32_t> values_;
  std::map<Place, std::optional<int32_t>> found_;  // by ValueAt
  std::map<InstructionId, InstructionId>
      loops_;  // by the parameter of a computation that they call
};

}  // namespace

std::vector<int32_t> LoopAliases(const hlo::Module& module, const dump::BufferTable& table) {
  return Aliases(module, table).Find();
}

}  // namespace hloscope::analysis
