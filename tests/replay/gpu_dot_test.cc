// Dots and convolutions on the simulated GPU: tensor cores, tiles and lanes, of any types and
// layouts, cut into parts of the depth, with what is computed of their elements.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/hlo/float_types.h"
#include "core/replay/inputs/inputs.h"
#include "tests/replay/checked_runs.h"
#include "tests/replay/model_times.h"

namespace hloscope::replay {
namespace {

using hlo::ElementType;
using hlo::Literal;

std::vector<double> Numbers(const Literal& literal) {
  const ElementType type = hlo::RealPart(literal.shape().element_type());
  const auto count = literal.bytes().size() / static_cast<size_t>(hlo::StorageBytes(type));
  std::vector<double> numbers(count);
  if (hlo::IsFloat(type)) {
    hlo::DecodeFloats(type, literal.bytes(), numbers);
  } else {
    std::vector<int32_t> whole(count);
    std::memcpy(whole.data(), literal.bytes().data(), sizeof(int32_t) * count);
    std::ranges::copy(whole, numbers.begin());
  }
  return numbers;
}

struct Expected {
  double tolerance = 0;  // of the largest number
  int64_t kernels = 1;
};

void ExpectAsMeant(const std::string& text, const Expected& expected) {
  SCOPED_TRACE(text);
  const auto module = hlo::Parsed(text);
  InputOptions how;
  how.seed = 7;
  const auto made = MakeInputs(*module, how);
  ASSERT_TRUE(made.has_value()) << made.error().ToString();
  const std::vector<Literal>& inputs = made->literals;
  const Ran own = RunOn("gpu-sim", text, inputs), meant = RunOn("interpreter", text, inputs);
  EXPECT_TRUE(own.fallbacks.empty()) << own.fallbacks[0].reason;
  EXPECT_TRUE(own.findings.empty());
  EXPECT_EQ(own.executed.kernels, expected.kernels);
  ASSERT_EQ(own.results.size(), meant.results.size());
  for (size_t i = 0; i < own.results.size(); ++i) {
    const std::vector<double> x = Numbers(own.results[i]), y = Numbers(meant.results[i]);
    double largest = 0, off = 0;
    for (size_t k = 0; k < x.size(); ++k) {
      if (std::isnan(x[k]) && std::isnan(y[k])) continue;
      EXPECT_EQ(std::isnan(x[k]), std::isnan(y[k])) << k;
      largest = std::max(largest, std::abs(y[k]));
      off = std::max(off, std::abs(x[k] - y[k]));
    }
    EXPECT_LE(off, expected.tolerance * largest) << "largest " << largest;
  }
  // The same bits each time, whatever the order of blocks.
  const Ran again = RunOn("gpu-sim", text, inputs, 3);
  for (size_t i = 0; i < own.results.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(own.results[i].bytes(), again.results[i].bytes()));
  }
}

std::string Dot(const std::string& left, const std::string& right, const std::string& out,
                int64_t rows, int64_t columns, int64_t depth, bool left_turned, bool right_turned) {
  return fmt::format(
      "HloModule m\nENTRY e {{\n  a = {}[{},{}] parameter(0)\n  b = {}[{},{}] parameter(1)\n"
      "  ROOT r = {}[{},{}] dot(a, b), lhs_contracting_dims={{{}}}, "
      "rhs_contracting_dims={{{}}}\n}}\n",
      left, left_turned ? depth : rows, left_turned ? rows : depth, right,
      right_turned ? columns : depth, right_turned ? depth : columns, out, rows, columns,
      left_turned ? 0 : 1, right_turned ? 1 : 0);
}

struct Types {
  const char *left, *right, *out;
  double tolerance;
};
constexpr Types kTypes[] = {{"bf16", "bf16", "f32", 2e-6},
                            {"f16", "f16", "f32", 2e-6},
                            {"f16", "f16", "f16", 1e-3},
                            {"bf16", "f32", "f32", 2e-6},
                            {"f32", "bf16", "f32", 2e-6},
                            {"f32", "f32", "f32", 2e-6},
                            {"s8", "s8", "s32", 0},
                            {"u8", "s8", "s32", 0},
                            {"s8", "u8", "s32", 0},
                            {"u8", "u8", "s32", 0},
                            {"f8e4m3fn", "f8e4m3fn", "f32", 2e-6},
                            {"f8e5m2", "f8e4m3fn", "f32", 2e-6},
                            {"f8e4m3b11fnuz", "f8e5m2fnuz", "f32", 2e-6},
                            {"f8e4m3", "bf16", "f32", 2e-6},
                            {"f64", "f64", "f64", 1e-14},
                            {"s32", "s32", "s32", 0}};

TEST(GpuDot, AllTypesAndLayoutsAreAsMeant) {
  for (const Types& types : kTypes) {
    for (const bool left_turned : {false, true}) {
      for (const bool right_turned : {false, true}) {
        ExpectAsMeant(
            Dot(types.left, types.right, types.out, 64, 96, 64, left_turned, right_turned),
            {types.tolerance});
        ExpectAsMeant(
            Dot(types.left, types.right, types.out, 37, 29, 53, left_turned, right_turned),
            {types.tolerance});
      }
    }
  }
}

TEST(GpuDot, PartsOfTheDepthAreAddedUpInOrder) {
  for (const Types& types : kTypes) {
    ExpectAsMeant(Dot(types.left, types.right, types.out, 32, 40, 2000, false, false),
                  {5 * types.tolerance});
  }
  ExpectAsMeant(Dot("c64", "c64", "c64", 16, 16, 640, false, true), {1e-5});
}

TEST(GpuDot, BatchesBeginAnywhere) {
  for (const Types& types : kTypes) {
    for (const int64_t columns : {48, 45}) {
      ExpectAsMeant(
          fmt::format("HloModule m\nENTRY e {{\n  a = {0}[3,35,2,32] parameter(0)\n"
                      "  b = {1}[3,32,2,{3}] parameter(1)\n  ROOT r = {2}[3,2,35,{3}] dot(a, b), "
                      "lhs_batch_dims={{0,2}}, rhs_batch_dims={{0,2}}, lhs_contracting_dims={{3}}, "
                      "rhs_contracting_dims={{1}}\n}}\n",
                      types.left, types.right, types.out, columns),
          {types.tolerance});
    }
  }
}

TEST(GpuDot, WhatIsNotFiniteOfF32StaysSo) {
  ExpectAsMeant(R"(HloModule m
ENTRY e {
  a = bf16[16,16] parameter(0)
  z = f32[16,16] parameter(1)
  big = f32[] constant(3.4e38)
  huge = f32[] constant(inf)
  none = f32[] constant(nan)
  bigs = f32[16,16] broadcast(big), dimensions={}
  infs = f32[16,16] broadcast(huge), dimensions={}
  nans = f32[16,16] broadcast(none), dimensions={}
  i = s32[16,16] iota(), iota_dimension=1
  one = s32[] constant(1)
  ones = s32[16,16] broadcast(one), dimensions={}
  three = s32[] constant(3)
  threes = s32[16,16] broadcast(three), dimensions={}
  first = pred[16,16] compare(i, ones), direction=LT
  third = pred[16,16] compare(i, threes), direction=EQ
  second = pred[16,16] compare(i, ones), direction=EQ
  x = f32[16,16] select(first, infs, z)
  y = f32[16,16] select(second, nans, x)
  w = f32[16,16] select(third, bigs, y)
  ROOT r = f32[16,16] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)",
                {2e-6, 2});
}

// An infinity of bf16 times a number whose lower bits are 0.
TEST(GpuDot, InfinitiesOfBf16BesideF32) {
  ExpectAsMeant(R"(HloModule m
ENTRY e {
  z = bf16[16,32] parameter(0)
  huge = bf16[] constant(-inf)
  infs = bf16[16,32] broadcast(huge), dimensions={}
  i = s32[16,32] iota(), iota_dimension=0
  three = s32[] constant(3)
  threes = s32[16,32] broadcast(three), dimensions={}
  third = pred[16,32] compare(i, threes), direction=EQ
  a = bf16[16,32] select(third, infs, z)
  b = f32[32,24] parameter(1)
  eight = f32[] constant(8)
  eights = f32[32,24] broadcast(eight), dimensions={}
  product = f32[32,24] multiply(b, eights)
  whole = f32[32,24] floor(product)
  ROOT r = f32[16,24] dot(a, whole), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)",
                {2e-6, 2});
}

TEST(GpuDot, WhatIsComputedOfElementsIsPartOfTheKernel) {
  for (const auto& [types, tolerance] :
       {std::pair{std::pair{"bf16", "f32"}, 2e-6}, {std::pair{"f32", "f32"}, 2e-6}}) {
    ExpectAsMeant(fmt::format("HloModule m\nENTRY e {{\n  a = {0}[48,40] parameter(0)\n"
                              "  b = {0}[40,50] parameter(1)\n  c = {1}[50] parameter(2)\n"
                              "  d = {1}[48,50] parameter(3)\n  p = {1}[48,50] dot(a, b), "
                              "lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
                              "  bias = {1}[48,50] broadcast(c), dimensions={{1}}\n"
                              "  s = {1}[48,50] add(p, bias)\n  t = {1}[48,50] maximum(s, d)\n"
                              "  u = {1}[48,50] multiply(s, d)\n  ROOT r = ({1}[48,50], "
                              "{1}[48,50]) tuple(t, u)\n}}\n",
                              types.first, types.second),
                  {tolerance});
  }
}

TEST(GpuDot, ConversionsAndTransposesArePartOfTheKernel) {
  ExpectAsMeant(R"(HloModule m
ENTRY e {
  a = bf16[4,64,32] parameter(0)
  b = bf16[4,48,32] parameter(1)
  x = f32[4,64,32] convert(a)
  y = f32[4,48,32] convert(b)
  t = f32[4,32,48] transpose(y), dimensions={0,2,1}
  d = f32[4,64,48] dot(x, t), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  u = f32[4,48,64] transpose(d), dimensions={0,2,1}
  ROOT r = bf16[4,48,64] convert(u)
}
)",
                {5e-3});
}

