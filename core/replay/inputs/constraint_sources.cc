// A row per opcode that asks something of its operands.
#include "core/replay/inputs/constraint_sources.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/hlo/dimension_numbers.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::replay {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

// One instruction and what is asked about it.
struct Use {
  ConstraintFlow& flow;
  InstructionId id;

  const Module& module() const { return flow.module(); }
  const Instruction& instruction() const { return module()[id]; }
  std::span<const InstructionId> operands() const { return module().operands(id); }
  const Shape& shape(size_t slot) const { return module().shape(operands()[slot]); }
  std::span<const int64_t> Ints(AttributeKey key) const {
    return module().GetInts(instruction(), key);
  }
  bool Flag(AttributeKey key) const { return module().GetBool(instruction(), key); }
  void Ask(size_t slot, InputConstraints constraints) const {
    if (slot < operands().size()) flow.Ask(operands()[slot], std::move(constraints));
  }
  void Ask(size_t slot, const Interval& range) const {
    InputConstraints constraints;
    constraints.range = range;
    Ask(slot, std::move(constraints));
  }
};

InputConstraints NonZero() {
  InputConstraints constraints;
  constraints.nonzero = true;
  return constraints;
}
InputConstraints Distinct() {
  InputConstraints constraints;
  constraints.distinct = true;
  return constraints;
}
InputConstraints Structured(Structure structure, int64_t total = 0) {
  InputConstraints constraints;
  constraints.structure = structure;
  constraints.total = total;
  return constraints;
}

// Where a block of `block` may begin in an array of `size`.
Interval Beginnings(int64_t size, int64_t block) {
  return {0, static_cast<double>(std::max<int64_t>(size - block, 0))};
}

// Indices of dynamic-slice and dynamic-update-slice, one operand each or all in a vector.
void AskForBeginnings(const Use& use, size_t first, const Shape& block) {
  const Shape& array = use.shape(0);
  if (use.operands().size() == first + 1 && use.shape(first).rank() == 1) {
    InputConstraints constraints;
    for (size_t d = 0; d < array.rank(); ++d) {
      constraints.columns.push_back(
          {std::max<int64_t>(array.dimension(d) - block.dimension(d), 0) + 1, 1});
    }
    return use.Ask(first, std::move(constraints));
  }
  for (size_t d = 0; d < array.rank(); ++d) {
    use.Ask(first + d, Beginnings(array.dimension(d), block.dimension(d)));
  }
}

void DynamicSlice(const Use& use) { AskForBeginnings(use, 1, use.module().shape(use.id)); }
void DynamicUpdateSlice(const Use& use) { AskForBeginnings(use, 2, use.shape(1)); }

// Index vectors into an array for blocks of `sizes`; blocks that must not meet lie on a grid.
InputConstraints IndexVectors(const Use& use, size_t indices, std::span<const int64_t> map,
                              int64_t vector, std::span<const int64_t> sizes, bool apart) {
  InputConstraints constraints;
  const Shape& array = use.shape(0);
  for (int64_t d : map) {
    const auto dimension = static_cast<size_t>(d);
    if (dimension >= array.rank() || dimension >= sizes.size()) return {};
    const int64_t step = apart ? std::max<int64_t>(sizes[dimension], 1) : 1;
    const int64_t last = std::max<int64_t>(array.dimension(dimension) - sizes[dimension], 0);
    constraints.columns.push_back({last / step + 1, step});
  }
  const Shape& shape = use.shape(indices);
  for (size_t d = static_cast<size_t>(vector) + 1; d < shape.rank(); ++d) {
    constraints.inner *= shape.dimension(d);
  }
  constraints.sorted = use.Flag(AttributeKey::kIndicesAreSorted);
  constraints.distinct = apart;
  return constraints;
}

void Gather(const Use& use) {
  const hlo::GatherDims dims =
      hlo::GatherDimsOf(use.module(), use.module().attributes(use.instruction()));
  use.Ask(1, IndexVectors(use, 1, dims.start_index_map, dims.index_vector_dim, dims.slice_sizes,
                          false));
}

// True if the order of updates of one element does not show: sums, products, extremes, and the
// like.
bool IsCommutative(const Module& module, ComputationId combiner) {
  if (!combiner.valid()) return false;
  const Instruction& root = module[module[combiner].root];
  return (hlo::Info(root.opcode).flags & hlo::kFlagCommutative) != 0;
}

