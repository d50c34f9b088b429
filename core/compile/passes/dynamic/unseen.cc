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
  const double infinity = std::numeric_limits<double>::infinity();
  const bool is_float = type == ElementType::kF64 || type == ElementType::kF32 ||
                        type == ElementType::kF16 || type == ElementType::kBF16;
  const bool is_small = hlo::IsInteger(type) && hlo::BitWidth(type) <= 32;
  const double top = is_small ? double(int64_t{1} << (hlo::BitWidth(type) - IsSigned(type))) : 0;
  switch (opcode) {
    case Opcode::kAdd:
      if (is_float) return -0.0;
      return IsInteger(type) ? std::optional(0.0) : std::nullopt;
    case Opcode::kMultiply:
      return is_float || hlo::IsInteger(type) ? std::optional(1.0) : std::nullopt;
    case Opcode::kMaximum:
      if (is_float) return -infinity;
      return is_small ? std::optional(IsSigned(type) ? -top : 0.0) : std::nullopt;
    case Opcode::kMinimum:
      if (is_float) return infinity;
      return is_small ? std::optional(top - 1) : std::nullopt;
    case Opcode::kOr:
    case Opcode::kXor:
      return IsInteger(type) || type == ElementType::kPred ? std::optional(0.0) : std::nullopt;
    case Opcode::kAnd:
      return type == ElementType::kPred ? std::optional(1.0) : std::nullopt;
    default:
      return std::nullopt;
  }
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
