// Nodes that move elements.
#include <algorithm>
#include <numeric>
#include <vector>

#include "core/debug/reduce/hunt/nodes.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::debug {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ElementType;
using hlo::Opcode;
using hlo::Shape;

namespace {

std::vector<int64_t> DimensionsOf(const Shape& shape) {
  return {shape.dimensions().begin(), shape.dimensions().end()};
}

std::vector<int64_t> FirstNumbers(size_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// Starts of a slice, mostly in range and sometimes beyond it, where they are clamped.
std::vector<DraftId> StartsFor(ProgramMaker& maker, Draft& draft, size_t rank) {
  std::vector<DraftId> starts;
  const Shape scalar = Shape::Scalar(ElementType::kS32);
  for (size_t i = 0; i < rank; ++i) {
    const auto exact = [&](const DraftNode& node) { return node.shape == scalar; };
    const auto found = maker.OneIn(2) ? maker.Pick(draft, exact) : std::nullopt;
    starts.push_back(
        found ? *found
              : maker.Scalar(draft, ElementType::kS32, static_cast<double>(maker.Between(-2, 9))));
  }
  return starts;
}

}  // namespace

std::optional<DraftId> PickRanked(ProgramMaker& maker, const Draft& draft) {
  return maker.Pick(
      draft, [](const DraftNode& node) { return node.shape.IsArray() && node.shape.rank() > 0; });
}

bool AddBroadcastNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.PickArray(draft);
  if (!a || draft.shape(*a).rank() > 3) return false;
  const Shape& from = draft.shape(*a);
  std::vector<int64_t> dimensions = DimensionsOf(from), mapped = FirstNumbers(from.rank());
  for (uint64_t i = 0, more = 1 + maker.Below(2); i < more; ++i) {
    const auto at = static_cast<int64_t>(maker.Below(dimensions.size() + 1));
    dimensions.insert(dimensions.begin() + at, maker.AnySize());
    for (int64_t& dimension : mapped) dimension += dimension >= at ? 1 : 0;
  }
  const Shape shape = Shape::Array(from.element_type(), dimensions);
  return draft
      .Add(Opcode::kBroadcast, {*a}, {maker.builder().MakeInts(AttributeKey::kDimensions, mapped)},
           &shape)
      .has_value();
}

// Ones put in and taken out, neighbours joined, or everything in one dimension.
bool AddReshapeNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.PickArray(draft);
  if (!a) return false;
  const Shape& from = draft.shape(*a);
  std::vector<int64_t> dimensions = DimensionsOf(from);
  switch (maker.Below(4)) {
    case 0:
      dimensions = {from.ElementCount().value_or(0)};
      break;
    case 1:
      std::erase(dimensions, 1);
      break;
    case 2:
      dimensions.insert(
          dimensions.begin() + static_cast<int64_t>(maker.Below(dimensions.size() + 1)), 1);
      break;
    default:
      if (dimensions.size() < 2) return false;
      const size_t at = maker.Below(dimensions.size() - 1);
      dimensions[at] *= dimensions[at + 1];
      dimensions.erase(dimensions.begin() + static_cast<int64_t>(at) + 1);
  }
  const Shape shape = Shape::Array(from.element_type(), dimensions);
  return draft.Add(Opcode::kReshape, {*a}, {}, &shape).has_value();
}

bool AddTransposeNode(ProgramMaker& maker, Draft& draft) {
  const auto a = PickRanked(maker, draft);
  if (!a) return false;
  std::vector<int64_t> order = FirstNumbers(draft.shape(*a).rank());
  for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[maker.Below(i + 1)]);
  return draft
      .Add(Opcode::kTranspose, {*a}, {maker.builder().MakeInts(AttributeKey::kDimensions, order)})
      .has_value();
}

bool AddReverseNode(ProgramMaker& maker, Draft& draft) {
  const auto a = PickRanked(maker, draft);
  if (!a) return false;
  std::vector<int64_t> dimensions;
  for (size_t i = 0; i < draft.shape(*a).rank(); ++i) {
    if (maker.OneIn(2)) dimensions.push_back(static_cast<int64_t>(i));
  }
  return draft
      .Add(Opcode::kReverse, {*a},
           {maker.builder().MakeInts(AttributeKey::kDimensions, dimensions)})
      .has_value();
}

bool AddSliceNode(ProgramMaker& maker, Draft& draft) {
  const auto a = PickRanked(maker, draft);
  if (!a) return false;
  std::vector<int64_t> bounds;
  for (const int64_t size : draft.shape(*a).dimensions()) {
    const int64_t start = maker.OneIn(2) ? 0 : maker.Between(0, size);
    const int64_t limit = maker.OneIn(2) ? size : maker.Between(start, size);
    const int64_t stride = maker.OneIn(3) ? maker.Between(1, 3) : 1;
    bounds.insert(bounds.end(), {start, limit, stride});
  }
  return draft.Add(Opcode::kSlice, {*a}, {maker.builder().MakeInts(AttributeKey::kSlice, bounds)})
      .has_value();
}

bool AddPadNode(ProgramMaker& maker, Draft& draft) {
  const auto a = PickRanked(maker, draft);
  if (!a) return false;
  const Shape shape = draft.shape(*a);
  const DraftId value = maker.PickOrMake(draft, Shape::Scalar(shape.element_type()));
  std::vector<int64_t> padding;
  for (size_t i = 0; i < shape.rank(); ++i) {
    padding.push_back(maker.Between(-1, 2));
    padding.push_back(maker.Between(-1, 2));
    padding.push_back(maker.OneIn(3) ? maker.Between(0, 2) : 0);
  }
  return draft
      .Add(Opcode::kPad, {*a, value}, {maker.builder().MakeInts(AttributeKey::kPadding, padding)})
      .has_value();
}

