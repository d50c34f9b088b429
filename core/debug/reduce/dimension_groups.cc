// Joining dimensions, opcode by opcode. What has no rule keeps all that it touches; a rule that
// joins too little makes a module that the verifier refuses.
#include "core/debug/reduce/dimension_groups.h"

#include <algorithm>
#include <utility>

#include "core/hlo/attribute.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::Shape;

DimensionGroups::DimensionGroups(const hlo::Module& module)
    : module_(module), leaves_(module.instructions().size()), sets_(1), kept_{true} {
  Number();
  for (uint32_t i = 0; i < module.instructions().size(); ++i) Visit(InstructionId(i));
  for (uint32_t d = 0; d < sets_.size(); ++d) {
    if (sets_.Find(d) == d && !kept_[d]) droppable_.push_back(d);
  }
}

uint32_t DimensionGroups::GroupOf(InstructionId id, size_t leaf, size_t d) const {
  return sets_.Find(Dimension(id, leaf, d));
}

void DimensionGroups::Number() {
  for (uint32_t i = 0; i < module_.instructions().size(); ++i) {
    for (const hlo::Shape* shape : module_.shape(InstructionId(i)).LeafShapes()) {
      const auto first = static_cast<uint32_t>(sets_.size());
      leaves_[i].push_back({first, shape->rank()});
      for (size_t d = 0; d < shape->rank(); ++d) {
        sets_.Add();
        kept_.push_back(shape->dimension(d) != 1 || shape->is_dynamic_dimension(d));
      }
    }
  }
}

uint32_t DimensionGroups::Dimension(InstructionId id, size_t leaf, size_t d) const {
  if (leaf >= LeafCount(id) || d >= Rank(id, leaf)) return 0;  // nobody has verified the module
  return leaves_[id.index][leaf].first + static_cast<uint32_t>(d);
}

void DimensionGroups::Join(uint32_t a, uint32_t b) {
  const bool is_kept = kept_[sets_.Find(a)] || kept_[sets_.Find(b)];
  sets_.Join(a, b);
  kept_[sets_.Find(a)] = is_kept;
}

void DimensionGroups::KeepAll(InstructionId id) {
  for (size_t leaf = 0; leaf < LeafCount(id); ++leaf) {
    for (size_t d = 0; d < Rank(id, leaf); ++d) Keep(Dimension(id, leaf, d));
  }
}

// All that an instruction takes, gives and calls.
void DimensionGroups::KeepTouched(InstructionId id) {
  KeepAll(id);
  for (const InstructionId operand : module_.operands(id)) KeepAll(operand);
  for (const ComputationId callee : module_.CalledComputations(module_[id])) {
    for (const InstructionId parameter : module_.Parameters(callee)) KeepAll(parameter);
    KeepAll(module_[callee].root);
  }
}

void DimensionGroups::JoinLeaves(InstructionId a, size_t leaf_a, InstructionId b, size_t leaf_b) {
  if (leaf_a >= LeafCount(a) || leaf_b >= LeafCount(b) || Rank(a, leaf_a) != Rank(b, leaf_b)) {
    KeepAll(a);
    KeepAll(b);
    return;
  }
  for (size_t d = 0; d < Rank(a, leaf_a); ++d) {
    Join(Dimension(a, leaf_a, d), Dimension(b, leaf_b, d));
  }
}

void DimensionGroups::JoinValues(InstructionId a, InstructionId b) {
  for (size_t leaf = 0; leaf < std::max(LeafCount(a), LeafCount(b)); ++leaf) {
    JoinLeaves(a, leaf, b, leaf);
  }
}

