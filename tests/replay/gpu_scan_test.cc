// Cumulative reductions on the simulated GPU: lines of all lengths, along any dimension, in parts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/replay/inputs/inputs.h"
#include "tests/replay/checked_runs.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;

// The sizes of an array, and along which dimension it is scanned.
struct Line {
  std::vector<int64_t> sizes;
  size_t dimension = 0;
};

std::string Cumulative(const Line& line, bool is_reversed) {
  std::string sizes, pads;
  for (size_t d = 0; d < line.sizes.size(); ++d) {
    const int64_t size = d == line.dimension ? line.sizes[d] : 1;
    const std::string_view between = d == 0 ? "" : "x";
    sizes += fmt::format("{}{}", between, size);
    pads += is_reversed ? fmt::format("{}0_{}", between, size - 1)
                        : fmt::format("{}{}_0", between, size - 1);
  }
  return fmt::format("window={{size={} pad={}}}", sizes, pads);
}

// All lines scanned, each a parameter and a result; every other one from its end.
std::string ModuleOf(const std::vector<Line>& lines, std::string_view type, std::string_view opcode,
                     double initial) {
  std::string text = fmt::format(
      "HloModule m\nc {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n"
      "  ROOT r = {0}[] {1}(a, b)\n}}\nENTRY e {{\n  i = {0}[] constant({2})\n",
      type, opcode, initial);
  std::string results, shapes;
  for (size_t k = 0; k < lines.size(); ++k) {
    const std::string shape = fmt::format("{}[{}]", type, fmt::join(lines[k].sizes, ","));
    text += fmt::format("  x{0} = {1} parameter({0})\n", k, shape);
    text += fmt::format("  w{0} = {1} reduce-window(x{0}, i), {2}, to_apply=c\n", k, shape,
                        Cumulative(lines[k], k % 2 == 1));
    results += fmt::format("{}w{}", k == 0 ? "" : ", ", k);
    shapes += (k == 0 ? "" : ", ") + shape;
  }
  return text + fmt::format("  ROOT t = ({}) tuple({})\n}}\n", shapes, results);
}

const std::vector<Line>& Lines() {
  static const std::vector<Line> lines = {
      {{1}, 0},         {{31}, 0},      {{33}, 0},      {{1023}, 0},    {{1025}, 0},
      {{4097}, 0},      {{4, 4}, 1},    {{70, 5}, 1},   {{3, 1028}, 1}, {{2, 5000}, 1},
      {{5, 70}, 0},     {{1025, 3}, 0}, {{900, 40}, 0}, {{33, 100}, 0}, {{2, 300, 5, 7}, 1},
      {{70, 9, 20}, 1}, {{17000}, 0},   {{6001, 2}, 0}};
  return lines;
}

std::vector<Literal> InputsOf(const std::string& text) {
  InputOptions how;
  how.seed = 5;
  const auto made = MakeInputs(*hlo::Parsed(text), how);
  EXPECT_TRUE(made.has_value());
  return made->literals;
}

std::vector<float> NumbersOf(const Literal& literal) {
  std::vector<float> numbers(literal.bytes().size() / sizeof(float));
  std::memcpy(numbers.data(), literal.bytes().data(), literal.bytes().size());
  return numbers;
}

void ExpectAsMeant(const std::string& text, const std::vector<Literal>& inputs) {
  const Ran gpu = RunOn("gpu-sim", text, inputs), meant = RunOn("interpreter", text, inputs);
  EXPECT_GT(gpu.executed.kernels, 0);
  EXPECT_TRUE(gpu.fallbacks.empty());
  EXPECT_TRUE(gpu.findings.empty());
  ASSERT_EQ(gpu.results.size(), meant.results.size());
  for (size_t k = 0; k < meant.results.size(); ++k) {
    EXPECT_TRUE(std::ranges::equal(gpu.results[k].bytes(), meant.results[k].bytes()))
        << text << k << " " << hlo::ToString(meant.results[k].shape());
  }
}

TEST(GpuScan, IntegersAreExact) {
  for (const auto& [type, opcode] : {std::pair{"s32", "add"}, {"u8", "xor"}, {"s64", "minimum"}}) {
    const std::string text = ModuleOf(Lines(), type, opcode, 3);
    ExpectAsMeant(text, InputsOf(text));
  }
}

