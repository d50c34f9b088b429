// Empty arrays: what has no elements is a constant, and so is what is made of nothing else.
#include <algorithm>

#include "core/compile/kernel_rules.h"
#include "core/compile/passes/edit.h"
#include "core/hlo/float_types.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::Category;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

bool IsEmpty(const Shape& shape) {
  return shape.IsArray() && shape.is_static() && shape.ElementCount() == 0;
}

bool HasEmptyLeaves(const Shape& shape) {
  if (!shape.IsTuple()) return IsEmpty(shape);
  return !shape.elements().empty() && std::ranges::all_of(shape.elements(), IsEmpty);
}

// Its value follows from its operands alone and runs no computation of whole values.
bool IsPure(Opcode opcode) {
  constexpr Category kPure[] = {Category::kElementwise,   Category::kDataMovement,
                                Category::kNormalization, Category::kContraction,
                                Category::kReduction,     Category::kSort,
                                Category::kLinearAlgebra};
  if (opcode == Opcode::kIota) return true;
  return std::ranges::find(kPure, Info(opcode).category) != std::end(kPure) &&
         !HasFlag(opcode, hlo::kFlagStart) && !HasFlag(opcode, hlo::kFlagDone) &&
         !HasTrait(opcode, hlo::kTraitRunsBody) && opcode != Opcode::kDynamicReshape;
}

class EmptyArrays {
 public:
  explicit EmptyArrays(const std::shared_ptr<const Module>& module)
      : module_(*module), edit_(module) {}

  Result<PassResult> Run() {
    edit_.ForEachRunning([&](InstructionId id) {
      if (!IsPure(module_[id].opcode) || !IsStatic(id)) return;
      const InstructionId made = HasEmptyLeaves(module_.shape(id)) ? Nothing(id) : OfNothing(id);
      if (made.valid()) edit_.Replace(id, made);
    });
    return edit_.Finish();
  }

 private:
  bool IsStatic(InstructionId id) const {
    const auto is_static = [](const Shape& shape) { return shape.IsArray() && shape.is_static(); };
    const bool result = std::ranges::all_of(module_.shape(id).results(), is_static);
    return result && std::ranges::all_of(module_.operands(id), [&](InstructionId operand) {
             return is_static(module_.shape(operand));
           });
  }
  bool IsEmptyOperand(InstructionId id, size_t slot) const {
    return IsEmpty(module_.shape(module_.operands(id)[slot]));
  }

  static Shape Plain(const Shape& shape) {
    return PlainArray(shape.element_type(), shape.dimensions());
  }

  InstructionId Nothing(InstructionId like, const Shape& shape) {
    const hlo::Attribute value = edit_.rewriter().builder().Make(
        AttributeKey::kConstantValue, hlo::Literal::Dense(Plain(shape), {}));
    return edit_.Add(like, "constant", Opcode::kConstant, Plain(shape), {}, {value});
  }
  InstructionId Nothing(InstructionId id) {
    const Shape& shape = module_.shape(id);
    if (!shape.IsTuple()) return Nothing(id, shape);
    std::vector<InstructionId> elements;
    for (const Shape& element : shape.elements()) elements.push_back(Nothing(id, element));
    return Tuple(id, elements);
  }
  InstructionId Tuple(InstructionId id, const std::vector<InstructionId>& elements) {
    std::vector<Shape> shapes;
    for (const InstructionId element : elements) shapes.push_back(edit_.shape(element));
    return edit_.Add(id, "tuple", Opcode::kTuple, Shape::Tuple(std::move(shapes)), elements);
  }

