// Constants among the operands, and the expander of the target.
#include "core/hlo/expand/expand.h"

#include <cstring>
#include <vector>

#include "core/hlo/expand/custom_calls.h"

namespace hloscope::hlo::expand {
namespace {

// The value of a constant that is an integer scalar.
std::optional<int64_t> ConstantInteger(const Module& module, InstructionId id) {
  const auto* const literal = module.Get<Literal>(module[id], AttributeKey::kConstantValue);
  if (literal == nullptr || literal->elided()) return std::nullopt;
  const ElementType type = literal->shape().element_type();
  int64_t value = 0;
  std::memcpy(&value, literal->bytes().data(), literal->bytes().size());  // little endian
  if (!IsSigned(type)) return value;
  const int shift = 64 - 8 * static_cast<int>(literal->bytes().size());
  return static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
}

}  // namespace

Result<ModulePtr> Expand(const Module& module, InstructionId id) {
  std::vector<std::optional<int64_t>> integers;
  for (const InstructionId operand : module.operands(id)) {
    const Shape& shape = module.shape(operand);
    if (!shape.IsArray() || !shape.is_static()) return nullptr;
    std::optional<int64_t>& integer = integers.emplace_back();
    if (!shape.IsScalar() || !IsInteger(shape.element_type())) continue;
    // An option, as older calls of LAPACK have them.
    integer = ConstantInteger(module, operand);
    if (!integer) return nullptr;
  }
  return Expand(module, id, integers);
}

Result<ModulePtr> Expand(const Module& module, InstructionId id,
                         std::span<const std::optional<int64_t>> integers) {
  const CustomCallRow* const row = FindCustomCall(module, id);
  if (row == nullptr || row->expand == nullptr) return nullptr;
  return row->expand(CallSite(module, id, integers));
}

}  // namespace hloscope::hlo::expand
