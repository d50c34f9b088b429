#include "core/debug/explain/diverge/moved_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/quick_hash.h"
#include "core/eval/numbers/wide.h"
#include "core/hlo/analysis/cost.h"
#include "core/hlo/float_types.h"
#include "core/hlo/opcode_table.h"
#include "core/hlo/rewrite/rewriter.h"

namespace hloscope::debug {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Rewriter;
using hlo::Shape;

namespace {

// What every library rounds in its own way.
bool IsInexact(Opcode opcode) {
  return opcode == Opcode::kDot || (opcode != Opcode::kRng && hlo::IsTranscendental(opcode));
}

class FunctionMover {
 public:
  FunctionMover(const std::shared_ptr<const Module>& module, uint64_t pattern, bool up)
      : module_(*module), pattern_(pattern), up_(up), rewriter_(module) {}

  Result<std::shared_ptr<const Module>> Run() {
    for (uint32_t i = 0; i < module_.instructions().size(); ++i) Move(InstructionId(i));
    if (moved_ == 0) return nullptr;
    HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult made, rewriter_.Finish());
    return std::move(made.module);
  }

 private:
  void Move(InstructionId id) {
    const Shape& shape = module_.shape(id);
    if (!IsInexact(module_[id].opcode) || !shape.IsArray() || !shape.is_static()) return;
    const double step = StepOf(shape.element_type());
    if (step == 0 || !hlo::IsFloat(shape.element_type())) return;
    const InstructionId factors = Add(id, "factors.", Opcode::kConstant, {}, Factors(shape, step));
    rewriter_.ReplaceAllUses(id, Add(id, "moved.", Opcode::kMultiply, {id, factors}, {}));
    ++moved_;
  }

  InstructionId Add(InstructionId like, std::string_view name, Opcode opcode,
                    const std::vector<InstructionId>& operands,
                    const std::vector<Attribute>& attributes) {
    return rewriter_.Add(module_[like].computation, std::string(name) + std::to_string(moved_),
                         opcode, module_.shape(like).WithoutLayouts(), operands, attributes);
  }

  // A step above 1, or half of one below it, which is the number next to it.
  std::vector<Attribute> Factors(const Shape& shape, double step) {
    const Shape plain = shape.WithoutLayouts();
    const auto width = static_cast<size_t>(hlo::StorageBytes(plain.element_type()));
    std::vector<std::byte> bytes(static_cast<size_t>(plain.ElementCount().value_or(0)) * width);
    for (size_t i = 0; i < bytes.size() / width; ++i) {
      const double factor = MovesAway(pattern_ + moved_, i, up_) ? 1 + step : 1 - step / 2;
      eval::StoreFrom(plain.element_type(), &factor, bytes.data() + i * width, 1);
    }
    return {rewriter_.builder().Make(AttributeKey::kConstantValue,
                                     hlo::Literal::Dense(plain, std::move(bytes)))};
  }

  const Module& module_;
  uint64_t pattern_;
  bool up_;
  Rewriter rewriter_;
  uint64_t moved_ = 0;
};

}  // namespace

double StepOf(ElementType type) {
  type = hlo::RealPart(type);
  if (type == ElementType::kF64) return std::numeric_limits<double>::epsilon();
  if (type == ElementType::kF32) return std::numeric_limits<float>::epsilon();
  const hlo::FloatFormat* const format = hlo::IsFloat(type) ? hlo::FindFloatFormat(type) : nullptr;
  return format == nullptr ? 0 : std::ldexp(1.0, -format->mantissa_bits);
}

bool MovesAway(uint64_t argument, uint64_t element, bool up) {
  constexpr int kMixed = 40;  // a bit that depends on all bits of both
  return (((MixKeys(argument / 2, element) >> kMixed) + argument) % 2 == 0) == up;
}

bool MakesChoices(const Module& module) {
  static constexpr hlo::OpcodeSet kChoices = {
      Opcode::kCeil, Opcode::kCompare,   Opcode::kFloor,
      Opcode::kSign, Opcode::kSort,      Opcode::kRoundNearestAfz,
      Opcode::kTopK, Opcode::kRemainder, Opcode::kRoundNearestEven};
  return std::ranges::any_of(module.instructions(), [&](const hlo::Instruction& instruction) {
    if (instruction.opcode != Opcode::kConvert) return kChoices.Has(instruction.opcode);
    const hlo::Shape& shape = module[instruction.shape];
    return shape.IsArray() && !hlo::IsFloat(hlo::RealPart(shape.element_type()));
  });
}

Result<std::shared_ptr<const Module>> FunctionsMoved(const std::shared_ptr<const Module>& module,
                                                     uint64_t pattern, bool up) {
  return FunctionMover(module, pattern, up).Run();
}

}  // namespace hloscope::debug