// ---- What else needs fewer launches on a GPU.

TEST(GpuFusion, SmallLoopsOfOneLevelAreOneLaunch) {
  ExpectAsMeant(R"(HloModule m
ENTRY e {
  a = f32[64,33] parameter(0)
  b = f32[129] parameter(1)
  c = f32[7,5,3] parameter(2)
  x = f32[64,33] negate(a)
  y = f32[129] multiply(b, b)
  z = f32[7,5,3] add(c, c)
  ROOT r = (f32[64,33], f32[129], f32[7,5,3]) tuple(x, y, z)
}
)",
                {0, 1});
}

TEST(GpuFusion, LargeTransposesTakeArithmeticIn) {
  ExpectAsMeant(R"(HloModule m
ENTRY e {
  a = f32[600,700] parameter(0)
  n = f32[600,700] negate(a)
  t = f32[700,600] transpose(n), dimensions={1,0}
  ROOT r = f32[700,600] multiply(t, t)
}
)",
                {0, 1});
}

TEST(GpuFusion, AReduceOverNothingIsNoKernelOfItsOwn) {
  ExpectAsMeant(R"(HloModule m
f {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = f32[] add(x, y)
}
ENTRY e {
  a = f32[40,50] parameter(0)
  z = f32[] constant(0)
  s = f32[40] reduce(a, z), dimensions={1}, to_apply=f
  w = f32[40,1] reshape(s)
  n = f32[40,1] negate(w)
  v = f32[40] reduce(n, z), dimensions={1}, to_apply=f
  b = f32[40,50] broadcast(v), dimensions={0}
  ROOT r = f32[40,50] add(a, b)
}
)",
                {1e-6, 1});
}

