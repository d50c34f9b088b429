// Convolutions whose numbers are not all finite: what lies outside the input, or between its
// elements, is left out, so an infinity beside it makes no NaN.
#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <limits>

#include "core/hlo/float_types.h"
#include "tests/replay/checked_runs.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Convolution {
  const char *x, *k, *out, *window, *labels;
  const char* groups = "";
};
// Large enough for tiles of a GPU: padding, holes, windows that are turned, padding that is cut
// off, parts of the depth, and none outside.
constexpr Convolution kTiled[] = {
    {"2,16,16,8", "3,3,8,16", "2,16,16,16", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"},
    {"2,8,8,8", "3,3,8,16", "2,17,16,16", "size=3x3 pad=2_2x1_2 lhs_dilate=2x2", "b01f_01io->b01f"},
    {"2,8,20,20", "16,8,3,3", "2,16,20,18", "size=3x3 pad=2_2x2_0 rhs_dilate=2x2 rhs_reversal=1x1",
     "bf01_oi01->bf01"},
    {"2,18,18,8", "3,3,8,16", "2,16,16,16", "size=3x3", "b01f_01io->b01f"},
    {"1,8,8,64", "3,3,64,16", "1,8,8,16", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"},
    {"4,32,32,16", "3,3,16,8", "4,31,31,8", "size=3x3 pad=1_0x-1_2", "b01f_01io->b01f"},
};
// Of the library: in one to three dimensions, features first and last, holes in phases and not,
// strides, what is cut off within and behind holes, groups, parts of the batch, the batch
// innermost.
constexpr Convolution kForms[] = {
    {"2,9,3", "3,3,20", "2,9,20", "size=3 pad=1_1", "b0f_0io->b0f"},
    {"2,9,3", "3,3,20", "2,19,20", "size=3 pad=2_2 lhs_dilate=2", "b0f_0io->b0f"},
    {"2,3,9", "4,3,3", "2,4,19", "size=3 pad=2_2 lhs_dilate=2", "bf0_oi0->bf0"},
    {"1,8,3", "3,3,4", "1,29,4", "size=3 pad=1_1 lhs_dilate=4", "b0f_0io->b0f"},
    {"1,8,3", "3,3,4", "1,8,4", "size=3 pad=1_1 stride=2 lhs_dilate=2", "b0f_0io->b0f"},
    {"1,8,3", "3,3,4", "1,12,4", "size=3 pad=-2_1 lhs_dilate=2", "b0f_0io->b0f"},
    {"1,8,3", "3,3,4", "1,9,4", "size=3 pad=-3_-1 lhs_dilate=2", "b0f_0io->b0f"},
    {"2,3,21", "4,3,3", "2,4,15", "size=3 pad=-1_1 rhs_dilate=3 rhs_reversal=1", "bf0_oi0->bf0"},
    {"2,4,7,6", "8,4,3,2", "2,8,14,13", "size=3x2 pad=2_1x1_2 lhs_dilate=2x2 rhs_reversal=1x1",
     "bf01_oi01->bf01"},
    {"2,8,8,6", "3,3,1,6", "2,8,8,6", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f",
     ", feature_group_count=6"},
    {"2,8,8,6", "3,3,3,40", "2,15,8,40", "size=3x3 pad=1_1x1_1 lhs_dilate=2x1", "b01f_01io->b01f",
     ", feature_group_count=2"},
    {"6,8,8,4", "3,3,4,9", "2,17,8,9", "size=3x3 pad=1_3x1_1 lhs_dilate=2x1", "b01f_01io->b01f",
     ", batch_group_count=3"},
    {"9,8,2,3", "4,3,3,20", "6,17,2,20", "size=4x3 pad=0_0x2_2 lhs_dilate=1x2", "01bf_01io->01bf"},
    {"3,3,5,9", "2,2,3,40", "2,9,40,9", "size=2x2 stride=2x1 pad=0_1x0_1 lhs_dilate=1x2",
     "f01b_01io->01fb"},
    {"1,2,3,4,5,2", "2,1,2,2,2,3", "1,2,4,3,10,3",
     "size=2x1x2x2 pad=0_1x0_1x0_0x1_1 "
     "lhs_dilate=1x1x1x2",
     "b0123f_0123io->b0123f"},
    {"1,2,3,4,2", "2,2,2,2,3", "1,2,4,8,3", "size=2x2x2 pad=0_1x1_1x1_1 lhs_dilate=1x1x2",
     "b012f_012io->b012f"},
};

std::string ModuleOf(const Convolution& each, const char* type) {
  return fmt::format(
      "HloModule m\nENTRY e {{\n  x = {0}[{1}] parameter(0)\n  k = {0}[{2}] parameter(1)\n"
      "  ROOT r = {0}[{3}] convolution(x, k), window={{{4}}}, dim_labels={5}{6}\n}}\n",
      type, each.x, each.k, each.out, each.window, each.labels, each.groups);
}

// Small whole numbers, some of them -0; every `step`-th is one of the odd ones.
template <typename T>
Literal Numbers(const hlo::Shape& shape, size_t step, std::initializer_list<float> odd) {
  std::vector<T> numbers(static_cast<size_t>(*shape.ElementCount()));
  size_t next = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    float number = static_cast<float>(static_cast<int>(i * 7919 % 5) - 2);
    if (number == 0 && i % 2 == 0) number = -0.0f;
    if (step > 0 && i % step == step / 2) number = *(odd.begin() + next++ % odd.size());
    numbers[i] = static_cast<T>(number);
  }
  return Literal::Of<T>(shape, numbers);
}

// Every number of an element: of complex ones both parts.
template <typename T>
std::vector<double> PartsOf(const Literal& literal) {
  std::vector<double> parts;
  for (const T& x : literal.data<T>()) {
    if constexpr (std::is_same_v<T, std::complex<float>>) {
      parts.insert(parts.end(), {x.real(), x.imag()});
    } else {
      parts.push_back(static_cast<double>(x));
    }
  }
  return parts;
}

template <typename T>
void ExpectAsMeant(std::string_view platform, const std::string& text,
                   const std::vector<Literal>& inputs) {
  SCOPED_TRACE(text);
  const Ran own = RunOn(platform, text, inputs), meant = RunOn("interpreter", text, inputs);
  EXPECT_TRUE(own.fallbacks.empty());
  EXPECT_TRUE(own.findings.empty());
  ASSERT_EQ(own.results.size(), 1u);
  const auto x = PartsOf<T>(own.results[0]), y = PartsOf<T>(meant.results[0]);
  int64_t different = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    different += x[i] != y[i] && !(std::isnan(x[i]) && std::isnan(y[i]));
  }
  EXPECT_EQ(different, 0) << "of " << x.size() << " on " << platform;
}

