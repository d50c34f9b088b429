// Scaled-dot decomposition (XLA: ScaledDotRewriter): operands times the scales of their blocks, in
// f64, where those products are exact, and a dot like any other.
#include <algorithm>

#include "core/compile/kernel_rules.h"
#include "core/compile/passes/edit.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

constexpr ElementType kWide = ElementType::kF64;

bool IsPlainScaledDot(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  const auto is_float = [&](InstructionId operand) {
    const Shape& shape = module.shape(operand);
    return IsWholeArray(shape) && hlo::IsFloat(shape.element_type());
  };
  if ((operands.size() != 4 && operands.size() != 6) || !is_float(id) ||
      !std::ranges::all_of(operands, is_float)) {
    return false;
  }
  for (size_t side = 0; side < 2; ++side) {
    const auto sizes = module.shape(operands[side]).dimensions(),
               blocks = module.shape(operands[side + 2]).dimensions();
    if (blocks.empty()) continue;
    if (blocks.size() != sizes.size()) return false;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] % blocks[d] != 0) return false;
    }
  }
  return operands.size() == 4 ||
         (module.shape(operands[4]).IsScalar() && module.shape(operands[5]).IsScalar());
}

class ScaledDot {
 public:
  ScaledDot(Edit& edit, InstructionId id)
      : edit_(edit), id_(id), count_(edit.original().operands(id).size()) {}

  void Decompose() {
    const InstructionId left = Scaled(0), right = Scaled(1);
    const Shape shape = edit_.shape(id_);
    edit_.Replace(id_,
                  edit_.Add(id_, "dot", Opcode::kDot,
                            PlainArray(shape.element_type(), shape.dimensions()), {left, right},
                            hlo::MakeDotDims(edit_.rewriter().builder(),
                                             hlo::DotDimsOf(edit_.original(), id_))));
  }

 private:
  InstructionId Wide(InstructionId operand) {
    if (edit_.shape(operand).element_type() == kWide) return operand;
    const Shape shape = PlainArray(kWide, edit_.shape(operand).dimensions());
    return edit_.Add(id_, "convert", Opcode::kConvert, shape, {operand});
  }
  InstructionId Broadcast(InstructionId operand, const Shape& shape,
                          const std::vector<int64_t>& dimensions) {
    return edit_.Add(id_, "broadcast", Opcode::kBroadcast, shape, {operand},
                     {edit_.rewriter().builder().MakeInts(AttributeKey::kDimensions, dimensions)});
  }

  InstructionId Scaled(size_t side) {
    const InstructionId operand = Wide(edit_.operand(id_, side));
    const Shape shape = edit_.shape(operand);
    InstructionId scale = Spread(Wide(edit_.operand(id_, side + 2)), shape);
    if (count_ == 6) {
      const InstructionId factor = Broadcast(Wide(edit_.operand(id_, side + 4)), shape, {});
      scale = edit_.Add(id_, "multiply", Opcode::kMultiply, shape, {scale, factor});
    }
    return edit_.Add(id_, "multiply", Opcode::kMultiply, shape, {operand, scale});
  }

  // Each scale for all elements of its block.
  InstructionId Spread(InstructionId scale, const Shape& shape) {
    const auto blocks = std::vector<int64_t>(edit_.shape(scale).dimensions().begin(),
                                             edit_.shape(scale).dimensions().end());
    if (blocks.empty()) return Broadcast(scale, shape, {});
    std::vector<int64_t> sizes, dimensions;
    for (size_t d = 0; d < blocks.size(); ++d) {
      dimensions.push_back(static_cast<int64_t>(sizes.size()));
      sizes.push_back(blocks[d]);
      sizes.push_back(shape.dimension(d) / blocks[d]);
    }
    const InstructionId spread = Broadcast(scale, PlainArray(kWide, sizes), dimensions);
    return edit_.Add(id_, "reshape", Opcode::kReshape, shape, {spread});
  }

  Edit& edit_;
  InstructionId id_;
  size_t count_;
};

}  // namespace

Result<PassResult> DecomposeScaledDots(const std::shared_ptr<const Module>& module, Compilation&) {
  return EditEach(module, Opcode::kScaledDot, [&](Edit& edit, InstructionId id) {
    if (IsPlainScaledDot(*module, id)) ScaledDot(edit, id).Decompose();
  });
}

}  // namespace hloscope::compile
