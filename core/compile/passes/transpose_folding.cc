// Dots of a GPU, whose kernels read any layout and any types that they multiply: what only widens
// or transposes their operands, rounds their result or transposes that is theirs.
#include <algorithm>
#include <array>

#include "core/compile/dot_form.h"
#include "core/compile/kernel_rules.h"
#include "core/compile/passes/edit.h"
#include "core/hlo/analysis/users.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

using Dimensions = std::vector<int64_t>;

// By instruction: its only user; invalid where there are several, or it is a computation's root.
std::vector<InstructionId> OnlyUsers(const Module& module) {
  std::vector<InstructionId> only(module.instructions().size());
  for (uint32_t i = 0; i < only.size(); ++i) {
    const auto users = hlo::UsersOf(module).users(InstructionId(i));
    if (users.size() == 1) only[i] = users[0];
  }
  for (const hlo::Computation& computation : module.computations()) {
    only[computation.root.index] = InstructionId();
  }
  return only;
}

bool IsHalf(ElementType type) { return type == ElementType::kBF16 || type == ElementType::kF16; }

// Types whose products tensor cores sum up, exact but for the sum.
bool AreOfTensorCores(ElementType left, ElementType right) {
  const auto is_either = [&](ElementType type) { return left == type || right == type; };
  if (left == right) return IsHalf(left);
  return is_either(ElementType::kBF16) && is_either(ElementType::kF32);
}

// A dot with what is folded into it.
class DotFolding {
 public:
  // `gone`: what became part of a dot before.
  DotFolding(const Module& module, const std::vector<InstructionId>& only_users,
             std::vector<bool>& gone, InstructionId dot)
      : module_(module), only_users_(only_users), gone_(gone), dot_(dot), result_(dot) {
    const hlo::DotDims dims = hlo::DotDimsOf(module, dot);
    for (size_t side = 0; side < 2; ++side) {
      const auto& [batch, sums, group] = dims.side(side);
      batch_[side].assign(batch.begin(), batch.end());
      sums_[side].assign(sums.begin(), sums.end());
      operands_[side] = module.operands(dot)[side];
      users_[side] = {dot, side};
      free_[side] = dims.side(side).Free(module.shape(operands_[side]).rank());
    }
    type_ = module.shape(dot).element_type();
  }

  // Whether there was any.
  bool Fold(const Edit& edit) {
    const std::array<InstructionId, 2> before = operands_;
    for (size_t side = 0; side < 2; ++side) {
      while (FoldTranspose(side)) {
      }
    }
    FoldWidening();
    for (size_t side = 0; side < 2; ++side) {
      while (FoldTranspose(side)) {
      }
    }
    while (FoldUser(edit)) {
    }
    return operands_ != before || result_ != dot_;
  }

  void Write(Edit& edit) {
    const Shape& shape = module_.shape(result_);
    const Dimensions sizes(shape.dimensions().begin(), shape.dimensions().end());
    std::array<InstructionId, 2> operands;
    for (size_t side = 0; side < 2; ++side) {
      operands[side] = edit.operand(users_[side].first, users_[side].second);
    }
    if (is_swapped_) std::swap(operands[0], operands[1]);
    const size_t left = is_swapped_ ? 1 : 0, right = 1 - left;
    edit.Replace(
        result_,
        edit.Add(dot_, "dot", Opcode::kDot, Shape::Array(type_, sizes), operands,
                 hlo::MakeDotDims(edit.rewriter().builder(),
                                  {{batch_[left], sums_[left]}, {batch_[right], sums_[right]}})));
  }

 private:
  ElementType TypeOf(InstructionId id) const { return module_.shape(id).element_type(); }

  void Skip(size_t side, InstructionId from) {
    operands_[side] = module_.operands(from)[0];
    users_[side] = {from, 0};
  }