// Of the weights a few, which meet the border; of the input, too; none.
template <typename T>
void ExpectInEachPlace(std::string_view platform, const Convolution& each, const char* type,
                       size_t step) {
  const std::string text = ModuleOf(each, type);
  const auto module = hlo::Parsed(text);
  ASSERT_NE(module, nullptr) << text;
  const hlo::Shape& x = module->shape(hlo::Named(*module, "x"));
  const hlo::Shape& k = module->shape(hlo::Named(*module, "k"));
  const auto expect = [&](Literal input, Literal weights) {
    ExpectAsMeant<T>(platform, text, {std::move(input), std::move(weights)});
  };
  expect(Numbers<T>(x, 0, {}), Numbers<T>(k, step, {kInf}));
  expect(Numbers<T>(x, 0, {}), Numbers<T>(k, 2 * step + 13, {-kInf, kNan, kInf}));
  expect(Numbers<T>(x, 2 * step + 99, {kInf}), Numbers<T>(k, 0, {}));
  expect(Numbers<T>(x, 2 * step + 99, {kInf}), Numbers<T>(k, step, {kInf}));
  expect(Numbers<T>(x, 0, {}), Numbers<T>(k, 0, {}));
}

TEST(ConvolutionGaps, AreLeftOutBesideInfinitiesOnGpus) {
  for (const Convolution& each : kTiled) ExpectInEachPlace<float>("gpu-sim", each, "f32", 149);
  ExpectInEachPlace<double>("gpu-sim", kTiled[0], "f64", 149);
}

TEST(ConvolutionGaps, AreLeftOutBesideInfinitiesOnCpus) {
  for (const Convolution& each : kTiled) ExpectInEachPlace<float>("cpu", each, "f32", 149);
  for (const Convolution& each : kForms) {
    ExpectInEachPlace<float>("cpu", each, "f32", 7);
    ExpectInEachPlace<hlo::BF16>("cpu", each, "bf16", 7);
  }
  // Types that the library does not take: a kernel's own.
  for (const size_t at : {2, 5, 8, 11}) {
    ExpectInEachPlace<hlo::F16>("cpu", kForms[at], "f16", 7);
    ExpectInEachPlace<double>("cpu", kForms[at], "f64", 7);
    ExpectInEachPlace<std::complex<float>>("cpu", kForms[at], "c64", 7);
  }
}

}  // namespace
}  // namespace hloscope::replay
