// Nodes that fold many elements into one, and sorts.
#include <algorithm>
#include <vector>

#include "core/debug/reduce/hunt/nodes.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::Opcode;
using hlo::Shape;

namespace {

// An associative combination, and what is neutral for it.
struct Fold {
  Opcode opcode;
  double neutral;
};

std::optional<Fold> AnyFold(ProgramMaker& maker, ElementType type) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (type == ElementType::kPred) {
    return maker.OneIn(2) ? Fold{Opcode::kAnd, 1} : Fold{Opcode::kOr, 0};
  }
  const uint64_t which = maker.Below(hlo::IsFloat(type) ? 4 : 2);
  if (which == 0) return Fold{Opcode::kAdd, 0};
  if (which == 1) return Fold{Opcode::kMultiply, 1};
  // A type without infinities has none that is neutral.
  const bool is_wide = hlo::BitWidth(type) >= 16;
  if (!is_wide) return std::nullopt;
  return which == 2 ? Fold{Opcode::kMaximum, -kInf} : Fold{Opcode::kMinimum, kInf};
}

std::vector<int64_t> SomeDimensions(ProgramMaker& maker, size_t rank) {
  std::vector<int64_t> dimensions;
  for (size_t i = 0; i < rank; ++i) {
    if (maker.OneIn(2)) dimensions.push_back(static_cast<int64_t>(i));
  }
  if (dimensions.empty() && rank > 0) dimensions.push_back(static_cast<int64_t>(rank) - 1);
  return dimensions;
}

// An array with a fold that its elements can take, and the scalar that changes nothing.
struct Folded {
  DraftId array, neutral;
  ElementType type;
  Opcode opcode;
};

std::optional<Folded> PickFolded(ProgramMaker& maker, Draft& draft) {
  const auto array = PickRanked(maker, draft);
  if (!array) return std::nullopt;
  const ElementType type = draft.shape(*array).element_type();
  const auto fold = AnyFold(maker, type);
  if (!fold) return std::nullopt;
  return Folded{*array, maker.Scalar(draft, type, fold->neutral), type, fold->opcode};
}

hlo::Window AnyWindow(ProgramMaker& maker, const Shape& shape, bool tiled) {
  hlo::Window window;
  for (const int64_t size : shape.dimensions()) {
    hlo::WindowDimension d;
    d.size = maker.Between(1, std::clamp<int64_t>(size, 1, 4));
    d.stride = tiled ? d.size : maker.Between(1, 3);
    if (!tiled && maker.OneIn(2)) {
      d.padding_low = maker.Between(0, 2);
      d.padding_high = maker.Between(0, 2);
    }
    if (!tiled && maker.OneIn(4)) d.window_dilation = maker.Between(1, 2);
    if (!tiled && maker.OneIn(4)) d.base_dilation = maker.Between(1, 2);
    window.dimensions.push_back(d);
  }
  return window;
}

}  // namespace

bool AddReduceNode(ProgramMaker& maker, Draft& draft) {
  const auto folded = PickFolded(maker, draft);
  if (!folded) return false;
  const std::vector<int64_t> dimensions = SomeDimensions(maker, draft.shape(folded->array).rank());
  const hlo::ComputationId with = maker.ScalarComputation(folded->opcode, folded->type);
  return draft
      .Add(Opcode::kReduce, {folded->array, folded->neutral},
           {maker.builder().MakeInts(AttributeKey::kDimensions, dimensions),
            maker.builder().MakeComputation(AttributeKey::kToApply, with)})
      .has_value();
}