// Against f64, by numbers of 16 bits: every one of them.
TEST(GpuFunctions, OfSixteenBitsAreRoundedOnce) {
  for (const std::string type : {"bf16", "f16"}) {
    for (const std::string function : {"exponential", "logistic", "tanh", "rsqrt"}) {
      const std::string text = fmt::format(
          "HloModule m\nENTRY e {{\n  p = u16[65536] parameter(0)\n"
          "  x = {0}[65536] bitcast-convert(p)\n  y = {0}[65536] {1}(x)\n"
          "  w = f64[65536] convert(x)\n  e = f64[65536] {1}(w)\n  m = {0}[65536] convert(e)\n"
          "  ROOT r = ({0}[65536], {0}[65536]) tuple(y, m)\n}}\n",
          type, function);
      std::vector<uint16_t> all(65536);
      for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
      const std::vector<Literal> inputs = {
          Literal::Of<uint16_t>(hlo::Shape::Array(ElementType::kU16, {65536}), all)};
      const Ran ran = RunOn("gpu-sim", text, inputs);
      ASSERT_EQ(ran.results.size(), 2u);
      std::vector<uint16_t> own(65536), meant(65536);
      std::memcpy(own.data(), ran.results[0].bytes().data(), 2 * own.size());
      std::memcpy(meant.data(), ran.results[1].bytes().data(), 2 * meant.size());
      const std::vector<double> x = Numbers(ran.results[0]), y = Numbers(ran.results[1]);
      int64_t off = 0;
      for (size_t i = 0; i < own.size(); ++i) {
        if (std::isnan(x[i]) && std::isnan(y[i])) continue;
        ASSERT_LE(std::abs(own[i] - meant[i]), 1) << type << ' ' << function << ' ' << i;
        off += own[i] != meant[i];
      }
      // Below 0.51 ulp: at most one of fifty is rounded the other way.
      EXPECT_LE(off, 65536 / 50) << type << ' ' << function;
    }
  }
}