  // A transpose that leaves the free dimensions in their order.
  bool FoldTranspose(size_t side) {
    const InstructionId from = operands_[side];
    if (module_[from].opcode != Opcode::kTranspose || gone_[from.index]) return false;
    const auto order = module_.GetInts(module_[from], AttributeKey::kDimensions);
    const auto moved = [&](Dimensions dimensions) {
      for (int64_t& d : dimensions) d = order[static_cast<size_t>(d)];
      return dimensions;
    };
    const Dimensions free = moved(free_[side]);
    if (!std::ranges::is_sorted(free)) return false;
    free_[side] = free;
    batch_[side] = moved(batch_[side]);
    sums_[side] = moved(sums_[side]);
    Skip(side, from);
    return true;
  }

  // f32 that was bf16 or f16 on one side or both, where tensor cores multiply what there was.
  void FoldWidening() {
    std::array<InstructionId, 2> narrow = operands_;
    for (InstructionId& operand : narrow) {
      if (module_[operand].opcode != Opcode::kConvert || TypeOf(operand) != ElementType::kF32) {
        continue;
      }
      const InstructionId from = module_.operands(operand)[0];
      if (IsHalf(TypeOf(from))) operand = from;
    }
    const bool sums_in_f32 = type_ == ElementType::kF32 || IsHalf(type_);
    for (const auto& pair : {std::array{narrow[0], narrow[1]}, std::array{narrow[0], operands_[1]},
                             std::array{operands_[0], narrow[1]}}) {
      if (!sums_in_f32 || !AreOfTensorCores(TypeOf(pair[0]), TypeOf(pair[1]))) continue;
      for (size_t side = 0; side < 2; ++side) {
        if (pair[side] != operands_[side]) Skip(side, operands_[side]);
      }
      return;
    }
  }

  // What alone uses the result: rounds it from f32 to 16 bits, or makes rows of its columns.
  bool FoldUser(const Edit& edit) {
    const InstructionId reader = only_users_[result_.index];
    if (!reader.valid() || edit.IsPinned(reader)) return false;
    const Opcode opcode = module_[reader].opcode;
    const bool is_tensor = AreOfTensorCores(TypeOf(operands_[0]), TypeOf(operands_[1]));
    if (opcode == Opcode::kConvert && type_ == ElementType::kF32 && IsHalf(TypeOf(reader)) &&
        is_tensor) {
      type_ = TypeOf(reader);
      gone_[reader.index] = true;
      result_ = reader;
      return true;
    }
    if (opcode != Opcode::kTranspose || is_swapped_) return false;
    Dimensions order;
    const size_t batch = batch_[0].size(), rows = free_[0].size(), columns = free_[1].size();
    for (size_t d = 0; d < batch; ++d) order.push_back(static_cast<int64_t>(d));
    for (size_t d = 0; d < columns; ++d) order.push_back(static_cast<int64_t>(batch + rows + d));
    for (size_t d = 0; d < rows; ++d) order.push_back(static_cast<int64_t>(batch + d));
    if (!std::ranges::equal(module_.GetInts(module_[reader], AttributeKey::kDimensions), order)) {
      return false;
    }
    is_swapped_ = true;
    gone_[reader.index] = true;
    result_ = reader;
    return true;
  }

  const Module& module_;
  const std::vector<InstructionId>& only_users_;
  std::vector<bool>& gone_;
  InstructionId dot_, result_;
  std::array<InstructionId, 2> operands_;
  std::array<std::pair<InstructionId, size_t>, 2> users_;  // what has it as which operand
  Dimensions batch_[2], sums_[2], free_[2];
  ElementType type_;
  bool is_swapped_ = false;  // left and right
};

}  // namespace

Result<PassResult> FoldTransposesIntoDots(const std::shared_ptr<const Module>& module,
                                          Compilation& out) {
  if (!out.gpu_kernels) return PassResult{};
  const std::vector<InstructionId> only_users = OnlyUsers(*module);
  std::vector<bool> gone(only_users.size(), false);
  return EditEach(module, Opcode::kDot, [&](Edit& edit, InstructionId id) {
    const auto operands = module->operands(id);
    const auto is_whole = [&](InstructionId each) { return IsWholeArray(module->shape(each)); };
    if (operands.size() != 2 || !is_whole(id) || !std::ranges::all_of(operands, is_whole)) return;
    DotFolding folding(*module, only_users, gone, id);
    if (folding.Fold(edit)) folding.Write(edit);
  });
}

}  // namespace hloscope::compile