// Two arrays at once, each with a fold of its own.
bool AddReducePairNode(ProgramMaker& maker, Draft& draft) {
  const auto a = PickRanked(maker, draft);
  if (!a) return false;
  Shape other = draft.shape(*a);
  const ElementType types[] = {other.element_type(), maker.AnyType()};
  if (types[0] != types[1] && hlo::IsFloat(types[0]) && hlo::IsFloat(types[1])) return false;
  other.set_element_type(types[1]);
  const auto folds = std::array{AnyFold(maker, types[0]), AnyFold(maker, types[1])};
  if (!folds[0] || !folds[1]) return false;
  const DraftId b = maker.PickOrMake(draft, other);
  Draft body = maker.Inner(draft);
  DraftId parameters[4];
  for (size_t i = 0; i < 4; ++i) parameters[i] = body.AddParameter(Shape::Scalar(types[i % 2]));
  const auto first = body.Add(folds[0]->opcode, {parameters[0], parameters[2]});
  const auto second = body.Add(folds[1]->opcode, {parameters[1], parameters[3]});
  if (!first || !second) return false;
  const auto both = body.Add(Opcode::kTuple, {*first, *second});
  const hlo::ComputationId with = body.Emit(maker.FreshName("pair"), *both);
  const DraftId x = maker.Scalar(draft, types[0], folds[0]->neutral);
  const DraftId y = maker.Scalar(draft, types[1], folds[1]->neutral);
  const std::vector<int64_t> dimensions = SomeDimensions(maker, other.rank());
  const auto reduce = draft.Add(Opcode::kReduce, {*a, b, x, y},
                                {maker.builder().MakeInts(AttributeKey::kDimensions, dimensions),
                                 maker.builder().MakeComputation(AttributeKey::kToApply, with)});
  if (!reduce) return false;
  for (int64_t i = 0; i < 2; ++i) {
    (void)draft.Add(Opcode::kGetTupleElement, {*reduce},
                    {maker.builder().MakeInt(AttributeKey::kIndex, i)});
  }
  return true;
}

bool AddReduceWindowNode(ProgramMaker& maker, Draft& draft) {
  const auto folded = PickFolded(maker, draft);
  if (!folded) return false;
  hlo::Window window = AnyWindow(maker, draft.shape(folded->array), false);
  const hlo::ComputationId with = maker.ScalarComputation(folded->opcode, folded->type);
  return draft
      .Add(Opcode::kReduceWindow, {folded->array, folded->neutral},
           {maker.builder().Make(AttributeKey::kWindow, std::move(window)),
            maker.builder().MakeComputation(AttributeKey::kToApply, with)})
      .has_value();
}

// Windows that do not overlap: where they do, the order of additions is open.
bool AddSelectAndScatterNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.Pick(draft, [](const DraftNode& node) {
    return node.shape.IsArray() && node.shape.rank() > 0 && node.roundings == 0 &&
           !hlo::IsComplex(node.shape.element_type()) &&
           node.shape.element_type() != ElementType::kPred;
  });
  if (!a) return false;
  const Shape from = draft.shape(*a);
  if (std::ranges::count(from.dimensions(), 0) > 0) return false;
  hlo::Window window = AnyWindow(maker, from, true);
  std::vector<int64_t> counts;
  for (size_t i = 0; i < from.rank(); ++i) {
    counts.push_back((from.dimension(i) - window.dimensions[i].size) / window.dimensions[i].stride +
                     1);
  }
  const ElementType type = from.element_type();
  const DraftId source = maker.PickOrMake(draft, Shape::Array(type, counts));
  const DraftId zero = maker.Scalar(draft, type, 0);
  Draft select = maker.Inner(draft);
  const DraftId x = select.AddParameter(Shape::Scalar(type));
  const DraftId y = select.AddParameter(Shape::Scalar(type));
  hlo::ModuleBuilder& b = maker.builder();
  const auto larger = select.Add(
      Opcode::kCompare, {x, y},
      {b.MakeEnum(AttributeKey::kDirection, static_cast<int32_t>(hlo::ComparisonDirection::kGe))});
  if (!larger) return false;
  const hlo::ComputationId selects = select.Emit(maker.FreshName("select"), *larger);
  const hlo::ComputationId adds = maker.ScalarComputation(Opcode::kAdd, type);
  return draft
      .Add(Opcode::kSelectAndScatter, {*a, source, zero},
           {b.Make(AttributeKey::kWindow, std::move(window)),
            b.MakeComputation(AttributeKey::kSelectComputation, selects),
            b.MakeComputation(AttributeKey::kScatterComputation, adds)})
      .has_value();
}

