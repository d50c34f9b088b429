// Ragged-dot decomposition (XLA: RaggedDotRewriter): where rows fall into groups, products with all
// groups, of which each row takes those of its own; where the contracted dimension does, one
// product for each group, of operands that are zero outside of it.
#include <algorithm>

#include "core/compile/kernel_rules.h"
#include "core/compile/passes/edit.h"
#include "core/hlo/comparison.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

using Dims = std::vector<int64_t>;

// Of a result that every group makes; beyond that the evaluator, which multiplies each row once, is
// faster.
constexpr int64_t kMaxElements = int64_t{1} << 26;

bool Contains(std::span<const int64_t> list, int64_t value) {
  return std::ranges::find(list, value) != list.end();
}

bool IsDecomposed(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  const auto is_whole = [&](InstructionId each) {
    const Shape& shape = module.shape(each);
    return IsWholeArray(shape) && shape.element_type() != ElementType::kF8E8M0FNU;
  };
  if (operands.size() != 3 || !is_whole(id) || !std::ranges::all_of(operands, is_whole)) {
    return false;
  }
  const Shape& sizes = module.shape(operands[2]);
  const hlo::DotDims dims = hlo::DotDimsOf(module, id);
  const auto ragged = dims.lhs_ragged, group = dims.rhs.group;
  if (sizes.rank() != 1 || !hlo::IsInteger(sizes.element_type()) || ragged.size() != 1 ||
      Contains(dims.lhs.batch, ragged[0])) {
    return false;
  }
  const bool is_depth = Contains(dims.lhs.contracting, ragged[0]);
  const int64_t groups = sizes.dimension(0);
  if (group.size() != (is_depth ? 0 : 1)) return false;
  if (!is_depth && module.shape(operands[1]).dimension(static_cast<size_t>(group[0])) != groups) {
    return false;
  }
  const auto fits = [&](InstructionId each) {
    return module.shape(each).ElementCount().value_or(kMaxElements) <= kMaxElements / groups;
  };
  return fits(id) && (!is_depth || (fits(operands[0]) && fits(operands[1])));
}

class RaggedDot {
 public:
  RaggedDot(Edit& edit, InstructionId id)
      : edit_(edit),
        id_(id),
        left_(edit.operand(id, 0)),
        right_(edit.operand(id, 1)),
        dims_(hlo::DotDimsOf(edit.original(), id)),
        ragged_(dims_.lhs_ragged[0]),
        groups_(edit.shape(edit.operand(id, 2)).dimension(0)) {}

  void Decompose() {
    edit_.Replace(id_, Contains(dims_.lhs.contracting, ragged_) ? OverDepth() : OverRows());
  }

 private:
  // The product has the group among the free dimensions of the right side.
  InstructionId OverRows() {
    const int64_t group = dims_.rhs.group[0];
    const Shape result = edit_.shape(id_), left = edit_.shape(left_), right = edit_.shape(right_);
    Dims sizes;
    int64_t row = 0, at = 0;
    for (const int64_t d : dims_.lhs.batch) sizes.push_back(left.dimension(static_cast<size_t>(d)));
    for (const int64_t d : dims_.lhs.Free(left.rank())) {
      if (d == ragged_) row = std::ssize(sizes);
      sizes.push_back(left.dimension(static_cast<size_t>(d)));
    }
    for (int64_t d = 0; std::cmp_less(d, right.rank()); ++d) {
      if (Contains(dims_.rhs.batch, d) || Contains(dims_.rhs.contracting, d)) continue;
      if (d == group) at = std::ssize(sizes);
      sizes.push_back(right.dimension(static_cast<size_t>(d)));
    }
    const Shape all = PlainArray(result.element_type(), sizes);
    const InstructionId product = edit_.Add(
        id_, "dot", Opcode::kDot, all, {left_, right_},
        hlo::MakeDotDims(edit_.rewriter().builder(), {{dims_.lhs.batch, dims_.lhs.contracting},
                                                      {dims_.rhs.batch, dims_.rhs.contracting}}));
    const InstructionId own =
        Masked(product, at, row, left.dimension(static_cast<size_t>(ragged_)));
    return Sum(own, result, at, "ragged_sum");
  }

  InstructionId OverDepth() {
    const auto& [left_batch, left_sums, no_group] = dims_.lhs;
    const auto& [right_batch, right_sums, group] = dims_.rhs;
    const auto place =
        static_cast<size_t>(std::ranges::find(left_sums, ragged_) - left_sums.begin());
    const InstructionId left = ByGroup(left_, ragged_), right = ByGroup(right_, right_sums[place]);
    const auto behind = [](std::span<const int64_t> dims, bool with_group) {
      Dims moved;
      if (with_group) moved.push_back(0);
      for (const int64_t d : dims) moved.push_back(d + 1);
      return moved;
    };
    const Shape result = edit_.shape(id_);
    return edit_.Add(id_, "dot", Opcode::kDot,
                     PlainArray(result.element_type(), result.dimensions()), {left, right},
                     hlo::MakeDotDims(edit_.rewriter().builder(),
                                      {{behind(left_batch, true), behind(left_sums, false)},
                                       {behind(right_batch, true), behind(right_sums, false)}}));
  }

