// Nodes of linear algebra, transforms and random bits.
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

ElementType OneOfTypes(ProgramMaker& maker, std::initializer_list<ElementType> types) {
  return types.begin()[maker.Below(types.size())];
}

}  // namespace

bool AddDotNode(ProgramMaker& maker, Draft& draft) {
  const ElementType type = maker.AnyType();
  if (type == ElementType::kPred) return false;
  const int64_t rows = maker.AnySize(), inner = maker.AnySize(), columns = maker.AnySize();
  std::vector<int64_t> left = {rows, inner}, right = {inner, columns};
  if (maker.OneIn(3)) std::swap(left[0], left[1]);
  if (maker.OneIn(3)) std::swap(right[0], right[1]);
  if (maker.OneIn(4)) left = {inner};
  int64_t left_inner = static_cast<int64_t>(std::ranges::find(left, inner) - left.begin());
  int64_t right_inner = static_cast<int64_t>(std::ranges::find(right, inner) - right.begin());
  std::vector<int64_t> batch;
  if (maker.OneIn(3)) {
    const int64_t size = maker.AnySize();
    left.insert(left.begin(), size);
    right.insert(right.begin(), size);
    ++left_inner;
    ++right_inner;
    batch.push_back(0);
  }
  const DraftId a = maker.PickOrMake(draft, Shape::Array(type, left));
  const DraftId b = maker.PickOrMake(draft, Shape::Array(type, right));
  const std::vector<int64_t> left_sums = {left_inner}, right_sums = {right_inner};
  const hlo::DotDims dims = {{batch, left_sums}, {batch, right_sums}};
  return draft.Add(Opcode::kDot, {a, b}, hlo::MakeDotDims(maker.builder(), dims)).has_value();
}

bool AddConvolutionNode(ProgramMaker& maker, Draft& draft) {
  const ElementType type = maker.AnyType();
  if (type == ElementType::kPred) return false;
  const size_t spatial = 1 + maker.Below(2);
  const int64_t groups = maker.OneIn(4) ? 2 : 1;
  const int64_t features = maker.Between(1, 3);
  std::vector<int64_t> input = {maker.Between(1, 3)}, kernel;
  hlo::Window window;
  hlo::ConvolutionDims dims;
  for (size_t i = 0; i < spatial; ++i) {
    hlo::WindowDimension d;
    d.size = maker.Between(1, 3);
    d.stride = maker.Between(1, 2);
    d.padding_low = maker.Between(0, 2);
    d.padding_high = maker.Between(0, 2);
    if (maker.OneIn(4)) d.window_dilation = 2;
    if (maker.OneIn(4)) d.base_dilation = 2;
    d.window_reversal = maker.OneIn(5);
    window.dimensions.push_back(d);
    input.push_back(maker.Between(3, 7));
    kernel.push_back(d.size);
    const auto at = static_cast<int64_t>(i);
    dims.input_spatial.push_back(at + 1);
    dims.output_spatial.push_back(at + 1);
    dims.kernel_spatial.push_back(at);
  }
  const auto rank = static_cast<int64_t>(spatial);
  input.push_back(features * groups);
  kernel.push_back(features);
  kernel.push_back(groups * maker.Between(1, 3));
  dims.input_feature = dims.output_feature = rank + 1;
  dims.kernel_input_feature = rank;
  dims.kernel_output_feature = rank + 1;
  const DraftId a = maker.PickOrMake(draft, Shape::Array(type, input));
  const DraftId b = maker.PickOrMake(draft, Shape::Array(type, kernel));
  hlo::ModuleBuilder& builder = maker.builder();
  return draft
      .Add(Opcode::kConvolution, {a, b},
           {builder.Make(AttributeKey::kWindow, std::move(window)),
            builder.Make(AttributeKey::kDimLabels, std::move(dims)),
            builder.MakeInt(AttributeKey::kFeatureGroupCount, groups)})
      .has_value();
}

