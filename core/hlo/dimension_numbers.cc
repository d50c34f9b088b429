// Dimension numbers: one table of list attributes for each kind, for reading and for making them.
#include "core/hlo/dimension_numbers.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace hloscope::hlo {
namespace {

using DimsSpan = std::span<const int64_t>;

// A list of dimensions among the members of Dims.
template <typename Dims>
struct DimsList {
  AttributeKey key;
  DimsSpan Dims::* member;
  bool is_optional = false;  // not made where it is empty
};

constexpr DimsList<DotSide> kLhsLists[] = {
    {AttributeKey::kLhsBatchDims, &DotSide::batch, true},
    {AttributeKey::kLhsContractingDims, &DotSide::contracting}};
constexpr DimsList<DotSide> kRhsLists[] = {
    {AttributeKey::kRhsBatchDims, &DotSide::batch, true},
    {AttributeKey::kRhsContractingDims, &DotSide::contracting},
    {AttributeKey::kRhsGroupDims, &DotSide::group, true}};
constexpr DimsList<DotDims> kRaggedLists[] = {
    {AttributeKey::kLhsRaggedDims, &DotDims::lhs_ragged, true}};
constexpr DimsList<GatherDims> kGatherLists[] = {
    {AttributeKey::kOffsetDims, &GatherDims::offset_dims},
    {AttributeKey::kCollapsedSliceDims, &GatherDims::collapsed_slice_dims},
    {AttributeKey::kStartIndexMap, &GatherDims::start_index_map},
    {AttributeKey::kOperandBatchingDims, &GatherDims::operand_batching_dims, true},
    {AttributeKey::kStartIndicesBatchingDims, &GatherDims::start_indices_batching_dims, true},
    {AttributeKey::kSliceSizes, &GatherDims::slice_sizes}};
constexpr DimsList<ScatterDims> kScatterLists[] = {
    {AttributeKey::kUpdateWindowDims, &ScatterDims::update_window_dims},
    {AttributeKey::kInsertedWindowDims, &ScatterDims::inserted_window_dims},
    {AttributeKey::kScatterDimsToOperandDims, &ScatterDims::scatter_dims_to_operand_dims},
    {AttributeKey::kInputBatchingDims, &ScatterDims::input_batching_dims, true},
    {AttributeKey::kScatterIndicesBatchingDims, &ScatterDims::scatter_indices_batching_dims, true}};

template <typename Dims, size_t kCount>
void ReadLists(const Module& module, const Attribute& a, const DimsList<Dims> (&lists)[kCount],
               Dims& dims) {
  for (const DimsList<Dims>& list : lists) {
    if (list.key == a.key) dims.*list.member = module.IntsOf(a);
  }
}

template <typename Dims, size_t kCount>
void MakeLists(ModuleBuilder& builder, const DimsList<Dims> (&lists)[kCount], const Dims& dims,
               std::vector<Attribute>& made) {
  for (const DimsList<Dims>& list : lists) {
    const DimsSpan values = dims.*list.member;
    if (!values.empty() || !list.is_optional) made.push_back(builder.MakeInts(list.key, values));
  }
}

bool IsAmong(DimsSpan list, int64_t value) { return std::ranges::find(list, value) != list.end(); }

std::vector<size_t> OthersBelow(size_t rank, DimsSpan a, DimsSpan b) {
  std::vector<size_t> others;
  for (size_t d = 0; d < rank; ++d) {
    const auto dimension = static_cast<int64_t>(d);
    if (!IsAmong(a, dimension) && !IsAmong(b, dimension)) others.push_back(d);
  }
  return others;
}

}  // namespace

bool DotSide::IsFree(int64_t dimension) const {
  return !IsAmong(batch, dimension) && !IsAmong(contracting, dimension) &&
         !IsAmong(group, dimension);
}

