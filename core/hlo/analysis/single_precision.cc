#include "core/hlo/analysis/single_precision.h"

#include <algorithm>

#include "core/hlo/analysis/reducer.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::hlo {
namespace {

constexpr int kMaxPasses = 64;  // of nested calls and loops

bool IsFloating(ElementType type) { return IsFloat(RealPart(type)); }
bool IsDouble(ElementType type) { return RealPart(type) == ElementType::kF64; }

// Results are operands, or made of them without rounding.
bool IsExact(const Module& module, InstructionId id) {
  static constexpr OpcodeSet kExact = {
      Opcode::kParameter,
      Opcode::kConstant,
      Opcode::kIota,
      Opcode::kNegate,
      Opcode::kAbs,
      Opcode::kSign,
      Opcode::kMaximum,
      Opcode::kMinimum,
      Opcode::kSelect,
      Opcode::kClamp,
      Opcode::kFloor,
      Opcode::kCeil,
      Opcode::kRoundNearestAfz,
      Opcode::kRoundNearestEven,
      Opcode::kReal,
      Opcode::kImag,
      Opcode::kComplex,
      Opcode::kBitcastConvert,
      Opcode::kSort,
      Opcode::kTopK,
  };
  const Instruction& instruction = module[id];
  if (kExact.Has(instruction.opcode)) return true;
  if (instruction.opcode == Opcode::kConvert) {
    const ElementType from = module.shape(module.operands(id)[0]).element_type();
    const ElementType to = module.shape(id).element_type();
    return !IsFloating(from) || BitWidth(RealPart(from)) <= BitWidth(RealPart(to));
  }
  if (instruction.opcode == Opcode::kReduce || instruction.opcode == Opcode::kReduceWindow) {
    const std::optional<Opcode> reducer = BinaryReducerOf(module, id);
    return reducer == Opcode::kMaximum || reducer == Opcode::kMinimum;
  }
  const Category category = Info(instruction.opcode).category;
  return category == Category::kDataMovement || category == Category::kTuple ||
         category == Category::kControl || category == Category::kFusion;
}

}  // namespace

SinglePrecision::SinglePrecision(const Module& module) {
  const auto is_double = [&](const Instruction& instruction) {
    const auto leaves = module[instruction.shape].LeafShapes();
    return std::ranges::any_of(leaves, [](const Shape* leaf) {
      return leaf->IsArray() && IsDouble(leaf->element_type());
    });
  };
  if (std::ranges::none_of(module.instructions(), is_double)) return;
  size_t leaves = 0;
  for (const Instruction& instruction : module.instructions()) {
    first_.push_back(leaves);
    leaves += module[instruction.shape].LeafCount();
  }
  first_.push_back(leaves);
  rounded_.assign(leaves, false);
  changed_ = true;
  for (int pass = 0; changed_ && pass < kMaxPasses; ++pass) {
    changed_ = false;
    for (uint32_t i = 0; i < module.instructions().size(); ++i) Visit(module, InstructionId(i));
  }
  // Only what is wider than it was computed is to be told.
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const auto shapes = module.shape(InstructionId(i)).LeafShapes();
    for (size_t leaf = 0; leaf < shapes.size(); ++leaf) {
      const bool is_wide = shapes[leaf]->IsArray() && IsDouble(shapes[leaf]->element_type());
      if (!is_wide) rounded_[first_[i] + leaf] = false;
    }
  }
}

bool SinglePrecision::Of(InstructionId id, size_t leaf) const {
  return !first_.empty() && first_[id.index] + leaf < first_[id.index + 1] &&
         rounded_[first_[id.index] + leaf];
}

std::vector<bool> SinglePrecision::Of(InstructionId id) const {
  return {rounded_.begin() + static_cast<ptrdiff_t>(first_[id.index]),
          rounded_.begin() + static_cast<ptrdiff_t>(first_[id.index + 1])};
}

