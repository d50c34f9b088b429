#include "core/debug/explain/diverge/asked_products.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "core/hlo/opcode.h"
#include "core/hlo/rewrite/rewriter.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

struct Bits {
  int exponent, mantissa;
};

// Of operands; none: they stay as they are.
std::optional<Bits> AskedBits(const Module& module, InstructionId id) {
  const hlo::Attribute* const algorithm = module.Find(module[id], AttributeKey::kAlgorithm);
  if (module[id].opcode != Opcode::kDot || algorithm == nullptr) return std::nullopt;
  switch (static_cast<hlo::DotAlgorithm>(algorithm->value)) {
    using enum hlo::DotAlgorithm;
    case kF16F16F16:
    case kF16F16F32:
      return Bits{5, 10};
    case kBF16BF16BF16:
    case kBF16BF16F32:
      return Bits{8, 7};
    case kTF32TF32F32:
      return Bits{8, 10};
    default:
      return std::nullopt;
  }
}

bool HasMoreBits(const Shape& shape, const Bits& asked) {
  const ElementType type = shape.element_type();
  if (!shape.IsArray() || (type != ElementType::kF32 && type != ElementType::kF64)) return false;
  return asked.mantissa < 23;
}

}  // namespace

Result<std::shared_ptr<const Module>> ProductsAsAsked(const std::shared_ptr<const Module>& module) {
  hlo::Rewriter rewriter(module);
  int64_t names = 0;
  for (uint32_t i = 0; i < module->instructions().size(); ++i) {
    const InstructionId dot(i);
    const auto bits = AskedBits(*module, dot);
    if (!bits) continue;
    for (uint32_t slot = 0; slot < 2; ++slot) {
      const Shape& shape = module->shape(module->operands(dot)[slot]);
      if (!HasMoreBits(shape, *bits)) continue;
      const InstructionId operand = rewriter.operands(dot)[slot];
      const std::array attributes = {
          rewriter.builder().MakeInt(AttributeKey::kExponentBits, bits->exponent),
          rewriter.builder().MakeInt(AttributeKey::kMantissaBits, bits->mantissa)};
      rewriter.SetOperand(
          dot, slot,
          rewriter.Add((*module)[dot].computation, "asked." + std::to_string(names++),
                       Opcode::kReducePrecision, shape, {&operand, 1}, attributes));
    }
  }
  if (names == 0) return nullptr;
  HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult made, rewriter.Finish());
  return std::move(made.module);
}

}  // namespace hloscope::debug