  // The array once for each group, zero where dimension `d` is outside of it.
  InstructionId ByGroup(InstructionId array, int64_t d) {
    const Shape shape = edit_.shape(array);
    Dims sizes = {groups_}, dimensions;
    for (size_t k = 0; k < shape.rank(); ++k) {
      sizes.push_back(shape.dimension(k));
      dimensions.push_back(static_cast<int64_t>(k) + 1);
    }
    const InstructionId spread =
        Broadcast(array, PlainArray(shape.element_type(), sizes), dimensions);
    return Masked(spread, 0, d + 1, shape.dimension(static_cast<size_t>(d)));
  }

  // `array` where its index along `at` lies in the group of its index along `group`, else zero.
  InstructionId Masked(InstructionId array, int64_t group, int64_t at, int64_t length) {
    const Shape shape = edit_.shape(array);
    const Dims both = {group, at};
    const InstructionId mask =
        Broadcast(InGroup(length), PlainArray(ElementType::kPred, shape.dimensions()), both);
    const InstructionId zero = Broadcast(Zero(shape.element_type()), shape, {});
    return edit_.Add(id_, "own", Opcode::kSelect, shape, {mask, array, zero});
  }

  // pred[groups,length]: from the sum of the sizes before to that with the group's own.
  InstructionId InGroup(int64_t length) {
    const Shape counts = PlainArray(kNumber, Dims{groups_});
    InstructionId sizes = edit_.operand(id_, 2);
    if (edit_.shape(sizes).element_type() != kNumber) {
      sizes = edit_.Add(id_, "sizes", Opcode::kConvert, counts, {sizes});
    }
    const Shape square = PlainArray(kNumber, Dims{groups_, groups_});
    const InstructionId before =
        edit_.Add(id_, "before", Opcode::kSelect, square,
                  {Compare(Iota(square, 1), Iota(square, 0), hlo::ComparisonDirection::kLe),
                   Broadcast(sizes, square, {1}), Broadcast(Zero(kNumber), square, {})});
    const InstructionId ends = Sum(before, counts, 1, "ends");
    const InstructionId begins = edit_.Add(id_, "begins", Opcode::kSubtract, counts, {ends, sizes});
    const Shape all = PlainArray(kNumber, Dims{groups_, length});
    const InstructionId place = Iota(all, 1);
    return edit_.Add(id_, "in_group", Opcode::kAnd,
                     PlainArray(ElementType::kPred, all.dimensions()),
                     {Compare(place, Broadcast(begins, all, {0}), hlo::ComparisonDirection::kGe),
                      Compare(place, Broadcast(ends, all, {0}), hlo::ComparisonDirection::kLt)});
  }

  InstructionId Zero(ElementType type) {
    return edit_.AddScalar(id_, type,
                           std::vector<std::byte>(static_cast<size_t>(hlo::StorageBytes(type))));
  }
  InstructionId Broadcast(InstructionId value, const Shape& shape, const Dims& dimensions) {
    return edit_.Add(id_, "broadcast", Opcode::kBroadcast, shape, {value},
                     {edit_.rewriter().builder().MakeInts(AttributeKey::kDimensions, dimensions)});
  }
  InstructionId Iota(const Shape& shape, int64_t dimension) {
    return edit_.Add(id_, "iota", Opcode::kIota, shape, {},
                     {edit_.rewriter().builder().MakeInt(AttributeKey::kIotaDimension, dimension)});
  }
  InstructionId Compare(InstructionId a, InstructionId b, hlo::ComparisonDirection direction) {
    return edit_.Add(id_, "compare", Opcode::kCompare,
                     PlainArray(ElementType::kPred, edit_.shape(a).dimensions()), {a, b},
                     {edit_.rewriter().builder().MakeEnum(AttributeKey::kDirection,
                                                          static_cast<int32_t>(direction))});
  }
  InstructionId Sum(InstructionId array, const Shape& result, int64_t dimension,
                    std::string_view name) {
    hlo::ModuleBuilder& builder = edit_.rewriter().builder();
    const ElementType type = result.element_type();
    const hlo::ComputationId sum = edit_.AddReducer(id_, name, Opcode::kAdd, type);
    return edit_.Add(id_, "reduce", Opcode::kReduce, PlainArray(type, result.dimensions()),
                     {array, Zero(type)},
                     {builder.MakeInts(AttributeKey::kDimensions, std::span(&dimension, 1)),
                      builder.MakeComputation(AttributeKey::kToApply, sum)});
  }

  static constexpr ElementType kNumber = ElementType::kS64;

  Edit& edit_;
  InstructionId id_, left_, right_;
  hlo::DotDims dims_;
  int64_t ragged_, groups_;
};

}  // namespace

Result<PassResult> DecomposeRaggedDots(const std::shared_ptr<const Module>& module, Compilation&) {
  return EditEach(module, Opcode::kRaggedDot, [&](Edit& edit, InstructionId id) {
    if (IsDecomposed(*module, id)) RaggedDot(edit, id).Decompose();
  });
}

}  // namespace hloscope::compile