// Along a dimension, what came before put together with each slice; associative, which platforms
// ask for.
bool AddScanNode(ProgramMaker& maker, Draft& draft) {
  const auto folded = PickFolded(maker, draft);
  if (!folded || draft.nesting() > 0) return false;
  const Shape whole = draft.shape(folded->array);
  const size_t along = maker.Below(whole.rank());
  Shape slice = Shape::Scalar(folded->type);
  for (size_t d = 0; d < whole.rank(); ++d) {
    if (d != along) slice.add_dimension(whole.dimension(d));
  }
  hlo::ModuleBuilder& b = maker.builder();
  const auto start = draft.Add(Opcode::kBroadcast, {folded->neutral},
                               {b.MakeInts(AttributeKey::kDimensions, {})}, &slice);
  Draft body = maker.Inner(draft);
  const DraftId next = body.AddParameter(slice);
  const DraftId before = body.AddParameter(slice);
  const auto both = body.Add(folded->opcode, {before, next});
  if (!start || !both) return false;
  const auto root = body.Add(Opcode::kTuple, {*both, *both});
  const hlo::ComputationId with = body.Emit(maker.FreshName("scanned"), *root);
  const auto scan =
      draft.Add(Opcode::kScan, {folded->array, *start},
                {b.MakeInts(AttributeKey::kDimensions, std::vector{static_cast<int64_t>(along)}),
                 b.MakeInt(AttributeKey::kNumCarries, 1),
                 b.MakeBool(AttributeKey::kIsReverse, maker.OneIn(2)),
                 b.MakeBool(AttributeKey::kIsAssociative, true),
                 b.MakeComputation(AttributeKey::kToApply, with)});
  if (!scan) return false;
  for (int64_t i = 0; i < 2; ++i) {
    (void)draft.Add(Opcode::kGetTupleElement, {*scan}, {b.MakeInt(AttributeKey::kIndex, i)});
  }
  return true;
}

// Stable, and floats by their total order, so that there is one answer.
bool AddSortNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.Pick(draft, [](const DraftNode& node) {
    return node.shape.IsArray() && node.shape.rank() > 0 && node.roundings == 0 &&
           !hlo::IsComplex(node.shape.element_type()) && node.bits;
  });
  if (!a) return false;
  std::vector<Shape> shapes = {draft.shape(*a)};
  std::vector<DraftId> operands = {*a};
  if (maker.OneIn(2)) {
    shapes.push_back(shapes[0]);
    shapes[1].set_element_type(maker.AnyType());
    operands.push_back(maker.PickOrMake(draft, shapes[1]));
  }
  Draft body = maker.Inner(draft);
  std::vector<DraftId> parameters;
  for (const Shape& shape : shapes) {
    for (int i = 0; i < 2; ++i) {
      parameters.push_back(body.AddParameter(Shape::Scalar(shape.element_type())));
    }
  }
  hlo::ModuleBuilder& b = maker.builder();
  const auto direction =
      maker.OneIn(2) ? hlo::ComparisonDirection::kLt : hlo::ComparisonDirection::kGt;
  std::vector<hlo::Attribute> how = {
      b.MakeEnum(AttributeKey::kDirection, static_cast<int32_t>(direction))};
  if (hlo::IsFloat(shapes[0].element_type())) {
    how.push_back(b.MakeEnum(AttributeKey::kComparisonType,
                             static_cast<int32_t>(hlo::ComparisonType::kTotalOrder)));
  }
  const auto root = body.Add(Opcode::kCompare, {parameters[0], parameters[1]}, how);
  if (!root) return false;
  const hlo::ComputationId order = body.Emit(maker.FreshName("order"), *root);
  const auto along = static_cast<int64_t>(maker.Below(shapes[0].rank()));
  const auto sort = draft.Add(Opcode::kSort, operands,
                              {b.MakeInts(AttributeKey::kDimensions, std::vector{along}),
                               b.MakeBool(AttributeKey::kIsStable, true),
                               b.MakeComputation(AttributeKey::kToApply, order)});
  if (!sort) return false;
  draft.SetRoundings(*sort, 0);
  for (size_t i = 0; shapes.size() > 1 && i < shapes.size(); ++i) {
    (void)draft.Add(Opcode::kGetTupleElement, {*sort},
                    {b.MakeInt(AttributeKey::kIndex, static_cast<int64_t>(i))});
  }
  return true;
}

}  // namespace hloscope::debug