// The window of updates in the array's dimensions, 1 for those left out.
std::vector<int64_t> ScatterWindow(const hlo::ScatterDims& dims, const Shape& array,
                                   const Shape& updates) {
  std::vector<int64_t> sizes(array.rank(), 1);
  size_t next = 0;
  for (const size_t d : dims.WindowDims(array.rank())) {
    if (next == dims.update_window_dims.size()) break;
    sizes[d] = updates.dimension(static_cast<size_t>(dims.update_window_dims[next++]));
  }
  return sizes;
}

void Scatter(const Use& use) {
  const size_t indices = use.operands().size() / 2;
  const ComputationId combiner =
      use.module().GetComputation(use.instruction(), AttributeKey::kToApply);
  const bool apart =
      use.Flag(AttributeKey::kUniqueIndices) || !IsCommutative(use.module(), combiner);
  const hlo::ScatterDims dims =
      hlo::ScatterDimsOf(use.module(), use.module().attributes(use.instruction()));
  const auto sizes = ScatterWindow(dims, use.shape(0), use.shape(indices + 1));
  use.Ask(indices, IndexVectors(use, indices, dims.scatter_dims_to_operand_dims,
                                dims.index_vector_dim, sizes, apart));
}

// The initial value that changes nothing. Reducers of several values are told by the comparison of
// their first pair.
InputConstraints Neutral(const Use& use, ComputationId reducer, size_t number,
                         hlo::ElementType type) {
  const Module& module = use.module();
  InputConstraints constraints;
  const Instruction* root = &module[module[reducer].root];
  const bool several = root->opcode == Opcode::kTuple;
  Opcode opcode = root->opcode;
  if (several && number < root->operand_count) {
    opcode = module[module.operands(*root)[number]].opcode;
  }
  const Interval all = RangeOfType(type);
  const bool integer = hlo::IsInteger(type) || type == hlo::ElementType::kPred;
  static constexpr hlo::OpcodeSet kZero = {Opcode::kAdd, Opcode::kOr, Opcode::kXor};
  if (kZero.Has(opcode)) constraints.range = Interval::Only(0);
  if (opcode == Opcode::kMultiply) constraints.range = Interval::Only(1);
  if (opcode == Opcode::kMaximum) constraints.range = Interval::Only(all.low);
  if (opcode == Opcode::kMinimum) constraints.range = Interval::Only(all.high);
  if (opcode == Opcode::kAnd && integer) {
    constraints.range = Interval::Only(hlo::IsSigned(type) ? -1 : all.high);
  }
  return constraints;
}

// The extreme that a reducer like argmax begins with; nothing if it is no such.
InputConstraints NeutralOfSelection(const Use& use, ComputationId reducer, size_t number,
                                    size_t count, hlo::ElementType type) {
  InputConstraints constraints;
  for (const Instruction& i : use.module().instructions(use.module()[reducer])) {
    if (i.opcode != Opcode::kCompare) continue;
    const auto sides = use.module().operands(i);
    const Instruction& left = use.module()[sides[0]];
    const Instruction& right = use.module()[sides[1]];
    if (left.opcode != Opcode::kParameter || right.opcode != Opcode::kParameter) continue;
    const auto direction =
        static_cast<hlo::ComparisonDirection>(use.module().GetInt(i, AttributeKey::kDirection));
    const bool greater =
        direction == hlo::ComparisonDirection::kGt || direction == hlo::ComparisonDirection::kGe;
    const bool less =
        direction == hlo::ComparisonDirection::kLt || direction == hlo::ComparisonDirection::kLe;
    if (!greater && !less) continue;
    const int64_t first = use.module().GetInt(left, AttributeKey::kParameterNumber);
    const bool swapped = std::cmp_greater_equal(first, count);
    const Interval all = RangeOfType(type);
    constraints.range = Interval::Only(number > 0 ? 0 : greater != swapped ? all.low : all.high);
    return constraints;
  }
  return constraints;
}

void AskForNeutral(const Use& use, AttributeKey key, size_t first, size_t count) {
  const ComputationId reducer = use.module().GetComputation(use.instruction(), key);
  if (!reducer.valid()) return;
  for (size_t n = 0; n < count && first + n < use.operands().size(); ++n) {
    const hlo::ElementType type = use.shape(first + n).element_type();
    InputConstraints constraints = Neutral(use, reducer, n, type);
    if (constraints.empty() && count > 1)
      constraints = NeutralOfSelection(use, reducer, n, count, type);
    use.Ask(first + n, std::move(constraints));
  }
}

