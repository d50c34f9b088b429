// Which elements, and what they become.
#include "core/debug/explain/kernels/telling_operands.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/base/quick_hash.h"
#include "core/eval/numbers/wide.h"

namespace hloscope::debug {

using hlo::ElementType;
using replay::CaseSlice;

namespace {

constexpr uint64_t kOneIn = 64;
constexpr double kLargest = 1024, kLargestNarrow = 128;

// A product of operands that are far larger is infinite in one order and not in another.
bool Multiplies(const hlo::Module& module, hlo::InstructionId reduce) {
  const auto reducer = module.GetComputation(module[reduce], hlo::AttributeKey::kToApply);
  return std::ranges::any_of(module.instructions(module[reducer]), [](const auto& instruction) {
    const hlo::Opcode opcode = instruction.opcode;
    return opcode == hlo::Opcode::kMultiply || opcode == hlo::Opcode::kDivide ||
           opcode == hlo::Opcode::kPower || opcode == hlo::Opcode::kExp;
  });
}

bool ReducesFloats(const hlo::Module& module) {
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const hlo::InstructionId id(i);
    if (module[id].opcode != hlo::Opcode::kReduce || Multiplies(module, id)) continue;
    const hlo::Shape& reduced = module.shape(module.operands(id)[0]);
    if (reduced.IsArray() && hlo::IsFloat(reduced.element_type())) return true;
  }
  return false;
}

bool IsSame(const CaseSlice& a, const CaseSlice& b) {
  return a.region == b.region && a.offset == b.offset && a.bytes == b.bytes;
}

bool Overlap(const CaseSlice& a, const CaseSlice& b) {
  return a.region == b.region && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

bool SharesPartOfAnother(const std::vector<CaseSlice>& slices) {
  for (size_t i = 0; i < slices.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (Overlap(slices[i], slices[j]) && !IsSame(slices[i], slices[j])) return true;
    }
  }
  return false;
}

// The number of an element decides, so that an array that is handed over twice stays one.
void Enlarge(std::byte* bytes, uint64_t count, ElementType type) {
  const auto width = static_cast<uint64_t>(hlo::StorageBytes(type));
  const bool has_range = type == ElementType::kBF16 || width >= 4;
  const double largest = has_range ? kLargest : kLargestNarrow;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t hash = QuickMix(QuickMix(width, i + 1), width);
    if ((hash >> 32) % kOneIn != 0) continue;
    double value = 0;
    eval::LoadAs(type, bytes + i * width, &value, 1);
    const double share = static_cast<double>(hash & 0xffff) / 0x10000;
    value = std::copysign(largest / 2 * (1 + share), value);
    eval::StoreFrom(type, &value, bytes + i * width, 1);
  }
}

}  // namespace

std::optional<replay::KernelCase> WithTellingOperands(const KernelQuestion& question) {
  if (!ReducesFloats(*question.alone)) return std::nullopt;
  replay::KernelCase told = question.kernels;
  if (SharesPartOfAnother(told.operands)) return std::nullopt;
  bool is_other = false;
  for (size_t i = 0; i < told.operands.size(); ++i) {
    const ElementType type = question.operand_leaves[i].shape.element_type();
    const auto width = hlo::IsFloat(type) ? static_cast<uint64_t>(hlo::StorageBytes(type)) : 0;
    const CaseSlice& slice = told.operands[i];
    // A scalar is no part of a sum.
    if (width < 2 || slice.bytes < width * 8) continue;
    std::byte* const bytes = told.memory[slice.region].data() + slice.offset;
    Enlarge(bytes, slice.bytes / width, type);
    is_other = true;
  }
  if (!is_other) return std::nullopt;
  return told;
}

}  // namespace hloscope::debug
