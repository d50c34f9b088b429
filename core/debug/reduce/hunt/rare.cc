// Nodes that programs seldom have: normalization, the largest few, live sizes of dimensions,
// conversions by chance, scatters into several arrays.
#include <algorithm>
#include <vector>

#include "core/debug/reduce/hunt/nodes.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::Opcode;
using hlo::Shape;

namespace {

void AddElements(ProgramMaker& maker, Draft& draft, DraftId tuple, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    (void)draft.Add(Opcode::kGetTupleElement, {tuple},
                    {maker.builder().MakeInt(AttributeKey::kIndex, static_cast<int64_t>(i))});
  }
}

std::optional<DraftId> PickExact(ProgramMaker& maker, const Draft& draft) {
  return maker.Pick(draft, [](const DraftNode& node) {
    return node.shape.IsArray() && node.shape.rank() > 0 && node.roundings == 0 &&
           node.shape.ElementCount().value_or(0) > 0;
  });
}

}  // namespace

// Of a parameter of its own, whose made-up values are no edges; variances are ones.
bool AddBatchNormNode(ProgramMaker& maker, Draft& draft) {
  constexpr Opcode kKinds[] = {Opcode::kBatchNormTraining, Opcode::kBatchNormInference,
                               Opcode::kBatchNormGrad};
  const Opcode opcode = maker.OneOf(kKinds);
  const ElementType type = maker.OneIn(4) ? ElementType::kF64 : ElementType::kF32;
  std::vector<int64_t> dimensions = maker.AnyDimensions(2 + maker.Below(2));
  const size_t feature = maker.Below(dimensions.size());
  const Shape shape = Shape::Array(type, dimensions);
  const Shape features = Shape::Array(type, {dimensions[feature]});
  std::vector<DraftId> operands = {maker.PickOrMake(draft, shape, 0)};
  const auto add = [&](double value) { operands.push_back(maker.Fill(draft, features, value)); };
  operands.push_back(maker.PickOrMake(draft, features, 0));
  if (opcode != Opcode::kBatchNormGrad) operands.push_back(maker.PickOrMake(draft, features, 0));
  if (opcode != Opcode::kBatchNormTraining) {
    add(0.5);
    add(2);
  }
  if (opcode == Opcode::kBatchNormGrad) operands.push_back(maker.PickOrMake(draft, shape, 0));
  hlo::ModuleBuilder& b = maker.builder();
  const auto id =
      draft.Add(opcode, operands,
                {b.MakeFloat(AttributeKey::kEpsilon, 0.125f),
                 b.MakeInt(AttributeKey::kFeatureIndex, static_cast<int64_t>(feature))});
  if (!id) return false;
  draft.SetRoundings(*id, MostRoundings(type));
  draft.SetBits(*id, false);
  if (opcode != Opcode::kBatchNormInference) AddElements(maker, draft, *id, 3);
  return true;
}

bool AddTopKNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.Pick(draft, [](const DraftNode& node) {
    const ElementType type = node.shape.element_type();
    return node.shape.IsArray() && (node.shape.rank() == 1 || node.shape.rank() == 2) &&
           node.roundings == 0 && node.bits && !hlo::IsComplex(type) && type != ElementType::kPred;
  });
  if (!a) return false;
  const int64_t last = draft.shape(*a).dimensions().back();
  if (last == 0) return false;
  hlo::ModuleBuilder& b = maker.builder();
  const auto id = draft.Add(Opcode::kTopK, {*a},
                            {b.MakeInt(AttributeKey::kK, maker.Between(1, last)),
                             b.MakeBool(AttributeKey::kLargest, maker.OneIn(2))});
  if (!id) return false;
  AddElements(maker, draft, *id, 1);  // which of equal elements come first is open
  return true;
}

bool AddStochasticConvertNode(ProgramMaker& maker, Draft& draft) {
  using enum ElementType;
  constexpr ElementType kFrom[] = {kF32, kF64, kF16, kBF16};
  constexpr ElementType kTo[] = {kS8, kS16, kS32};
  const ElementType from = maker.OneOf(kFrom);
  const ElementType bits = hlo::BitWidth(from) == 64   ? kU64
                           : hlo::BitWidth(from) == 32 ? kU32
                                                       : kU16;
  const Shape shape = Shape::Array(from, maker.AnyDimensions(1 + maker.Below(2)));
  Shape random = shape, result = shape;
  random.set_element_type(bits);
  result.set_element_type(maker.OneOf(kTo));
  const DraftId a = maker.PickOrMake(draft, shape, 0), b = maker.PickOrMake(draft, random);
  return draft.Add(Opcode::kStochasticConvert, {a, b}, {}, &result).has_value();
}

