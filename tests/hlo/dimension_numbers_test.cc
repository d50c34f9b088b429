// Dimension numbers as views of attributes, and made again; tables by opcode.
#include "core/hlo/dimension_numbers.h"

#include "core/hlo/opcode_table.h"
#include "gtest/gtest.h"
#include "tests/hlo/parsed.h"

namespace hloscope::hlo {
namespace {

using Ints = std::vector<int64_t>;

Ints ListOf(std::span<const int64_t> list) { return {list.begin(), list.end()}; }

InstructionId RootOf(const Module& module) { return module.entry().root; }

TEST(DimensionNumbers, OfADot) {
  const auto module = Parsed(R"(HloModule m
ENTRY e {
  a = f32[2,3,4] parameter(0)
  b = f32[2,4,5] parameter(1)
  ROOT d = f32[2,3,5] dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}
})");
  const DotDims dims = DotDimsOf(*module, RootOf(*module));
  EXPECT_EQ(ListOf(dims.lhs.batch), Ints({0}));
  EXPECT_EQ(ListOf(dims.lhs.contracting), Ints({2}));
  EXPECT_EQ(ListOf(dims.side(1).contracting), Ints({1}));
  EXPECT_EQ(dims.lhs.Free(3), Ints({1}));
  EXPECT_EQ(dims.rhs.Free(3), Ints({2}));
  EXPECT_TRUE(dims.rhs.group.empty());
  EXPECT_TRUE(dims.lhs_ragged.empty());
}

TEST(DimensionNumbers, OfAGather) {
  const auto module = Parsed(R"(HloModule m
ENTRY e {
  a = f32[7,8,9] parameter(0)
  i = s32[5,2] parameter(1)
  ROOT g = f32[5,9] gather(a, i), offset_dims={1}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1,9}
})");
  const GatherDims dims = GatherDimsOf(*module, RootOf(*module));
  EXPECT_EQ(ListOf(dims.offset_dims), Ints({1}));
  EXPECT_EQ(ListOf(dims.start_index_map), Ints({0, 1}));
  EXPECT_EQ(ListOf(dims.slice_sizes), Ints({1, 1, 9}));
  EXPECT_EQ(dims.index_vector_dim, 1);
  EXPECT_TRUE(dims.operand_batching_dims.empty());
  EXPECT_EQ(dims.WindowDims(3), std::vector<size_t>({2}));
}

TEST(DimensionNumbers, OfAConvolutionWithoutWindow) {
  const auto module = Parsed(R"(HloModule m
ENTRY e {
  a = f32[2,3] parameter(0)
  k = f32[3,4] parameter(1)
  ROOT c = f32[2,4] convolution(a, k), dim_labels=bf_io->bf
})");
  const ConvDims dims = ConvDimsOf(*module, RootOf(*module));
  ASSERT_NE(dims.labels, nullptr);
  EXPECT_EQ(dims.labels->input_feature, 1);
  EXPECT_EQ(dims.feature_groups, 1);
  EXPECT_EQ(dims.batch_groups, 1);
  EXPECT_EQ(WindowDimensions(dims.window, 2), std::vector<WindowDimension>(2));
}

TEST(DimensionNumbers, AreMadeAsTheyAreRead) {
  const Ints batch = {0}, sums = {2}, none;
  ModuleBuilder builder;
  const DotDims dot = {{batch, sums}, {batch, sums}};
  const auto attributes = MakeDotDims(builder, dot);
  const DotDims read = DotDimsOf(builder.module(), attributes);
  EXPECT_EQ(ListOf(read.lhs.batch), batch);
  EXPECT_EQ(ListOf(read.rhs.contracting), sums);
  // Lists that HLO text may leave out are left out where they are empty.
  EXPECT_EQ(MakeDotDims(builder, {{none, none}, {none, none}}).size(), 2u);
  const auto scatter = MakeScatterDims(builder, {.update_window_dims = sums,
                                                 .inserted_window_dims = batch,
                                                 .scatter_dims_to_operand_dims = batch,
                                                 .index_vector_dim = 1});
  const ScatterDims made = ScatterDimsOf(builder.module(), scatter);
  EXPECT_EQ(ListOf(made.update_window_dims), sums);
  EXPECT_EQ(made.index_vector_dim, 1);
  EXPECT_EQ(made.WindowDims(2), std::vector<size_t>({1}));
}

TEST(OpcodeTable, HasARowOrTheDefault) {
  static constexpr OpcodeTable<int> kNumbers = {{{Opcode::kAdd, 1}, {Opcode::kWhile, 2}}, 7};
  static_assert(kNumbers[Opcode::kAdd] == 1 && kNumbers[Opcode::kWhile] == 2);
  static_assert(kNumbers[Opcode::kDot] == 7);
  static constexpr OpcodeSet kSet = {Opcode::kAdd};
  static_assert(kSet.Has(Opcode::kAdd) && !kSet.Has(Opcode::kDot));
}

}  // namespace
}  // namespace hloscope::hlo