std::vector<int64_t> DotSide::Free(size_t rank) const {
  std::vector<int64_t> free;
  for (int64_t d = 0; std::cmp_less(d, rank); ++d) {
    if (IsFree(d)) free.push_back(d);
  }
  return free;
}

std::vector<size_t> GatherDims::WindowDims(size_t rank) const {
  return OthersBelow(rank, collapsed_slice_dims, operand_batching_dims);
}

std::vector<size_t> ScatterDims::WindowDims(size_t rank) const {
  return OthersBelow(rank, inserted_window_dims, input_batching_dims);
}

// Attributes are read from the last to the first: of several with one key the first counts.

DotDims DotDimsOf(const Module& module, std::span<const Attribute> attributes) {
  DotDims dims;
  for (const Attribute& a : attributes | std::views::reverse) {
    ReadLists(module, a, kLhsLists, dims.lhs);
    ReadLists(module, a, kRhsLists, dims.rhs);
    ReadLists(module, a, kRaggedLists, dims);
  }
  return dims;
}

ConvDims ConvDimsOf(const Module& module, std::span<const Attribute> attributes) {
  ConvDims dims;
  for (const Attribute& a : attributes | std::views::reverse) {
    if (a.key == AttributeKey::kDimLabels) dims.labels = &module.Of<ConvolutionDims>(a);
    if (a.key == AttributeKey::kWindow) dims.window = &module.Of<Window>(a);
    if (a.key == AttributeKey::kFeatureGroupCount) dims.feature_groups = module.IntOf(a);
    if (a.key == AttributeKey::kBatchGroupCount) dims.batch_groups = module.IntOf(a);
  }
  return dims;
}

GatherDims GatherDimsOf(const Module& module, std::span<const Attribute> attributes) {
  GatherDims dims;
  for (const Attribute& a : attributes | std::views::reverse) {
    ReadLists(module, a, kGatherLists, dims);
    if (a.key == AttributeKey::kIndexVectorDim) dims.index_vector_dim = module.IntOf(a);
  }
  return dims;
}

ScatterDims ScatterDimsOf(const Module& module, std::span<const Attribute> attributes) {
  ScatterDims dims;
  for (const Attribute& a : attributes | std::views::reverse) {
    ReadLists(module, a, kScatterLists, dims);
    if (a.key == AttributeKey::kIndexVectorDim) dims.index_vector_dim = module.IntOf(a);
  }
  return dims;
}

std::vector<WindowDimension> WindowDimensions(const Window* window, size_t rank) {
  std::vector<WindowDimension> dimensions;
  if (window != nullptr) dimensions = window->dimensions;
  dimensions.resize(rank);
  return dimensions;
}

bool HasGaps(const WindowDimension& window, int64_t input, int64_t taps, int64_t places) {
  const int64_t last =
      (places - 1) * window.stride + (taps - 1) * window.window_dilation - window.padding_low;
  return window.padding_low > 0 || window.base_dilation > 1 || last >= input;
}

std::vector<Attribute> MakeDotDims(ModuleBuilder& builder, const DotDims& dims) {
  std::vector<Attribute> made;
  MakeLists(builder, kLhsLists, dims.lhs, made);
  MakeLists(builder, kRhsLists, dims.rhs, made);
  MakeLists(builder, kRaggedLists, dims, made);
  return made;
}

std::vector<Attribute> MakeGatherDims(ModuleBuilder& builder, const GatherDims& dims) {
  std::vector<Attribute> made;
  MakeLists(builder, kGatherLists, dims, made);
  made.push_back(builder.MakeInt(AttributeKey::kIndexVectorDim, dims.index_vector_dim));
  return made;
}

std::vector<Attribute> MakeScatterDims(ModuleBuilder& builder, const ScatterDims& dims) {
  std::vector<Attribute> made;
  MakeLists(builder, kScatterLists, dims, made);
  made.push_back(builder.MakeInt(AttributeKey::kIndexVectorDim, dims.index_vector_dim));
  return made;
}

}  // namespace hloscope::hlo