// Of a parameter that nothing else uses: made-up inputs are positive definite there.
bool AddCholeskyNode(ProgramMaker& maker, Draft& draft) {
  if (draft.nesting() > 0) return false;
  const int64_t size = maker.Between(1, 5);
  const ElementType type =
      OneOfTypes(maker, {ElementType::kF32, ElementType::kF64, ElementType::kC64});
  const DraftId a = draft.AddParameter(Shape::Array(type, {size, size}));
  const auto id = draft.Add(Opcode::kCholesky, {a},
                            {maker.builder().MakeBool(AttributeKey::kLower, maker.OneIn(2))});
  if (id) draft.SetRoundings(*id, MostRoundings(type));
  return id.has_value();
}

bool AddTriangularSolveNode(ProgramMaker& maker, Draft& draft) {
  if (draft.nesting() > 0) return false;
  const int64_t size = maker.Between(1, 4), columns = maker.Between(1, 4);
  const ElementType type =
      OneOfTypes(maker, {ElementType::kF32, ElementType::kF64, ElementType::kC64});
  const bool left = maker.OneIn(2);
  const DraftId a = draft.AddParameter(Shape::Array(type, {size, size}));
  const DraftId b = maker.PickOrMake(
      draft, left ? Shape::Array(type, {size, columns}) : Shape::Array(type, {columns, size}));
  hlo::ModuleBuilder& builder = maker.builder();
  const auto id = draft.Add(
      Opcode::kTriangularSolve, {a, b},
      {builder.MakeBool(AttributeKey::kLeftSide, left),
       builder.MakeBool(AttributeKey::kLower, maker.OneIn(2)),
       builder.MakeBool(AttributeKey::kUnitDiagonal, maker.OneIn(2)),
       builder.MakeEnum(AttributeKey::kTransposeA, static_cast<int32_t>(maker.Between(1, 3)))});
  if (id) draft.SetRoundings(*id, MostRoundings(type));
  return id.has_value();
}

bool AddFftNode(ProgramMaker& maker, Draft& draft) {
  const int64_t length = maker.Between(1, 9);
  const auto kind = static_cast<hlo::FftType>(maker.Below(4));
  const bool wide = maker.OneIn(3);
  const ElementType real = wide ? ElementType::kF64 : ElementType::kF32;
  const ElementType complex = wide ? ElementType::kC128 : ElementType::kC64;
  const bool takes_real = kind == hlo::FftType::kRfft;
  const int64_t last = kind == hlo::FftType::kIrfft ? length / 2 + 1 : length;
  const DraftId a = maker.PickOrMake(
      draft, Shape::Array(takes_real ? real : complex, {maker.Between(1, 3), last}), 0);
  const auto id =
      draft.Add(Opcode::kFft, {a},
                {maker.builder().MakeEnum(AttributeKey::kFftType, static_cast<int32_t>(kind)),
                 maker.builder().MakeInts(AttributeKey::kFftLength, std::vector{length})});
  if (id) draft.SetRoundings(*id, MostRoundings(real));
  return id.has_value();
}

bool AddRngBitGeneratorNode(ProgramMaker& maker, Draft& draft) {
  const bool philox = maker.OneIn(2);
  const Shape state = Shape::Array(ElementType::kU64, {philox ? 3 : 2});
  const ElementType type = OneOfTypes(
      maker, {ElementType::kU8, ElementType::kU16, ElementType::kU32, ElementType::kU64});
  const Shape bits = Shape::Array(type, maker.AnyDimensions(1 + maker.Below(2)));
  const Shape both = Shape::Tuple({state, bits});
  const auto algorithm = philox ? hlo::RandomAlgorithm::kPhilox : hlo::RandomAlgorithm::kThreeFry;
  const auto id = draft.Add(
      Opcode::kRngBitGenerator, {maker.PickOrMake(draft, state)},
      {maker.builder().MakeEnum(AttributeKey::kRngAlgorithm, static_cast<int32_t>(algorithm))},
      &both);
  if (!id) return false;
  for (int64_t i = 0; i < 2; ++i) {
    (void)draft.Add(Opcode::kGetTupleElement, {*id},
                    {maker.builder().MakeInt(AttributeKey::kIndex, i)});
  }
  return true;
}

}  // namespace hloscope::debug
