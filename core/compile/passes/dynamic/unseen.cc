// What reducers do not see.
#include <algorithm>
#include <limits>

#include "core/compile/passes/dynamic/dynamic_arrays.h"
#include "core/hlo/analysis/reducer.h"

namespace hloscope::compile {

using hlo::ComputationId;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

// What a reducer of that opcode does not see, as a number that converts to the type without loss.
std::optional<double> Unseen(Opcode opcode, ElementType type) {
  const bool is_integer = hlo::IsInteger(type);
  const bool is_float = type == ElementType::kF64 || type == ElementType::kF32 ||
                        type == ElementType::kF16 || type == ElementType::kBF16;
  if (opcode == Opcode::kMaximum || opcode == Opcode::kMinimum) {
    const bool is_maximum = opcode == Opcode::kMaximum;
    const double infinity = std::numeric_limits<double>::infinity();
    if (is_float) return is_maximum ? -infinity : infinity;
    if (!is_integer || hlo::BitWidth(type) > 32) return std::nullopt;
    const double top = double(int64_t{1} << (hlo::BitWidth(type) - IsSigned(type)));
    return is_maximum ? (IsSigned(type) ? -top : 0.0) : top - 1;
  }
  if (type == ElementType::kPred) {
    if (opcode == Opcode::kAnd) return 1.0;
    return opcode == Opcode::kOr || opcode == Opcode::kXor ? std::optional(0.0) : std::nullopt;
  }
  if (opcode == Opcode::kAdd && is_float) return -0.0;
  if (opcode == Opcode::kMultiply)
    return is_float || is_integer ? std::optional(1.0) : std::nullopt;
  const bool is_zero = opcode == Opcode::kAdd || opcode == Opcode::kOr || opcode == Opcode::kXor;
  return is_zero && is_integer ? std::optional(0.0) : std::nullopt;
}

// The opcode that a computation applies to its two parameters.
std::optional<Opcode> Applied(const Module& module, ComputationId id) {
  const InstructionId root = module[id].root;
  const auto has_type_of_root = [&](InstructionId operand) {
    return module.shape(operand).element_type() == module.shape(root).element_type();
  };
  if (!std::ranges::all_of(module.operands(root), has_type_of_root)) return std::nullopt;
  return hlo::BinaryReducer(module, id);
}

}  // namespace

std::optional<double> UnseenBy(const Module& module, ComputationId reducer, ElementType type) {
  const auto opcode = Applied(module, reducer);
  return opcode ? Unseen(*opcode, type) : std::nullopt;
}

}  // namespace hloscope::compile
