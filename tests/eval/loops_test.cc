// The evaluator's loops on arrays big enough to be shared out: the same bits on any number of
// threads, and the same values as loops written down here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/eval/loops/float_product.h"
#include "core/eval/machine/evaluator.h"
#include "core/hlo/text/text.h"
#include "core/replay/inputs/inputs.h"

namespace hloscope {
namespace {

constexpr const char* kComputations = R"(
add_f32 { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
add_bf16 { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT r = bf16[] add(a, b) }
minus { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] subtract(a, b) }
ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GE }
less { a = f32[] parameter(0) b = f32[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT }
less_s32 { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT }
argmax { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)
  gt = pred[] compare(a, b), direction=GT v = f32[] select(gt, a, b) k = s32[] select(gt, i, j)
  ROOT r = (f32[], s32[]) tuple(v, k) }
)";

struct Case {
  std::string name, parameters, root;
};

hlo::ParseResult Parse(const Case& c) {
  return hlo::ParseText(fmt::format("HloModule m\n{}\nENTRY e {{\n{}\n  ROOT r = {}\n}}\n",
                                    kComputations, c.parameters, c.root));
}

hlo::Literal Evaluated(const hlo::Module& module, std::span<const hlo::Literal> arguments,
                       int threads) {
  eval::EvaluateOptions options;
  options.threads = threads;
  auto made = eval::Evaluate(module, arguments, options);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  auto literal = made->result.ToLiteral();
  EXPECT_TRUE(literal.has_value()) << literal.error().message;
  return *literal;
}

hlo::Literal Evaluated(const Case& c, std::span<const hlo::Literal> arguments, int threads = 2) {
  const hlo::ParseResult parsed = Parse(c);
  EXPECT_TRUE(parsed.ok()) << c.name << ": " << parsed.diagnostics.front().message;
  return Evaluated(*parsed.module, arguments, threads);
}

bool SameBits(const hlo::Literal& a, const hlo::Literal& b) {
  if (!a.shape().IsTuple()) return std::ranges::equal(a.bytes(), b.bytes());
  for (size_t i = 0; i < a.elements().size(); ++i) {
    if (!SameBits(a.elements()[i], b.elements()[i])) return false;
  }
  return true;
}

template <typename T>
std::vector<T> Elements(const hlo::Literal& literal) {
  std::vector<T> out(literal.bytes().size() / sizeof(T));
  std::memcpy(out.data(), literal.bytes().data(), literal.bytes().size());
  return out;
}

template <typename T>
hlo::Literal Array(hlo::ElementType type, std::vector<int64_t> sizes,
                   const std::vector<T>& values) {
  auto copy = std::make_shared<std::vector<T>>(values);
  return hlo::Literal::View(hlo::Shape::Array(type, std::move(sizes)),
                            std::as_bytes(std::span(*copy)), copy);
}

std::vector<float> RandomFloats(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> out(count);
  for (float& x : out) x = static_cast<float>(random() % 20001) / 1000 - 10;
  return out;
}

// The pairwise tree, as it is defined.
float PairwiseSum(std::vector<float> x) {
  if (x.empty()) return 0;
  while (x.size() > 1) {
    std::vector<float> next;
    for (size_t i = 0; i + 1 < x.size(); i += 2) next.push_back(x[i] + x[i + 1]);
    if (x.size() % 2 != 0) next.push_back(x.back());
    x = std::move(next);
  }
  return 0 + x[0];
}