// Leaves of `to` from `first` on also are what those of `from` are.
void SinglePrecision::Merge(InstructionId to, size_t first, const std::vector<bool>& from) {
  const size_t begin = first_[to.index] + first, end = first_[to.index + 1];
  for (size_t leaf = 0; leaf < from.size() && begin + leaf < end; ++leaf) {
    if (!from[leaf] || rounded_[begin + leaf]) continue;
    rounded_[begin + leaf] = true;
    changed_ = true;
  }
}

bool SinglePrecision::Computed(const Module& module, InstructionId id, const Shape& leaf) const {
  if (!leaf.IsArray() || !IsFloating(leaf.element_type())) return false;
  if (!IsDouble(leaf.element_type()) && !IsExact(module, id)) return true;
  return std::ranges::any_of(module.operands(id), [&](InstructionId operand) {
    const auto shapes = module.shape(operand).LeafShapes();
    for (size_t k = 0; k < shapes.size(); ++k) {
      if (rounded_[first_[operand.index] + k]) return true;
    }
    return false;
  });
}

void SinglePrecision::Visit(const Module& module, InstructionId id) {
  const Instruction& instruction = module[id];
  const auto operands = module.operands(id);
  // What is called gets operands and gives results, one by one.
  const auto call = [&](ComputationId callee, size_t first_operand) {
    const auto parameters = module.Parameters(callee);
    for (size_t k = 0; k < parameters.size() && first_operand + k < operands.size(); ++k)
      Merge(parameters[k], 0, Of(operands[first_operand + k]));
  };
  switch (instruction.opcode) {
    case Opcode::kParameter:
    case Opcode::kConstant:
      return;
    case Opcode::kTuple: {
      size_t at = 0;
      for (const InstructionId operand : operands) {
        const std::vector<bool> leaves = Of(operand);
        Merge(id, at, leaves);
        at += leaves.size();
      }
      return;
    }
    case Opcode::kGetTupleElement: {
      const auto number = static_cast<size_t>(module.GetInt(instruction, AttributeKey::kIndex));
      const auto elements = module.shape(operands[0]).elements();
      size_t first = 0;
      for (size_t k = 0; k < std::min(number, elements.size()); ++k)
        first += elements[k].LeafCount();
      std::vector<bool> leaves = Of(operands[0]);
      leaves.erase(leaves.begin(),
                   leaves.begin() + static_cast<ptrdiff_t>(std::min(first, leaves.size())));
      Merge(id, 0, leaves);
      return;
    }
    case Opcode::kWhile: {
      Merge(id, 0, Of(operands[0]));
      const ComputationId body = module.GetComputation(instruction, AttributeKey::kBody);
      Merge(id, 0, Of(module[body].root));
      for (const ComputationId callee : module.CalledComputations(instruction)) {
        const auto parameters = module.Parameters(callee);
        if (!parameters.empty()) Merge(parameters[0], 0, Of(id));
      }
      return;
    }
    case Opcode::kConditional: {
      const auto branches = module.CalledComputations(instruction);
      for (size_t k = 0; k < branches.size(); ++k) {
        const auto parameters = module.Parameters(branches[k]);
        if (!parameters.empty() && k + 1 < operands.size())
          Merge(parameters[0], 0, Of(operands[k + 1]));
        Merge(id, 0, Of(module[branches[k]].root));
      }
      return;
    }
    case Opcode::kCall:
    case Opcode::kFusion:
      for (const ComputationId callee : module.CalledComputations(instruction)) {
        call(callee, 0);
        Merge(id, 0, Of(module[callee].root));
      }
      return;
    default: {
      const auto shapes = module.shape(id).LeafShapes();
      std::vector<bool> leaves;
      for (const Shape* shape : shapes) leaves.push_back(Computed(module, id, *shape));
      Merge(id, 0, leaves);
    }
  }
}

}  // namespace hloscope::hlo
