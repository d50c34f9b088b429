// Convolutions on the simulated GPU whose numbers are not all finite: what lies outside the input,
// or between its elements, is left out, so an infinity beside it makes no NaN.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tests/replay/checked_runs.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Convolution {
  const char *x, *k, *out, *window, *labels;
};
// Large enough for tiles: padding, holes, windows that are turned, padding that is cut off, parts
// of the depth, and none outside.
constexpr Convolution kTiled[] = {
    {"2,16,16,8", "3,3,8,16", "2,16,16,16", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"},
    {"2,8,8,8", "3,3,8,16", "2,17,16,16", "size=3x3 pad=2_2x1_2 lhs_dilate=2x2", "b01f_01io->b01f"},
    {"2,8,20,20", "16,8,3,3", "2,16,20,18", "size=3x3 pad=2_2x2_0 rhs_dilate=2x2 rhs_reversal=1x1",
     "bf01_oi01->bf01"},
    {"2,18,18,8", "3,3,8,16", "2,16,16,16", "size=3x3", "b01f_01io->b01f"},
    {"1,8,8,64", "3,3,64,16", "1,8,8,16", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"},
    {"4,32,32,16", "3,3,16,8", "4,31,31,8", "size=3x3 pad=1_0x-1_2", "b01f_01io->b01f"},
};

std::string ModuleOf(const Convolution& each, const char* type) {
  return fmt::format(
      "HloModule m\nENTRY e {{\n  x = {0}[{1}] parameter(0)\n  k = {0}[{2}] parameter(1)\n"
      "  ROOT r = {0}[{3}] convolution(x, k), window={{{4}}}, dim_labels={5}\n}}\n",
      type, each.x, each.k, each.out, each.window, each.labels);
}

// Small whole numbers, some of them -0; every `step`-th is one of the odd ones.
template <typename T>
Literal Numbers(const hlo::Shape& shape, size_t step, std::initializer_list<float> odd) {
  std::vector<T> numbers(static_cast<size_t>(*shape.ElementCount()));
  size_t next = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<T>(static_cast<int>(i * 7919 % 5) - 2);
    if (numbers[i] == 0 && i % 2 == 0) numbers[i] = static_cast<T>(-0.0);
    if (step > 0 && i % step == step / 2) {
      numbers[i] = static_cast<T>(*(odd.begin() + next++ % odd.size()));
    }
  }
  return Literal::Of<T>(shape, numbers);
}

template <typename T>
void ExpectAsMeant(const std::string& text, const std::vector<Literal>& inputs) {
  SCOPED_TRACE(text);
  const Ran own = RunOn("gpu-sim", text, inputs), meant = RunOn("interpreter", text, inputs);
  EXPECT_TRUE(own.fallbacks.empty());
  EXPECT_TRUE(own.findings.empty());
  ASSERT_EQ(own.results.size(), 1u);
  const auto x = own.results[0].data<T>(), y = meant.results[0].data<T>();
  int64_t different = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    different += x[i] != y[i] && !(std::isnan(x[i]) && std::isnan(y[i]));
  }
  EXPECT_EQ(different, 0);
}

TEST(GpuConvolution, WhatIsOutsideIsLeftOutBesideInfinities) {
  for (const Convolution& each : kTiled) {
    const std::string text = ModuleOf(each, "f32");
    const auto module = hlo::Parsed(text);
    const hlo::Shape& x = module->shape(hlo::Named(*module, "x"));
    const hlo::Shape& k = module->shape(hlo::Named(*module, "k"));
    // Of the weights a few, which meet the border; of the input, too; none.
    ExpectAsMeant<float>(text, {Numbers<float>(x, 0, {}), Numbers<float>(k, 149, {kInf})});
    ExpectAsMeant<float>(text,
                         {Numbers<float>(x, 0, {}), Numbers<float>(k, 311, {-kInf, kNan, kInf})});
    ExpectAsMeant<float>(text, {Numbers<float>(x, 397, {kInf}), Numbers<float>(k, 0, {})});
    ExpectAsMeant<float>(text, {Numbers<float>(x, 0, {}), Numbers<float>(k, 0, {})});
  }
  const std::string text = ModuleOf(kTiled[0], "f64");
  const auto module = hlo::Parsed(text);
  ExpectAsMeant<double>(
      text, {Numbers<double>(module->shape(hlo::Named(*module, "x")), 0, {}),
             Numbers<double>(module->shape(hlo::Named(*module, "k")), 149, {kInf, kNan})});
}

}  // namespace
}  // namespace hloscope::replay