bool AddConcatenateNode(ProgramMaker& maker, Draft& draft) {
  const auto a = PickRanked(maker, draft);
  if (!a) return false;
  const Shape shape = draft.shape(*a);
  const size_t along = maker.Below(shape.rank());
  std::vector<DraftId> operands = {*a};
  for (uint64_t i = 0, more = 1 + maker.Below(3); i < more; ++i) {
    Shape other = shape;
    if (maker.OneIn(2)) other.set_dimension(along, maker.AnySize());
    operands.push_back(maker.PickOrMake(draft, other));
  }
  return draft
      .Add(Opcode::kConcatenate, operands,
           {maker.builder().MakeInts(AttributeKey::kDimensions,
                                     std::vector{static_cast<int64_t>(along)})})
      .has_value();
}

bool AddDynamicSliceNode(ProgramMaker& maker, Draft& draft) {
  const auto a = PickRanked(maker, draft);
  if (!a) return false;
  std::vector<int64_t> sizes = DimensionsOf(draft.shape(*a));
  for (int64_t& size : sizes) size = maker.Between(std::min<int64_t>(size, 1), size);
  std::vector<DraftId> operands = {*a};
  for (const DraftId start : StartsFor(maker, draft, sizes.size())) operands.push_back(start);
  return draft
      .Add(Opcode::kDynamicSlice, operands,
           {maker.builder().MakeInts(AttributeKey::kDynamicSliceSizes, sizes)})
      .has_value();
}

bool AddDynamicUpdateSliceNode(ProgramMaker& maker, Draft& draft) {
  const auto a = PickRanked(maker, draft);
  if (!a) return false;
  Shape update = draft.shape(*a);
  for (size_t i = 0; i < update.rank(); ++i) {
    const int64_t size = update.dimension(i);
    update.set_dimension(i, maker.Between(std::min<int64_t>(size, 1), size));
  }
  std::vector<DraftId> operands = {*a, maker.PickOrMake(draft, update)};
  for (const DraftId start : StartsFor(maker, draft, update.rank())) operands.push_back(start);
  return draft.Add(Opcode::kDynamicUpdateSlice, operands).has_value();
}

// Rows of the first dimension, or elements of the first two.
bool AddGatherNode(ProgramMaker& maker, Draft& draft) {
  const auto a = PickRanked(maker, draft);
  if (!a) return false;
  const Shape from = draft.shape(*a);
  if (std::ranges::count(from.dimensions(), 0) > 0) return false;
  const size_t indexed = std::min<size_t>(from.rank(), 1 + maker.Below(2));
  const int64_t count = std::max<int64_t>(maker.AnySize(), 1);
  const DraftId indices = maker.PickOrMake(
      draft, Shape::Array(ElementType::kS32, {count, static_cast<int64_t>(indexed)}));
  std::vector<int64_t> sizes = DimensionsOf(from);
  std::fill_n(sizes.begin(), indexed, 1);
  const size_t offsets = from.rank() - indexed;
  std::vector<int64_t> offset_dims = FirstNumbers(offsets);
  for (int64_t& dimension : offset_dims) ++dimension;
  const std::vector<int64_t> indexed_dims = FirstNumbers(indexed);
  const hlo::GatherDims dims = {.offset_dims = offset_dims,
                                .collapsed_slice_dims = indexed_dims,
                                .start_index_map = indexed_dims,
                                .index_vector_dim = 1,
                                .slice_sizes = sizes};
  return draft.Add(Opcode::kGather, {*a, indices}, hlo::MakeGatherDims(maker.builder(), dims))
      .has_value();
}

// Rows that are added, or the larger kept, so that their order does not matter.
bool AddScatterNode(ProgramMaker& maker, Draft& draft) {
  const auto a = PickRanked(maker, draft);
  if (!a) return false;
  const Shape into = draft.shape(*a);
  if (std::ranges::count(into.dimensions(), 0) > 0) return false;
  const int64_t count = std::max<int64_t>(maker.AnySize(), 1);
  const DraftId indices = maker.PickOrMake(draft, Shape::Array(ElementType::kS32, {count, 1}));
  std::vector<int64_t> update = DimensionsOf(into);
  update[0] = count;
  const DraftId updates = maker.PickOrMake(draft, Shape::Array(into.element_type(), update));
  constexpr Opcode kCombine[] = {Opcode::kAdd, Opcode::kMaximum, Opcode::kMinimum, Opcode::kOr};
  const Opcode combine =
      into.element_type() == ElementType::kPred ? Opcode::kOr : kCombine[maker.Below(3)];
  if (hlo::IsComplex(into.element_type()) && combine != Opcode::kAdd) return false;
  std::vector<int64_t> window = FirstNumbers(into.rank() - 1);
  for (int64_t& dimension : window) ++dimension;
  hlo::ModuleBuilder& b = maker.builder();
  const hlo::ComputationId with = maker.ScalarComputation(combine, into.element_type());
  const std::vector<int64_t> rows = {0};
  std::vector<hlo::Attribute> attributes =
      hlo::MakeScatterDims(b, {.update_window_dims = window,
                               .inserted_window_dims = rows,
                               .scatter_dims_to_operand_dims = rows,
                               .index_vector_dim = 1});
  attributes.push_back(b.MakeComputation(AttributeKey::kToApply, with));
  return draft.Add(Opcode::kScatter, {*a, indices, updates}, std::move(attributes)).has_value();
}

}  // namespace hloscope::debug