void DimensionGroups::Visit(InstructionId id) {
  const hlo::Instruction& instruction = module_[id];
  const int arity = hlo::Info(instruction.opcode).arity;
  if (arity >= 0 && std::cmp_not_equal(arity, instruction.operand_count)) return KeepTouched(id);
  using Visitor = void (DimensionGroups::*)(InstructionId);
  static constexpr hlo::OpcodeTable<Visitor> kVisitors = {
      {Opcode::kParameter, &DimensionGroups::VisitNothing},
      {Opcode::kReshape, &DimensionGroups::VisitNothing},
      {Opcode::kConstant, &DimensionGroups::VisitConstant},
      {Opcode::kIota, &DimensionGroups::VisitIota},
      {Opcode::kTuple, &DimensionGroups::VisitTuple},
      {Opcode::kGetTupleElement, &DimensionGroups::VisitTuple},
      {Opcode::kCall, &DimensionGroups::VisitCall},
      {Opcode::kFusion, &DimensionGroups::VisitCall},
      {Opcode::kWhile, &DimensionGroups::VisitCall},
      {Opcode::kConditional, &DimensionGroups::VisitCall},
      {Opcode::kReduce, &DimensionGroups::VisitReduce},
      {Opcode::kDot, &DimensionGroups::VisitDot},
      {Opcode::kReduceWindow, &DimensionGroups::VisitWindow},
      {Opcode::kPad, &DimensionGroups::VisitPad},
      {Opcode::kBitcastConvert, &DimensionGroups::VisitElements},
      {Opcode::kOptimizationBarrier, &DimensionGroups::VisitElements},
      {Opcode::kAllReduce, &DimensionGroups::VisitElements},
      {Opcode::kCollectivePermute, &DimensionGroups::VisitElements},
  };
  if (const Visitor visitor = kVisitors[instruction.opcode]) return (this->*visitor)(id);
  return hlo::HasFlag(instruction.opcode, hlo::kFlagElementwise) ? VisitElements(id)
                                                                 : VisitArrays(id);
}

void DimensionGroups::VisitConstant(InstructionId id) {
  const auto* value = module_.Get<hlo::Literal>(module_[id], AttributeKey::kConstantValue);
  if (value == nullptr || value->elided()) KeepAll(id);
}

void DimensionGroups::VisitIota(InstructionId id) {
  const auto along = module_.GetInt(module_[id], AttributeKey::kIotaDimension);
  Keep(Dimension(id, 0, static_cast<size_t>(along)));
}

// Each operand is a scalar or has the dimensions of the result, or of its element of the result.
void DimensionGroups::VisitElements(InstructionId id) {
  const auto operands = module_.operands(id);
  const bool by_element = module_.shape(id).IsTuple() && operands.size() > 1;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool is_scalar = LeafCount(operands[i]) == 1 && Rank(operands[i], 0) == 0;
    if (by_element) {
      JoinLeaves(operands[i], 0, id, i);
    } else if (!is_scalar) {
      JoinValues(operands[i], id);
    }
  }
}

// What moves elements of arrays, by the dimensions that it names.
void DimensionGroups::VisitArrays(InstructionId id) {
  const hlo::Instruction& instruction = module_[id];
  const auto operands = module_.operands(id);
  const auto named = module_.GetInts(instruction, AttributeKey::kDimensions);
  const auto join_named = [&](bool of_operand) {
    for (size_t i = 0; i < named.size(); ++i) {
      const auto other = static_cast<size_t>(named[i]);
      Join(of_operand ? Dimension(operands[0], 0, other) : Dimension(operands[0], 0, i),
           of_operand ? Dimension(id, 0, i) : Dimension(id, 0, other));
    }
  };
  const auto keep_named = [&](InstructionId of, size_t leaf) {
    for (const int64_t d : named) Keep(Dimension(of, leaf, static_cast<size_t>(d)));
  };
  const Opcode opcode = instruction.opcode;
  if (opcode == Opcode::kBroadcast) return join_named(false);
  if (opcode == Opcode::kTranspose) return join_named(true);
  if (opcode == Opcode::kReverse || opcode == Opcode::kSlice) return JoinValues(operands[0], id);
  if (opcode == Opcode::kConcatenate) {
    for (const InstructionId operand : operands) JoinValues(operand, id);
    return keep_named(id, 0);
  }
  if (opcode == Opcode::kSort) {
    for (size_t i = 0; i < operands.size(); ++i) JoinLeaves(operands[i], 0, id, i);
    return keep_named(id, 0);
  }
  const size_t arrays = opcode == Opcode::kDynamicUpdateSlice ? 2 : 1;
  const bool is_dynamic = arrays == 2 || opcode == Opcode::kDynamicSlice;
  if (!is_dynamic || operands.size() != arrays + Rank(id, 0)) return KeepTouched(id);
  for (size_t i = 0; i < arrays; ++i) JoinValues(operands[i], id);
}

void DimensionGroups::VisitTuple(InstructionId id) {
  const auto operands = module_.operands(id);
  if (module_[id].opcode == Opcode::kTuple) {
    size_t next = 0;
    for (const InstructionId operand : operands) {
      for (size_t leaf = 0; leaf < LeafCount(operand); ++leaf) {
        JoinLeaves(operand, leaf, id, next++);
      }
    }
    return;
  }
  const auto wanted = static_cast<size_t>(module_.GetInt(module_[id], AttributeKey::kIndex));
  const hlo::Shape& tuple = module_.shape(operands[0]);
  const bool is_there = wanted < tuple.elements().size();
  const size_t before = is_there ? tuple.ElementLeaves(wanted).begin : tuple.LeafCount();
  for (size_t leaf = 0; leaf < LeafCount(id); ++leaf) {
    JoinLeaves(operands[0], before + leaf, id, leaf);
  }
}

