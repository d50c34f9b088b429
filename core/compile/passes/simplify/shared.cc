// What rules share: constants and new instructions.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/compile/passes/simplify/rules.h"
#include "core/hlo/float_types.h"
#include "core/hlo/scalar_literal.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::Shape;

namespace {

// Chains of broadcasts are short once they have been simplified.
constexpr int kMaxBroadcasts = 4;

bool HasExactDouble(ElementType type) { return IsFloat(type) && BitWidth(type) >= 16; }

InstructionId FilledWith(Edit& edit, InstructionId like, const Shape& shape,
                         std::vector<std::byte> element) {
  const Shape wanted = shape;
  const InstructionId scalar = edit.AddScalar(like, wanted.element_type(), std::move(element));
  if (wanted.IsScalar()) return scalar;
  return WithInts(edit, like, Opcode::kBroadcast, wanted, scalar, AttributeKey::kDimensions, {});
}

}  // namespace

std::optional<Number> NumberOf(Edit& edit, InstructionId id) {
  for (int k = 0; k < kMaxBroadcasts && edit.opcode(id) == Opcode::kBroadcast; ++k) {
    id = edit.operand(id, 0);
  }
  if (edit.opcode(id) != Opcode::kConstant || !edit.shape(id).IsScalar()) return std::nullopt;
  const hlo::Attribute* value = edit.Find(id, AttributeKey::kConstantValue);
  if (value == nullptr) return std::nullopt;
  const auto& literal = edit.values().Of<hlo::Literal>(*value);
  Number number{.type = edit.shape(id).element_type()};
  if (literal.elided() || literal.shape().element_type() != number.type) return std::nullopt;
  if (HasExactDouble(number.type)) {
    hlo::DecodeFloats(number.type, literal.bytes(), std::span(&number.real, 1));
    return number;
  }
  const auto size = static_cast<size_t>(StorageBytes(number.type));
  if (!IsInteger(number.type) && number.type != ElementType::kPred) return std::nullopt;
  if (BitWidth(number.type) < 8) return std::nullopt;
  std::memcpy(&number.integer, literal.bytes().data(), size);  // little endian
  if (IsSigned(number.type) && size < 8) {
    const int shift = static_cast<int>(64 - 8 * size);
    number.integer = static_cast<int64_t>(static_cast<uint64_t>(number.integer) << shift) >> shift;
  }
  return number;
}

std::optional<std::vector<int64_t>> IntegersOf(Edit& edit, InstructionId id) {
  const auto count = static_cast<size_t>(edit.shape(id).ElementCount().value_or(0));
  if (const auto number = NumberOf(edit, id)) {
    if (!hlo::IsInteger(number->type) || (IsUnsigned(number->type) && number->integer < 0)) {
      return std::nullopt;
    }
    return std::vector<int64_t>(count, number->integer);
  }
  while (edit.opcode(id) == Opcode::kReshape) id = edit.operand(id, 0);
  const hlo::Attribute* value =
      edit.opcode(id) == Opcode::kConstant ? edit.Find(id, AttributeKey::kConstantValue) : nullptr;
  if (value == nullptr || edit.shape(id).element_type() != hlo::ElementType::kS32) {
    return std::nullopt;
  }
  const auto& literal = edit.values().Of<hlo::Literal>(*value);
  if (literal.elided() || literal.bytes().size() != count * sizeof(int32_t)) return std::nullopt;
  std::vector<int32_t> numbers(count);
  std::memcpy(numbers.data(), literal.bytes().data(), literal.bytes().size());
  return std::vector<int64_t>(numbers.begin(), numbers.end());
}

bool IsAll(Edit& edit, InstructionId id, double value) {
  const auto number = NumberOf(edit, id);
  if (!number) return false;
  if (IsFloat(number->type)) {
    return number->real == value && std::signbit(number->real) == std::signbit(value);
  }
  return std::abs(value) < 0x1p53 && number->integer == static_cast<int64_t>(value);
}

InstructionId Filled(Edit& edit, InstructionId like, const Shape& shape, double value) {
  const hlo::Literal scalar = hlo::ScalarLiteral(shape.element_type(), value);
  return FilledWith(edit, like, shape, {scalar.bytes().begin(), scalar.bytes().end()});
}

InstructionId ZeroBytes(Edit& edit, InstructionId like, const Shape& shape) {
  return FilledWith(
      edit, like, shape,
      std::vector<std::byte>(static_cast<size_t>(StorageBytes(shape.element_type()))));
}

InstructionId WithInts(Edit& edit, InstructionId like, Opcode opcode, const Shape& shape,
                       InstructionId operand, AttributeKey key, std::span<const int64_t> values) {
  const Shape wanted = shape;
  const hlo::Attribute list = edit.rewriter().builder().MakeInts(key, values);
  return edit.Add(like, ToString(opcode), opcode, wanted, {operand}, {list});
}

bool SameArray(const Shape& a, const Shape& b) {
  return a.IsArray() && b.IsArray() && a.element_type() == b.element_type() &&
         std::ranges::equal(a.dimensions(), b.dimensions());
}

}  // namespace hloscope::compile