const Case kCases[] = {
    {"elementwise", "p = f32[300001] parameter(0) q = f32[300001] parameter(1)",
     "f32[300001] multiply(p, q)"},
    {"in_place", "p = f32[300001] parameter(0) e = f32[300001] exponential(p)",
     "f32[300001] add(e, p)"},
    {"narrow", "p = bf16[300001] parameter(0)", "bf16[300001] tanh(p)"},
    {"scalar_operand", "l = f32[] parameter(0) p = f32[300001] parameter(1) h = f32[] parameter(2)",
     "f32[300001] clamp(l, p, h)"},
    {"convert", "p = f32[300001] parameter(0)", "f16[300001] convert(p)"},
    {"transpose", "p = f32[3,257,401] parameter(0)",
     "f32[401,3,257] transpose(p), dimensions={2,0,1}"},
    {"iota", "", "s32[300001] iota(), iota_dimension=0"},
    {"reduce_all", "p = f32[1000003] parameter(0) z = f32[] constant(0)",
     "f32[] reduce(p, z), dimensions={0}, to_apply=add_f32"},
    {"reduce_rows", "p = f32[100,3001] parameter(0) z = f32[] constant(0)",
     "f32[100] reduce(p, z), dimensions={1}, to_apply=add_f32"},
    {"reduce_short_rows", "p = bf16[30001,7] parameter(0) z = bf16[] constant(0)",
     "bf16[30001] reduce(p, z), dimensions={1}, to_apply=add_bf16"},
    {"reduce_columns", "p = f32[3001,100] parameter(0) z = f32[] constant(0)",
     "f32[100] reduce(p, z), dimensions={0}, to_apply=add_f32"},
    {"reduce_narrow_columns", "p = f32[100001,3] parameter(0) z = f32[] constant(0)",
     "f32[3] reduce(p, z), dimensions={0}, to_apply=add_f32"},
    {"reduce_from_the_left", "p = f32[1001,301] parameter(0) z = f32[] constant(0)",
     "f32[1001] reduce(p, z), dimensions={1}, to_apply=minus"},
    {"argmax",
     "p = f32[301,1001] parameter(0) i = s32[301,1001] iota(), iota_dimension=1 "
     "z = f32[] constant(-inf) k = s32[] constant(0)",
     "(f32[301], s32[301]) reduce(p, i, z, k), dimensions={1}, to_apply=argmax"},
    {"cumsum", "p = f32[3,50001] parameter(0) z = f32[] constant(0)",
     "f32[3,50001] reduce-window(p, z), window={size=1x50001 pad=0_0x50000_0}, to_apply=add_f32"},
    {"cumsum_of_rows", "p = f32[5001,20] parameter(0) z = f32[] constant(0)",
     "f32[5001,20] reduce-window(p, z), window={size=5001x1 pad=0_5000x0_0}, to_apply=add_f32"},
    {"pool", "p = f32[2,5,99,101] parameter(0) z = f32[] constant(0)",
     "f32[2,5,50,51] reduce-window(p, z), window={size=1x1x3x3 stride=1x1x2x2 "
     "pad=0_0x0_0x1_1x1_1}, "
     "to_apply=add_f32"},
    {"select_and_scatter",
     "p = f32[300,300] parameter(0) s = f32[150,150] parameter(1) z = f32[] constant(0)",
     "f32[300,300] select-and-scatter(p, s, z), window={size=3x3 stride=2x2 pad=0_1x0_1}, "
     "select=ge, scatter=add_f32"},
    {"gather", "p = f32[1000,64] parameter(0) i = s32[5000,1] parameter(1)",
     "f32[5000,64] gather(p, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,64}"},
    {"scatter",
     "p = f32[1000] parameter(0) i = s32[200000,1] parameter(1) u = f32[200000] parameter(2)",
     "f32[1000] scatter(p, i, u), update_window_dims={}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32"},
    {"sort", "p = f32[100003] parameter(0) i = s32[100003] iota(), iota_dimension=0",
     "(f32[100003], s32[100003]) sort(p, i), dimensions={0}, to_apply=less"},
    {"sort_columns", "p = s32[300,701] parameter(0)",
     "s32[300,701] sort(p), dimensions={0}, to_apply=less_s32"},
    {"dot", "p = f32[130,70] parameter(0) q = f32[70,600] parameter(1)",
     "f32[130,600] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
    {"dot_vector", "p = f32[3000,100] parameter(0) q = f32[100] parameter(1)",
     "f32[3000] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
    {"dot_s8", "p = s8[130,70] parameter(0) q = s8[70,90] parameter(1)",
     "s32[130,90] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
    {"convolution", "p = f32[2,30,31,12] parameter(0) k = f32[3,3,6,20] parameter(1)",
     "f32[2,30,31,20] convolution(p, k), window={size=3x3 pad=1_1x1_1}, "
     "dim_labels=b01f_01io->b01f, "
     "feature_group_count=2"},
    {"fft", "p = c64[65536] parameter(0)", "c64[65536] fft(p), fft_type=FFT, fft_length={65536}"},
    {"fft_lines", "p = f32[300,1000] parameter(0)",
     "c64[300,501] fft(p), fft_type=RFFT, fft_length={1000}"},
    {"random_bits", "p = u64[2] parameter(0)",
     "(u64[2], u32[333,501]) rng-bit-generator(p), algorithm=rng_three_fry"},
    {"random_blocks", "p = u64[3] parameter(0)",
     "(u64[3], u8[300001]) rng-bit-generator(p), algorithm=rng_philox"},
    {"solve", "p = f32[40,40] parameter(0) q = f32[300,40] parameter(1)",
     "f32[300,40] triangular-solve(p, q), left_side=false, lower=true, unit_diagonal=true, "
     "transpose_a=TRANSPOSE"},
    {"batch_norm",
     "p = f32[20,50,100] parameter(0) s = f32[50] parameter(1) o = f32[50] parameter(2)",
     "(f32[20,50,100], f32[50], f32[50]) batch-norm-training(p, s, o), epsilon=0.001, "
     "feature_index=1"},
};

TEST(Loops, SameBitsOnAnyNumberOfThreads) {
  for (const Case& c : kCases) {
    const hlo::ParseResult parsed = Parse(c);
    ASSERT_TRUE(parsed.ok()) << c.name << ": " << parsed.diagnostics.front().message;
    replay::InputOptions inputs;
    inputs.seed = 7;
    const auto made = replay::MakeInputs(*parsed.module, inputs);
    ASSERT_TRUE(made.has_value()) << c.name;
    const hlo::Literal one = Evaluated(*parsed.module, made->literals, 1);
    EXPECT_TRUE(SameBits(one, Evaluated(*parsed.module, made->literals, 2))) << c.name;
    EXPECT_TRUE(SameBits(one, Evaluated(*parsed.module, made->literals, 4))) << c.name;
  }
}

// Windows of every kind along one dimension against the tree of each place.
TEST(Loops, SlidingWindowsAreTheTreeOfEachPlace) {
  struct Window {
    int64_t size, stride, low, high, dilation;
  };
  constexpr int64_t kSize = 3001;
  const Window windows[] = {{kSize, 1, kSize - 1, 0, 1}, {kSize, 1, 0, kSize - 1, 1},
                            {64, 1, 31, 32, 1},          {100, 3, 7, 11, 1},
                            {50, 2, 60, 5, 3},           {2999, 1, 1500, 1498, 1}};
  const std::vector<float> x = RandomFloats(static_cast<size_t>(kSize * 2), 3);
  const hlo::Literal input = Array(hlo::ElementType::kF32, {kSize, 2}, x);
  for (const Window& w : windows) {
    const int64_t places = (kSize + w.low + w.high - (w.size - 1) * w.dilation - 1) / w.stride + 1;
    const Case c{"window", "p = f32[3001,2] parameter(0) z = f32[] constant(0)",
                 fmt::format("f32[{},2] reduce-window(p, z), window={{size={}x1 stride={}x1 "
                             "pad={}_{}x0_0 rhs_dilate={}x1}}, to_apply=add_f32",
                             places, w.size, w.stride, w.low, w.high, w.dilation)};
    const auto got = Elements<float>(Evaluated(c, std::span(&input, 1)));
    ASSERT_EQ(got.size(), static_cast<size_t>(2 * places));
    for (int64_t place = 0; place < places; ++place) {
      std::vector<float> covered;
      for (int64_t k = 0; k < w.size; ++k) {
        const int64_t at = place * w.stride - w.low + k * w.dilation;
        if (at >= 0 && at < kSize) covered.push_back(x[static_cast<size_t>(at * 2 + 1)]);
      }
      ASSERT_EQ(got[static_cast<size_t>(place * 2 + 1)], PairwiseSum(covered))
          << "size " << w.size << " place " << place;
    }
  }
}

TEST(Loops, LongReductionsAreOneTree) {
  const std::vector<float> x = RandomFloats(300'001, 5);
  const hlo::Literal input = Array(hlo::ElementType::kF32, {300'001}, x);
  const Case c{"sum", "p = f32[300001] parameter(0) z = f32[] constant(0)",
               "f32[] reduce(p, z), dimensions={0}, to_apply=add_f32"};
  EXPECT_EQ(Elements<float>(Evaluated(c, std::span(&input, 1)))[0], PairwiseSum(x));
}

TEST(Loops, ProductsOfSmallRangeAreFromTheLeft) {
  // Two neighbours of these overflow by themselves, the product from the left does not.
  for (const std::string type : {"f16", "f8e4m3fn"}) {
    const auto parsed = hlo::ParseText(fmt::format(R"(HloModule m
mul {{ a = {0}[] parameter(0) b = {0}[] parameter(1) ROOT r = {0}[] multiply(a, b) }}
ENTRY e {{
  x = {0}[12] constant({{0, 1, 400, 400, 448, 448, 448, 448, 448, 448, 448, 448}})
  one = {0}[] constant(1)
  p = {0}[] reduce(x, one), dimensions={{0}}, to_apply=mul
  w = {0}[12] reduce-window(x, one), window={{size=12 pad=11_0}}, to_apply=mul
  b = {0}[12] broadcast(p), dimensions={{}}
  s = {0}[12] add(w, b)
  ROOT c = f32[12] convert(s)
}})",
                                                   type));
    ASSERT_TRUE(parsed.ok()) << parsed.diagnostics.front().message;
    for (const float each : Elements<float>(Evaluated(*parsed.module, {}, 1))) EXPECT_EQ(each, 0);
  }
}

TEST(Loops, SortIsStableAndAPermutationWhateverTheComparatorSays) {
  for (const size_t count : {1u, 2u, 255u, 256u, 257u, 5000u, 70'001u}) {
    std::vector<float> x = RandomFloats(count, 11);
    for (float& v : x) v = std::floor(v);
    std::vector<int32_t> places(count);
    std::iota(places.begin(), places.end(), 0);
    const auto n = static_cast<int64_t>(count);
    const Case c{
        "sort", fmt::format("p = f32[{0}] parameter(0) i = s32[{0}] iota(), iota_dimension=0", n),
        fmt::format("(f32[{0}], s32[{0}]) sort(p, i), dimensions={{0}}, to_apply=less", n)};
    const hlo::Literal input = Array(hlo::ElementType::kF32, {n}, x);
    std::vector<int32_t> want = places;
    std::ranges::stable_sort(want, [&](int32_t a, int32_t b) {
      return x[static_cast<size_t>(a)] < x[static_cast<size_t>(b)];
    });
    EXPECT_EQ(Elements<int32_t>(Evaluated(c, std::span(&input, 1)).elements()[1]), want) << count;

    // NaNs compare with nothing: no order to speak of, but nothing may get lost.
    for (size_t i = 0; i < count; i += 3) x[i] = std::nanf("");
    const hlo::Literal mixed = Array(hlo::ElementType::kF32, {n}, x);
    auto got = Elements<int32_t>(Evaluated(c, std::span(&mixed, 1)).elements()[1]);
    std::ranges::sort(got);
    EXPECT_EQ(got, places) << count;
  }
}

TEST(Loops, ScatterTakesUpdatesInOrderAndLeavesOutWhatIsOutside) {
  constexpr size_t kUpdates = 200'000;
  std::vector<float> want = RandomFloats(1000, 1);
  const std::vector<float> updates = RandomFloats(kUpdates, 2);
  std::mt19937 random(3);
  std::vector<int32_t> indices(kUpdates);
  for (int32_t& i : indices) i = static_cast<int32_t>(random() % 1100) - 50;
  const hlo::Literal arguments[] = {
      Array(hlo::ElementType::kF32, {1000}, want),
      Array(hlo::ElementType::kS32, {static_cast<int64_t>(kUpdates), 1}, indices),
      Array(hlo::ElementType::kF32, {static_cast<int64_t>(kUpdates)}, updates)};
  const auto scatter = std::ranges::find(kCases, "scatter", &Case::name);
  const auto got = Elements<float>(Evaluated(*scatter, arguments));
  for (size_t i = 0; i < kUpdates; ++i) {
    if (indices[i] < 0 || indices[i] >= 1000) continue;
    want[static_cast<size_t>(indices[i])] += updates[i];
  }
  EXPECT_EQ(got, want);
}

TEST(Loops, ConvolutionSkipsPaddingUnderAnInfiniteKernel) {
  const std::vector<float> x(size_t{2} * 5 * 8, 1.0f);
  std::vector<float> kernel(size_t{3} * 8 * 8, 1.0f);
  kernel[0] = INFINITY;  // tap 0: outside for the first position
  const hlo::Literal arguments[] = {Array(hlo::ElementType::kF32, {2, 5, 8}, x),
                                    Array(hlo::ElementType::kF32, {3, 8, 8}, kernel)};
  const Case c{"conv", "p = f32[2,5,8] parameter(0) k = f32[3,8,8] parameter(1)",
               "f32[2,5,8] convolution(p, k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f"};
  const auto got = Elements<float>(Evaluated(c, arguments));
  EXPECT_EQ(got[0], 16.0f);
  EXPECT_EQ(got[8], INFINITY);
  EXPECT_EQ(got[1], 16.0f);
}

}  // namespace
}  // namespace hloscope
