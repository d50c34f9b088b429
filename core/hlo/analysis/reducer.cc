// What a computation that reduces does.
#include "core/hlo/analysis/reducer.h"

#include <algorithm>

#include "core/hlo/float_types.h"
#include "core/hlo/grouping.h"

namespace hloscope::hlo {

bool CombinesTwoParameters(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  return operands.size() == 2 && operands[0] != operands[1] &&
         std::ranges::all_of(operands, [&](InstructionId operand) {
           return module[operand].opcode == Opcode::kParameter;
         });
}

std::optional<Opcode> BinaryReducer(const Module& module, ComputationId id) {
  if (!id.valid() || !CombinesTwoParameters(module, module[id].root)) return std::nullopt;
  return module[module[id].root].opcode;
}

std::optional<RoundedFold> RoundedFoldOf(const Module& module, InstructionId id) {
  if (module[id].opcode != Opcode::kReduce || module.operands(id).size() != 2) return std::nullopt;
  const auto opcode = BinaryReducerOf(module, id);
  const Shape& shape = module.shape(id);
  if (!opcode || !shape.IsArray() || !RoundsEachStep(*opcode, shape.element_type())) {
    return std::nullopt;
  }
  const ElementType type = shape.element_type();
  const double value = *opcode == Opcode::kMultiply ? 1 : 0;
  RoundedFold fold{*opcode, std::vector<std::byte>(static_cast<size_t>(StorageBytes(type)))};
  EncodeFloats(type, std::span(&value, 1), fold.neutral);
  return fold;
}

std::optional<Window> FoldWindows(std::span<const int64_t> sizes,
                                  std::span<const int64_t> reduced) {
  Window window;
  window.dimensions.resize(sizes.size());
  bool is_long = false;
  for (const int64_t d : reduced) {
    const int64_t size = sizes[static_cast<size_t>(d)];
    WindowDimension& w = window.dimensions[static_cast<size_t>(d)];
    w.size = w.stride = std::clamp<int64_t>(size, 1, kFoldWindow);
    const int64_t padding = (size + w.size - 1) / w.size * w.size - size;
    w.padding_low = padding / 2;
    w.padding_high = padding - w.padding_low;
    is_long |= size > kFoldWindow;
  }
  return is_long ? std::optional(std::move(window)) : std::nullopt;
}

std::optional<Opcode> BinaryReducerOf(const Module& module, InstructionId id) {
  return BinaryReducer(module, module.GetComputation(module[id], AttributeKey::kToApply));
}

}  // namespace hloscope::hlo