// A dimension is made shorter than its bound; what is left of it is added up, or counted.
bool AddLiveSizeNode(ProgramMaker& maker, Draft& draft) {
  const auto a = PickExact(maker, draft);
  if (!a || draft.nesting() > 0) return false;
  const Shape& shape = draft.shape(*a);
  const ElementType type = shape.element_type();
  if (type == ElementType::kPred) return false;
  const size_t along = maker.Below(shape.rank());
  const std::vector<int64_t> where = {static_cast<int64_t>(along)};
  const int64_t size = maker.Between(0, shape.dimension(along));
  hlo::ModuleBuilder& b = maker.builder();
  const DraftId live = maker.Scalar(draft, ElementType::kS32, static_cast<double>(size));
  const auto shorter = draft.Add(Opcode::kSetDimensionSize, {*a, live},
                                 {b.MakeInts(AttributeKey::kDimensions, where)});
  if (!shorter) return false;
  draft.Hide(*shorter);
  if (maker.OneIn(3)) {
    return draft
        .Add(Opcode::kGetDimensionSize, {*shorter}, {b.MakeInts(AttributeKey::kDimensions, where)})
        .has_value();
  }
  const hlo::ComputationId with = maker.ScalarComputation(Opcode::kAdd, type);
  return draft
      .Add(Opcode::kReduce, {*shorter, maker.Scalar(draft, type, 0)},
           {b.MakeInts(AttributeKey::kDimensions, where),
            b.MakeComputation(AttributeKey::kToApply, with)})
      .has_value();
}

// Rows of two arrays at once, each added by its own.
bool AddScatterPairNode(ProgramMaker& maker, Draft& draft) {
  const auto a = PickExact(maker, draft);
  if (!a) return false;
  const Shape into = draft.shape(*a);
  Shape other = into;
  other.set_element_type(maker.AnyType());
  const ElementType types[] = {into.element_type(), other.element_type()};
  if (types[0] == ElementType::kPred || types[1] == ElementType::kPred) return false;
  if (types[0] != types[1] && hlo::IsFloat(types[0]) && hlo::IsFloat(types[1])) return false;
  const int64_t count = std::max<int64_t>(maker.AnySize(), 1);
  const DraftId indices = maker.PickOrMake(draft, Shape::Array(ElementType::kS32, {count, 1}));
  const DraftId b = maker.PickOrMake(draft, other);
  std::vector<DraftId> operands = {*a, b, indices};
  for (Shape update : {into, other}) {
    update.set_dimension(0, count);
    operands.push_back(maker.PickOrMake(draft, update));
  }
  Draft body = maker.Inner(draft);
  DraftId parameters[4];
  for (size_t i = 0; i < 4; ++i) parameters[i] = body.AddParameter(Shape::Scalar(types[i % 2]));
  const auto first = body.Add(Opcode::kAdd, {parameters[0], parameters[2]});
  const auto second = body.Add(Opcode::kAdd, {parameters[1], parameters[3]});
  if (!first || !second) return false;
  const auto both = body.Add(Opcode::kTuple, {*first, *second});
  hlo::ModuleBuilder& builder = maker.builder();
  const hlo::ComputationId with = body.Emit(maker.FreshName("pair"), *both);
  std::vector<int64_t> window;
  for (size_t i = 1; i < into.rank(); ++i) window.push_back(static_cast<int64_t>(i));
  const std::vector<int64_t> rows = {0};
  std::vector<hlo::Attribute> attributes =
      hlo::MakeScatterDims(builder, {.update_window_dims = window,
                                     .inserted_window_dims = rows,
                                     .scatter_dims_to_operand_dims = rows,
                                     .index_vector_dim = 1});
  attributes.push_back(builder.MakeComputation(AttributeKey::kToApply, with));
  const auto id = draft.Add(Opcode::kScatter, operands, std::move(attributes));
  if (!id) return false;
  AddElements(maker, draft, *id, 2);
  return true;
}

}  // namespace hloscope::debug