TEST(GpuScan, SumsOfFloatsAreAsGoodAsTheirType) {
  const std::string text = ModuleOf(Lines(), "f32", "add", 0.5);
  std::vector<Literal> inputs;
  for (const Line& line : Lines()) {
    const auto shape = hlo::Shape::Array(hlo::ElementType::kF32, line.sizes);
    inputs.push_back(Literal::Of<float>(
        shape, std::vector<float>(static_cast<size_t>(*shape.ElementCount()), 0.1f)));
  }
  const Ran gpu = RunOn("gpu-sim", text, inputs);
  EXPECT_TRUE(gpu.fallbacks.empty());
  EXPECT_TRUE(gpu.findings.empty());
  ASSERT_EQ(gpu.results.size(), Lines().size());
  for (size_t k = 0; k < Lines().size(); ++k) {
    const auto& [sizes, dimension] = Lines()[k];
    int64_t behind = 1;
    for (size_t d = dimension + 1; d < sizes.size(); ++d) behind *= sizes[d];
    const std::vector<float> sums = NumbersOf(gpu.results[k]);
    double worst = 0;
    for (int64_t i = 0; i < std::ssize(sums); ++i) {
      const int64_t at = i / behind % sizes[dimension];
      const auto summed = static_cast<double>(k % 2 == 1 ? sizes[dimension] - at : at + 1);
      worst = std::max(worst,
                       std::abs(sums[static_cast<size_t>(i)] / (0.5 + summed * double{0.1f}) - 1));
    }
    EXPECT_LE(worst, 5e-7) << k;
  }
}

// NaNs, whose payloads nobody promises, and both zeros.
TEST(GpuScan, ExtremesKeepTheirBits) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const char* opcode : {"maximum", "minimum"}) {
    const std::vector<Line> lines = {{{4097}, 0}, {{40, 33}, 1}, {{300, 40}, 0}};
    std::vector<Literal> inputs;
    for (const Line& line : lines) {
      const auto shape = hlo::Shape::Array(hlo::ElementType::kF32, line.sizes);
      std::vector<float> values(static_cast<size_t>(*shape.ElementCount()));
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = i % 977 == 700 ? kNaN : i * 7 % 5 < 2 ? 0.0f : -0.0f;
      }
      inputs.push_back(Literal::Of<float>(shape, values));
    }
    const std::string text = ModuleOf(lines, "f32", opcode, -0.0);
    const Ran gpu = RunOn("gpu-sim", text, inputs), meant = RunOn("interpreter", text, inputs);
    EXPECT_TRUE(gpu.findings.empty());
    ASSERT_EQ(gpu.results.size(), lines.size());
    for (size_t k = 0; k < lines.size(); ++k) {
      const auto a = NumbersOf(gpu.results[k]), b = NumbersOf(meant.results[k]);
      for (size_t i = 0; i < a.size(); ++i) {
        const bool is_same = std::isnan(a[i])
                                 ? std::isnan(b[i])
                                 : std::bit_cast<uint32_t>(a[i]) == std::bit_cast<uint32_t>(b[i]);
        ASSERT_TRUE(is_same) << opcode << k << " " << i << ": " << a[i] << " for " << b[i];
      }
    }
  }
}

TEST(GpuScan, SeveralArraysAreScannedTogether) {
  const std::string text = R"(HloModule m
c {
  a = s32[] parameter(0)
  b = u8[] parameter(1)
  d = s32[] parameter(2)
  e = u8[] parameter(3)
  f = s32[] add(a, d)
  g = u8[] maximum(b, e)
  ROOT r = (s32[], u8[]) tuple(f, g)
}
ENTRY e {
  x = s32[6,1100] parameter(0)
  y = u8[6,1100] parameter(1)
  i = s32[] parameter(2)
  j = u8[] parameter(3)
  ROOT w = (s32[6,1100], u8[6,1100]) reduce-window(x, y, i, j), window={size=1x1100 pad=0_0x0_1099}, to_apply=c
}
)";
  ExpectAsMeant(text, InputsOf(text));
}

}  // namespace
}  // namespace hloscope::replay
