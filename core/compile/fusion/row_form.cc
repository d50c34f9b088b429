#include "core/compile/fusion/row_form.h"

#include <algorithm>
#include <numeric>

#include "core/compile/kernel_rules.h"
#include "core/hlo/analysis/reducer.h"
#include "core/hlo/grouping.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

// A row stays in the cache while it is gone through, and is worth vectors.
constexpr int64_t kLongestRow = 1 << 15;
constexpr int kMaxStages = 8;

int64_t Count(const Shape& shape) { return shape.ElementCount().value_or(0); }

class Finder {
 public:
  Finder(const Module& module, std::span<const InstructionId> instructions)
      : module_(module), instructions_(instructions) {}

  std::optional<RowForm> Find(std::span<const InstructionId> roots) {
    const auto reduce = std::ranges::find_if(
        instructions_, [&](InstructionId id) { return module_[id].opcode == Opcode::kReduce; });
    if (reduce == instructions_.end() || !TakeRows(*reduce)) return {};
    for (const InstructionId id : instructions_) {
      if (!Add(id)) return {};
    }
    const auto is_reduce = [&](InstructionId id) { return module_[id].opcode == Opcode::kReduce; };
    const bool are_siblings = std::ranges::all_of(roots, is_reduce) &&
                              std::ranges::all_of(form_.stages, [](int s) { return s <= 1; });
    const auto is_written = [&](InstructionId root) { return IsWritten(root); };
    if (are_siblings || !std::ranges::all_of(roots, is_written)) return {};
    return std::move(form_);
  }

 private:
  std::span<const int64_t> sizes() const {
    return module_.shape(module_.operands(form_.first_reduce)[0]).dimensions();
  }

  // Rows are the last dimension of more than one element, and all that are reduced.
  bool TakeRows(InstructionId reduce) {
    form_.first_reduce = reduce;
    const auto all = sizes();
    size_t row = all.size();
    while (row > 0 && all[row - 1] == 1) --row;
    if (row == 0) return false;
    form_.leading = row - 1;
    form_.row_size = all[row - 1];
    const auto before = all.first(row - 1);
    form_.rows = std::accumulate(before.begin(), before.end(), int64_t{1}, std::multiplies<>());
    return form_.row_size <= kLongestRow;
  }

  // The position among the instructions, or -1.
  int64_t PositionOf(InstructionId id) const {
    const auto found = std::ranges::lower_bound(instructions_, id);
    return found != instructions_.end() && *found == id ? found - instructions_.begin() : -1;
  }
  RowRole RoleOf(InstructionId id) const {
    const int64_t k = PositionOf(id);
    return k < 0 ? RowRole::kFree : form_.roles[static_cast<size_t>(k)];
  }

  bool Add(InstructionId id) {
    int stage = 0;
    bool is_free = true;
    for (const InstructionId operand : module_.operands(id)) {
      const int64_t k = PositionOf(operand);
      if (k < 0) continue;
      stage = std::max(stage, form_.stages[static_cast<size_t>(k)]);
      is_free &= form_.roles[static_cast<size_t>(k)] == RowRole::kFree;
    }
    if (module_[id].opcode == Opcode::kReduce) {
      return IsReduceOfRows(id) && Take(RowRole::kOfRow, stage + 1);
    }
    if (!IsElemental(module_, id)) return false;
    if (is_free) return Take(RowRole::kFree, 0);
    if (HasRole(id, RowRole::kInRow)) return Take(RowRole::kInRow, stage);
    return HasRole(id, RowRole::kOfRow) && Take(RowRole::kOfRow, stage);
  }
  bool Take(RowRole role, int stage) {
    form_.roles.push_back(role);
    form_.stages.push_back(stage);
    return stage < kMaxStages;
  }

  // True for an associative operation of the two parameters.
  bool IsOneOperation(hlo::ComputationId applied) const {
    const InstructionId root = module_[applied].root;
    return hlo::CombinesInAnyGrouping(module_[root].opcode, module_.shape(root).element_type()) &&
           hlo::CombinesTwoParameters(module_, root);
  }

  bool IsReduceOfRows(InstructionId id) const {
    const auto operands = module_.operands(id);
    const auto applied = module_.GetComputation(module_[id], AttributeKey::kToApply);
    if (operands.size() != 2 || !IsKernelRoot(module_, id) || !IsOneOperation(applied) ||
        RoleOf(operands[1]) != RowRole::kFree ||
        !std::ranges::equal(module_.shape(operands[0]).dimensions(), sizes())) {
      return false;
    }
    int64_t reduced = 1;
    for (const int64_t d : module_.GetInts(module_[id], AttributeKey::kDimensions)) {
      reduced *= sizes()[static_cast<size_t>(d)];
    }
    const auto dimensions = module_.GetInts(module_[id], AttributeKey::kDimensions);
    const auto row = static_cast<int64_t>(form_.leading);
    return reduced == form_.row_size && Count(module_.shape(id)) == form_.rows &&
           std::ranges::find(dimensions, row) != dimensions.end();
  }

  // True if the instruction, which depends on a reduce, is of that role.
  bool HasRole(InstructionId id, RowRole role) const {
    const Shape& shape = module_.shape(id);
    const bool fits = role == RowRole::kInRow ? std::ranges::equal(shape.dimensions(), sizes())
                                              : Count(shape) == form_.rows;
    if (!fits) return false;
    const Opcode opcode = module_[id].opcode;
    if (opcode == Opcode::kBroadcast) return IsSpread(id, role);
    const bool keeps_order = opcode == Opcode::kReshape || opcode == Opcode::kBitcast;
    if (keeps_order && role != RowRole::kOfRow) return false;
    if (!keeps_order && Info(opcode).category != hlo::Category::kElementwise) return false;
    return std::ranges::all_of(module_.operands(id), [&](InstructionId operand) {
      const RowRole own = RoleOf(operand);
      return own == role || own == RowRole::kFree;
    });
  }

  // A value of each row for all elements of the row, or under other dimensions of one element.
  bool IsSpread(InstructionId id, RowRole role) const {
    const InstructionId operand = module_.operands(id)[0];
    if (RoleOf(operand) != RowRole::kOfRow) return false;
    const auto from = module_.shape(operand).dimensions(), to = module_.shape(id).dimensions();
    const auto dimensions = module_.GetInts(module_[id], AttributeKey::kDimensions);
    const size_t end = role == RowRole::kInRow ? form_.leading : to.size();
    std::vector<int64_t> read;  // dimensions of more than one element
    for (size_t d = 0; d < from.size(); ++d) {
      if (from[d] != 1) read.push_back(dimensions[d]);
    }
    std::vector<int64_t> rows;
    for (size_t d = 0; d < end; ++d) {
      if (to[d] != 1) rows.push_back(static_cast<int64_t>(d));
    }
    return read == rows;
  }

  bool IsWritten(InstructionId root) const {
    return RoleOf(root) == RowRole::kOfRow ||
           std::ranges::equal(module_.shape(root).dimensions(), sizes());
  }

  const Module& module_;
  std::span<const InstructionId> instructions_;
  RowForm form_;
};

}  // namespace

std::optional<RowForm> RowFormOf(const Module& module, std::span<const InstructionId> instructions,
                                 std::span<const InstructionId> roots) {
  return Finder(module, instructions).Find(roots);
}

}  // namespace hloscope::compile