void Reduce(const Use& use) {
  const size_t count = use.operands().size() / 2;
  AskForNeutral(use, AttributeKey::kToApply, count, count);
  // Which of several equal values a reducer picks differs between devices.
  if (count > 1) use.Ask(0, Distinct());
}
void ReduceWindow(const Use& use) {
  const size_t count = use.operands().size() / 2;
  AskForNeutral(use, AttributeKey::kToApply, count, count);
}
void SelectAndScatter(const Use& use) {
  AskForNeutral(use, AttributeKey::kScatterComputation, 2, 1);
  use.Ask(0, Distinct());
}

// The operands whose elements a comparator compares.
void Sort(const Use& use) {
  const size_t count = use.operands().size();
  if (count < 2 && !use.Flag(AttributeKey::kIsStable)) return;
  const ComputationId comparator =
      use.module().GetComputation(use.instruction(), AttributeKey::kToApply);
  use.Ask(0, Distinct());
  if (!comparator.valid()) return;
  const InstructionId root = use.module()[comparator].root;
  if (use.module()[root].opcode != Opcode::kCompare) return;
  const Instruction& side = use.module()[use.module().operands(root)[0]];
  if (side.opcode != Opcode::kParameter) return;
  const int64_t number = use.module().GetInt(side, AttributeKey::kParameterNumber) / 2;
  if (number > 0) use.Ask(static_cast<size_t>(number), Distinct());
}

void TopK(const Use& use) { use.Ask(0, Distinct()); }

void Positive(const Use& use) { use.Ask(0, Interval{kClear, kInfinity}); }
void NotNegative(const Use& use) { use.Ask(0, Interval{0, kInfinity}); }
void AboveMinusOne(const Use& use) { use.Ask(0, Interval{-0.9, kInfinity}); }
void AtLeastOne(const Use& use) { use.Ask(0, Interval{1, kInfinity}); }
void WithinOne(const Use& use) { use.Ask(0, Interval{-0.9, 0.9}); }

// Beyond these exp overflows: 11 in f16, 88 in f32 and bf16, 709 in f64.
void Exponential(const Use& use) {
  const int bits = hlo::BitWidth(hlo::RealPart(use.shape(0).element_type()));
  const bool small = use.shape(0).element_type() == hlo::ElementType::kF16 || bits <= 8;
  use.Ask(0, Interval{-kInfinity, small ? 5.0 : bits == 64 ? 350.0 : 40.0});
}

void Divide(const Use& use) { use.Ask(1, NonZero()); }

void Power(const Use& use) {
  if (hlo::IsInteger(use.shape(0).element_type())) return use.Ask(1, Interval{0, kInfinity});
  use.Ask(1, Interval{-8, 8});
  const Interval exponent = use.flow.ranges()[use.operands()[1]];
  const bool integral = exponent.low == exponent.high && exponent.low == std::trunc(exponent.low);
  if (!integral) return use.Ask(0, Interval{kClear, kInfinity});
  if (exponent.low < 0) use.Ask(0, NonZero());
}

void Shift(const Use& use) {
  const int bits = hlo::BitWidth(use.shape(0).element_type());
  use.Ask(1, Interval{0, static_cast<double>(bits - 1)});
}

void Atan2(const Use& use) { use.Ask(1, NonZero()); }

void Conditional(const Use& use) {
  if (use.operands().empty() || use.shape(0).element_type() == hlo::ElementType::kPred) return;
  use.Ask(0, Interval{0, static_cast<double>(use.operands().size()) - 2});
}

void RaggedDot(const Use& use) {
  const auto ragged = use.Ints(AttributeKey::kLhsRaggedDims);
  if (ragged.empty() || static_cast<size_t>(ragged[0]) >= use.shape(0).rank()) return;
  use.Ask(2, Structured(Structure::kGroupSizes,
                        use.shape(0).dimension(static_cast<size_t>(ragged[0]))));
}

// Peers exchange blocks of one size, each from and to its own place.
void RaggedAllToAll(const Use& use) {
  if (use.operands().size() < 6 || use.shape(0).rank() == 0 || use.shape(1).rank() == 0) return;
  const int64_t blocks = std::max<int64_t>(use.shape(2).ElementCount().value_or(1), 1);
  const int64_t block = std::min(use.shape(0).dimension(0), use.shape(1).dimension(0)) / blocks;
  use.Ask(2, Structured(Structure::kOffsets, block));
  use.Ask(3, Interval::Only(static_cast<double>(block)));
  use.Ask(4, Structured(Structure::kOffsets, block));
  use.Ask(5, Interval::Only(static_cast<double>(block)));
}