void DimensionGroups::VisitBody(ComputationId callee, InstructionId result,
                                std::span<const InstructionId> arguments) {
  if (!callee.valid()) return;
  const std::vector<InstructionId> parameters = module_.Parameters(callee);
  for (size_t i = 0; i < std::min(parameters.size(), arguments.size()); ++i) {
    JoinValues(arguments[i], parameters[i]);
  }
  if (result.valid()) JoinValues(result, module_[callee].root);
}

void DimensionGroups::VisitCall(InstructionId id) {
  const hlo::Instruction& instruction = module_[id];
  const auto operands = module_.operands(id);
  const std::vector<ComputationId> callees = module_.CalledComputations(instruction);
  if (instruction.opcode == Opcode::kWhile) {
    JoinValues(operands[0], id);
    VisitBody(module_.GetComputation(instruction, AttributeKey::kBody), id, operands);
    return VisitBody(module_.GetComputation(instruction, AttributeKey::kCondition), {}, operands);
  }
  if (instruction.opcode == Opcode::kConditional) {
    for (size_t i = 0; i < callees.size() && i + 1 < operands.size(); ++i) {
      VisitBody(callees[i], id, operands.subspan(i + 1, 1));
    }
    return;
  }
  for (const ComputationId callee : callees) VisitBody(callee, id, operands);
}

// Dimensions that are reduced are the operands' own.
void DimensionGroups::VisitReduce(InstructionId id) {
  const auto operands = module_.operands(id);
  const auto reduced = module_.GetInts(module_[id], AttributeKey::kDimensions);
  for (size_t i = 0; i < operands.size() / 2; ++i) {
    JoinValues(operands[i], operands[0]);
    size_t next = 0;
    for (size_t d = 0; d < Rank(operands[i], 0); ++d) {
      if (std::ranges::find(reduced, static_cast<int64_t>(d)) != reduced.end()) continue;
      Join(Dimension(operands[i], 0, d), Dimension(id, i, next++));
    }
  }
}

// Batch dimensions come first in the result, then those of the left side, then of the right.
void DimensionGroups::VisitDot(InstructionId id) {
  const auto operands = module_.operands(id);
  const hlo::DotDims dims = hlo::DotDimsOf(module_, id);
  const auto join_pairs = [&](std::span<const int64_t> left, std::span<const int64_t> right) {
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      Join(Dimension(operands[0], 0, static_cast<size_t>(left[i])),
           Dimension(operands[1], 0, static_cast<size_t>(right[i])));
    }
  };
  join_pairs(dims.lhs.batch, dims.rhs.batch);
  join_pairs(dims.lhs.contracting, dims.rhs.contracting);
  size_t next = 0;
  for (const int64_t d : dims.lhs.batch) {
    Join(Dimension(operands[0], 0, static_cast<size_t>(d)), Dimension(id, 0, next++));
  }
  for (size_t side = 0; side < 2; ++side) {
    for (const int64_t d : dims.side(side).Free(Rank(operands[side], 0))) {
      Join(Dimension(operands[side], 0, static_cast<size_t>(d)), Dimension(id, 0, next++));
    }
  }
}

// A dimension whose window is one element and moves nothing may go.
void DimensionGroups::VisitWindow(InstructionId id) {
  const auto operands = module_.operands(id);
  const hlo::Window* window = hlo::FindWindow(module_, id);
  for (size_t i = 0; i < operands.size() / 2; ++i) {
    JoinLeaves(operands[i], 0, id, i);
    for (size_t d = 0; d < Rank(operands[i], 0); ++d) {
      const bool is_plain = window != nullptr && d < window->dimensions.size() &&
                            window->dimensions[d] == hlo::WindowDimension{};
      if (!is_plain) Keep(Dimension(operands[i], 0, d));
    }
  }
}

void DimensionGroups::VisitPad(InstructionId id) {
  const InstructionId operand = module_.operands(id)[0];
  const auto padding = module_.GetInts(module_[id], AttributeKey::kPadding);
  JoinValues(operand, id);
  for (size_t i = 0; i < padding.size(); ++i) {
    if (padding[i] != 0 && i / 3 < Rank(id, 0)) Keep(Dimension(id, 0, i / 3));
  }
}

}  // namespace hloscope::debug