// A convolution of x and k, whose dimensions are in the order of the labels.
struct Convolution {
  const char *x, *k, *out, *window, *labels;
  const char* groups = "";
};
std::string ModuleOf(const Convolution& each, const char* type, const char* out) {
  return fmt::format(
      "HloModule m\nENTRY e {{\n  x = {0}[{2}] parameter(0)\n  k = {0}[{3}] parameter(1)\n"
      "  ROOT r = {1}[{4}] convolution(x, k), window={{{5}}}, dim_labels={6}{7}\n}}\n",
      type, out, each.x, each.k, each.out, each.window, each.labels, each.groups);
}
// Padding, strides, holes, windows that are turned, groups, and the gradient of weights, which has
// few results of long sums.
constexpr Convolution kConvolutions[] = {
    {"2,9,8,4", "3,3,4,6", "2,9,8,6", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"},
    {"2,9,8,4", "3,3,4,6", "2,17,24,6", "size=3x3 pad=1_1x2_2 lhs_dilate=2x3", "b01f_01io->b01f"},
    {"2,4,9,8", "6,4,3,3", "2,6,8,7", "size=3x3 pad=2_1x0_3 rhs_dilate=2x2 rhs_reversal=1x1",
     "bf01_oi01->bf01"},
    {"2,9,8,4", "3,3,1,8", "2,9,8,8", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f",
     ", feature_group_count=4"},
    {"4,9,3", "3,3,6", "2,5,6", "size=3 stride=2 pad=1_1", "b0f_0io->b0f", ", batch_group_count=2"},
    {"2,6,6,6", "3,3,6,2", "2,3,3,2", "size=3x3 pad=-1_0x1_-1 stride=1x2", "b01f_01io->b01f"},
    {"2,16,16,3", "2,16,16,8", "3,3,3,8", "size=16x16 pad=1_1x1_1", "f01b_i01o->01bf"},
};

TEST(GpuDot, ConvolutionsOfFewResultsAreAsMeant) {
  for (const Types& types : kTypes) {
    if (std::string_view(types.left) != types.right) continue;
    for (const Convolution& each : kConvolutions) {
      ExpectAsMeant(ModuleOf(each, types.left, types.out), {5 * types.tolerance});
    }
  }
  ExpectAsMeant(ModuleOf(kConvolutions[1], "c64", "c64"), {1e-6});
}

TEST(GpuDot, DotsOfFewResultsAreAsMeant) {
  for (const Types& types : kTypes) {
    for (const auto& [rows, columns, depth] : {std::tuple<int64_t, int64_t, int64_t>{8, 10, 5},
                                               {8, 3, 31},
                                               {3, 100, 33},
                                               {3, 5, 700},
                                               {3, 9, 4000}}) {
      ExpectAsMeant(Dot(types.left, types.right, types.out, rows, columns, depth, false, true),
                    {5 * types.tolerance});
    }
  }
  ExpectAsMeant(Dot("c64", "c64", "c64", 3, 5, 100, true, false), {1e-6});
}

double ModelTimeOf(const std::string& text) {
  InputOptions how;
  how.seed = 7;
  return replay::ModelTimeOf(text, MakeInputs(*hlo::Parsed(text), how)->literals);
}

// Long sums of few results by a thread each took up to 107 us, 24 us and 5.9 us.
TEST(GpuDot, FewResultsDoNotWaitForOneThread) {
  for (const Convolution& each : kConvolutions) {
    EXPECT_LE(ModelTimeOf(ModuleOf(each, "f32", "f32")), 3) << each.x;
  }
  EXPECT_LE(ModelTimeOf(Dot("f32", "f32", "f32", 3, 5, 700, false, false)), 2);
  EXPECT_LE(ModelTimeOf(R"(HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
ENTRY e {
  array = f32[1024,64] parameter(0)
  i = s32[8192,1] iota(), iota_dimension=0
  last = s32[] constant(1023)
  lasts = s32[8192,1] broadcast(last), dimensions={}
  indices = s32[8192,1] and(i, lasts)
  updates = f32[8192,64] parameter(1)
  ROOT r = f32[1024,64] scatter(array, indices, updates), update_window_dims={1},
    inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum
})"),
            4.4);
  EXPECT_LE(ModelTimeOf(R"(HloModule m
sum {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] add(a, b)
}
ENTRY e {
  array = s32[1024] parameter(0)
  i = s32[100000,1] iota(), iota_dimension=0
  last = s32[] constant(1023)
  lasts = s32[100000,1] broadcast(last), dimensions={}
  indices = s32[100000,1] and(i, lasts)
  updates = s32[100000] parameter(1)
  ROOT r = s32[1024] scatter(array, indices, updates), update_window_dims={},
    inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum
})"),
            4);
}

}  // namespace
}  // namespace hloscope::replay