void SetDimensionSize(const Use& use) {
  const auto dimension = use.Ints(AttributeKey::kDimensions);
  if (dimension.empty() || static_cast<size_t>(dimension[0]) >= use.shape(0).rank()) return;
  use.Ask(1, Structured(Structure::kLiveSize,
                        use.shape(0).dimension(static_cast<size_t>(dimension[0]))));
}

// All elements have to find a place: the sizes are the bounds.
void DynamicReshape(const Use& use) {
  const Shape& shape = use.module().shape(use.id);
  for (size_t d = 0; d < shape.rank(); ++d) {
    use.Ask(1 + d, Interval::Only(static_cast<double>(shape.dimension(d))));
  }
}

void Cholesky(const Use& use) { use.Ask(0, Structured(Structure::kPositiveDefinite)); }
void TriangularSolve(const Use& use) { use.Ask(0, Structured(Structure::kDominantDiagonal)); }

void BatchNormInference(const Use& use) { use.Ask(4, Interval{0, kInfinity}); }
void BatchNormGrad(const Use& use) { use.Ask(3, Interval{0, kInfinity}); }

// Uniform numbers lie between two bounds, normal ones have a positive deviation.
void Rng(const Use& use) {
  use.Ask(0, Interval{-kInfinity, 0});
  use.Ask(1, Interval{1, 100});
}

// Library calls that mean an instruction of their own.
void CustomCall(const Use& use) {
  const std::string_view target =
      use.module().GetString(use.instruction(), AttributeKey::kCustomCallTarget);
  if (use.operands().empty()) return;
  const auto has = [target](std::string_view part) {
    return target.find(part) != std::string_view::npos;
  };
  if (has("potrf") || has("Cholesky") || has("cholesky")) return Cholesky(use);
  if (has("trsm") || has("riangularSolve") || has("triangular_solve")) return TriangularSolve(use);
  if (has("TopK") || has("top_k")) return TopK(use);
  if (target != "SliceToDynamic") return;
  const Shape& shape = use.module().shape(use.id);
  for (size_t d = 0; shape.IsArray() && d < shape.rank(); ++d) {
    use.Ask(1 + d, Structured(Structure::kLiveSize, shape.dimension(d)));
  }
}

constexpr hlo::OpcodeTable<void (*)(const Use&)> kAsks = {
    {Opcode::kDynamicSlice, DynamicSlice},
    {Opcode::kDynamicUpdateSlice, DynamicUpdateSlice},
    {Opcode::kGather, Gather},
    {Opcode::kScatter, Scatter},
    {Opcode::kReduce, Reduce},
    {Opcode::kReduceWindow, ReduceWindow},
    {Opcode::kSelectAndScatter, SelectAndScatter},
    {Opcode::kSort, Sort},
    {Opcode::kTopK, TopK},
    {Opcode::kLog, Positive},
    {Opcode::kRsqrt, Positive},
    {Opcode::kSqrt, NotNegative},
    {Opcode::kLog1p, AboveMinusOne},
    {Opcode::kAcosh, AtLeastOne},
    {Opcode::kAcos, WithinOne},
    {Opcode::kAsin, WithinOne},
    {Opcode::kAtanh, WithinOne},
    {Opcode::kExp, Exponential},
    {Opcode::kExpm1, Exponential},
    {Opcode::kDivide, Divide},
    {Opcode::kRemainder, Divide},
    {Opcode::kPower, Power},
    {Opcode::kAtan2, Atan2},
    {Opcode::kShiftLeft, Shift},
    {Opcode::kShiftRightArithmetic, Shift},
    {Opcode::kShiftRightLogical, Shift},
    {Opcode::kConditional, Conditional},
    {Opcode::kRaggedDot, RaggedDot},
    {Opcode::kRaggedAllToAll, RaggedAllToAll},
    {Opcode::kSetDimensionSize, SetDimensionSize},
    {Opcode::kDynamicReshape, DynamicReshape},
    {Opcode::kCholesky, Cholesky},
    {Opcode::kTriangularSolve, TriangularSolve},
    {Opcode::kBatchNormInference, BatchNormInference},
    {Opcode::kBatchNormGrad, BatchNormGrad},
    {Opcode::kRng, Rng},
    {Opcode::kCustomCall, CustomCall},
};

}  // namespace

void AskForSoundOperands(ConstraintFlow& flow) {
  const auto instructions = flow.module().instructions();
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    const auto ask = kAsks[instructions[i].opcode];
    if (ask != nullptr) ask({flow, InstructionId(i)});
  }
}

}  // namespace hloscope::replay