  InstructionId Filled(InstructionId like, const Shape& shape, InstructionId scalar) {
    return edit_.Add(like, "broadcast", Opcode::kBroadcast, Plain(shape), {scalar},
                     {edit_.rewriter().builder().MakeInts(AttributeKey::kDimensions, {})});
  }
  // The sum of nothing; not every type has a zero.
  InstructionId EmptySum(InstructionId id) {
    const Shape& shape = module_.shape(id);
    if (shape.element_type() != hlo::ElementType::kF8E8M0FNU) return Zeros(id);
    const auto bits = hlo::EncodeFloat(*hlo::FindFloatFormat(shape.element_type()), 0);
    return Filled(id, shape,
                  edit_.AddScalar(id, shape.element_type(), {static_cast<std::byte>(bits)}));
  }
  InstructionId Zeros(InstructionId id) {
    const Shape& shape = module_.shape(id);
    const auto size = static_cast<size_t>(hlo::StorageBytes(shape.element_type()));
    return Filled(id, shape,
                  edit_.AddScalar(id, shape.element_type(), std::vector<std::byte>(size)));
  }

  // What an instruction with elements makes where an operand has none; invalid where that is no
  // simpler.
  InstructionId OfNothing(InstructionId id) {
    const auto operands = module_.operands(id);
    switch (module_[id].opcode) {
      case Opcode::kConcatenate:
        return Concatenated(id);
      case Opcode::kConvolution:
      case Opcode::kDot:
        return IsEmptyOperand(id, 0) || IsEmptyOperand(id, 1) ? EmptySum(id) : InstructionId();
      case Opcode::kDynamicUpdateSlice:
        return IsEmptyOperand(id, 1) ? edit_.operand(id, 0) : InstructionId();
      case Opcode::kGather:
        return IsEmptyOperand(id, 0) ? Zeros(id) : InstructionId();
      case Opcode::kPad:
        return IsEmptyOperand(id, 0) ? Filled(id, module_.shape(id), edit_.operand(id, 1))
                                     : InstructionId();
      case Opcode::kReduce:
      case Opcode::kReduceWindow:
        return IsEmptyOperand(id, 0) ? InitialValues(id) : InstructionId();
      case Opcode::kScatter:
        return IsEmptyOperand(id, operands.size() - 1) ? ScatterOperands(id) : InstructionId();
      case Opcode::kSelectAndScatter:
        return IsEmptyOperand(id, 1) ? Filled(id, module_.shape(id), edit_.operand(id, 2))
                                     : InstructionId();
      default:
        return {};
    }
  }

  InstructionId Concatenated(InstructionId id) {
    std::vector<InstructionId> kept;
    for (size_t k = 0; k < module_.operands(id).size(); ++k) {
      if (!IsEmptyOperand(id, k)) kept.push_back(edit_.operand(id, k));
    }
    if (kept.size() == module_.operands(id).size()) return {};
    if (kept.size() == 1) return kept[0];
    return edit_.Add(id, "concatenate", Opcode::kConcatenate, Plain(module_.shape(id)), kept,
                     {*edit_.Find(id, AttributeKey::kDimensions)});
  }

  InstructionId InitialValues(InstructionId id) {
    const Shape& shape = module_.shape(id);
    const size_t count = module_.operands(id).size() / 2;
    if (!shape.IsTuple()) return Filled(id, shape, edit_.operand(id, 1));
    std::vector<InstructionId> elements;
    for (size_t k = 0; k < count; ++k) {
      elements.push_back(Filled(id, shape.elements()[k], edit_.operand(id, count + k)));
    }
    return Tuple(id, elements);
  }

  InstructionId ScatterOperands(InstructionId id) {
    const size_t count = module_.operands(id).size() / 2;
    if (!module_.shape(id).IsTuple()) return edit_.operand(id, 0);
    std::vector<InstructionId> elements;
    for (size_t k = 0; k < count; ++k) elements.push_back(edit_.operand(id, k));
    return Tuple(id, elements);
  }

  const Module& module_;
  Edit edit_;
};

}  // namespace

Result<PassResult> EliminateEmptyArrays(const std::shared_ptr<const Module>& module, Compilation&) {
  return EmptyArrays(module).Run();
}

}  // namespace hloscope::compile
