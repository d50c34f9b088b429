// LaneKernel: from an elementwise instruction to the loop that computes it.
#include "core/eval/loops/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/eval/machine/strided_copy.h"
#include "core/eval/numbers/wide.h"
#include "core/hlo/comparison.h"

namespace hloscope::eval {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::Opcode;

namespace {

constexpr int64_t kBlock = 256;
constexpr size_t kMaxElementBytes = 16;

bool IsNarrowInteger(ElementType type) { return hlo::IsInteger(type) && hlo::BitWidth(type) < 8; }

bool IsHalf(ElementType type) { return IsNarrowFloat(type) && hlo::BitWidth(type) == 16; }

int ExponentBits(ElementType type) {
  switch (type) {
    case ElementType::kF64:
      return 11;
    case ElementType::kF32:
    case ElementType::kBF16:
      return 8;
    case ElementType::kF16:
    case ElementType::kF8E5M2:
    case ElementType::kF8E5M2FNUZ:
      return 5;
    case ElementType::kF8E3M4:
    case ElementType::kF6E3M2FN:
      return 3;
    case ElementType::kF6E2M3FN:
    case ElementType::kF4E2M1FN:
      return 2;
    case ElementType::kF8E8M0FNU:
      return 8;
    default:
      return 4;
  }
}

struct Choice {
  LaneLoop loop;
  int operands;
};

Choice ChooseLoop(const hlo::Module& module, const hlo::Instruction& instruction,
                  ElementType operand, ElementType loop_type) {
  const Opcode opcode = instruction.opcode;
  if (opcode == Opcode::kSelect) return {FindSelectLoop(hlo::StorageBytes(operand)), 3};
  if (opcode == Opcode::kClamp) return {FindClampLoop(loop_type), 3};
  if (opcode == Opcode::kReducePrecision) {
    return {FindReducePrecisionLoop(IsHalf(operand) ? operand : loop_type), 1};
  }
  if (opcode == Opcode::kCompare) {
    const auto direction =
        static_cast<hlo::ComparisonDirection>(module.GetInt(instruction, AttributeKey::kDirection));
    const bool total = hlo::IsTotalOrder(module, instruction);
    const ElementType type = total && IsNarrowFloat(operand) ? operand : loop_type;
    return {FindCompareLoop(direction, total, type), 2};
  }
  if (instruction.operand_count == 1) return {FindUnaryLoop(opcode, loop_type), 1};
  return {FindBinaryLoop(opcode, loop_type), 2};
}

// The bits of one type as another of the same width.
template <typename T>
void CopyLanes(const Lanes& lanes) {
  std::memmove(lanes.out, lanes.in[0], static_cast<size_t>(lanes.count) * sizeof(T));
}

// Null where the widths differ or there are bits to be looked after.
LaneLoop FindBitcastLoop(ElementType from, ElementType to) {
  if (hlo::BitWidth(from) != hlo::BitWidth(to) || hlo::BitWidth(from) < 8) return nullptr;
  return WithBytes(hlo::StorageBytes(to), []<typename T>(T) -> LaneLoop { return CopyLanes<T>; });
}

}  // namespace

ElementType LoopType(ElementType type) {
  if (IsNarrowFloat(type)) return ElementType::kF64;
  if (!IsNarrowInteger(type)) return type;
  return hlo::IsSigned(type) ? ElementType::kS8 : ElementType::kU8;
}

Result<LaneKernel> LaneKernel::Find(const hlo::Module& module,
                                    const hlo::Instruction& instruction) {
  LaneKernel kernel;
  const auto operands = module.operands(instruction);
  for (size_t i = 0; i < std::min<size_t>(operands.size(), 3); ++i) {
    kernel.operands_[i] = module.shape(operands[i]).element_type();
  }
  kernel.operand_count_ = static_cast<int>(operands.size());
  kernel.result_ = module[instruction.shape].element_type();
  if (instruction.opcode == Opcode::kConvert) return kernel;
  if (instruction.opcode == Opcode::kBitcast || instruction.opcode == Opcode::kBitcastConvert) {
    kernel.loop_ = FindBitcastLoop(kernel.operands_[0], kernel.result_);
    if (kernel.loop_ == nullptr) return UnsupportedError("bitcasts of other widths have no loop");
    return kernel;
  }
  const bool is_select = instruction.opcode == Opcode::kSelect;
  const ElementType operand = kernel.operands_[is_select ? 1 : 0];
  const Choice choice = ChooseLoop(module, instruction, operand, LoopType(operand));
  if (choice.loop == nullptr || choice.operands != kernel.operand_count_) {
    return UnsupportedError(fmt::format("{} is not defined for {}",
                                        hlo::ToString(instruction.opcode), hlo::ToString(operand)));
  }
  kernel.loop_ = choice.loop;
  // The total order of narrow floats is one of bits, and f16 and bf16 are rounded as they are.
  const bool by_bits =
      is_select ||
      (instruction.opcode == Opcode::kCompare && hlo::IsTotalOrder(module, instruction)) ||
      (instruction.opcode == Opcode::kReducePrecision && IsHalf(operand));
  kernel.narrow_ = !by_bits && IsNarrowFloat(operand);
  kernel.wrap_ = !is_select && IsNarrowInteger(kernel.result_);
  kernel.shared_.bits = hlo::BitWidth(operand);
  const auto exponent = static_cast<int>(module.GetInt(instruction, AttributeKey::kExponentBits));
  kernel.shared_.exponent_bits = exponent >= ExponentBits(operand) ? 11 : exponent;
  kernel.shared_.mantissa_bits = static_cast<int>(
      std::clamp<int64_t>(module.GetInt(instruction, AttributeKey::kMantissaBits), 0, 52));
  return kernel;
}

void LaneKernel::Run(std::array<const std::byte*, 3> in, std::byte* out, int64_t count) const {
  if (loop_ == nullptr) return ConvertElements(operands_[0], in[0], result_, out, count);
  if (narrow_) return RunNarrow(in, out, count);
  Lanes lanes = shared_;
  lanes.in = in;
  lanes.out = out;
  lanes.count = count;
  loop_(lanes);
  if (!wrap_) return;
  const int bits = hlo::BitWidth(result_);
  for (int64_t i = 0; i < count; ++i) {
    const auto low = static_cast<uint64_t>(out[i]);
    out[i] = hlo::IsSigned(result_)
                 ? static_cast<std::byte>(SignExtend(static_cast<int64_t>(low), bits))
                 : static_cast<std::byte>(ZeroExtend(low, bits));
  }
}

void LaneKernel::RunNarrow(std::array<const std::byte*, 3> in, std::byte* out,
                           int64_t count) const {
  double wide[3][kBlock];
  alignas(16) std::byte result[kBlock * kMaxElementBytes];
  Lanes lanes = shared_;
  lanes.out = result;
  for (int64_t done = 0; done < count; done += kBlock) {
    lanes.count = std::min(kBlock, count - done);
    for (int i = 0; i < operand_count_; ++i) {
      const auto k = static_cast<size_t>(i);
      LoadAs<double>(operands_[k], in[k] + done * hlo::StorageBytes(operands_[k]), wide[i],
                     lanes.count);
      lanes.in[k] = reinterpret_cast<const std::byte*>(wide[i]);
    }
    loop_(lanes);
    ConvertElements(LoopType(result_), result, result_, out + done * hlo::StorageBytes(result_),
                    lanes.count);
  }
}

}  // namespace hloscope::eval
