// Functions of f32 in units in the last place, against the functions of double: over floats of all
// magnitudes, spaced by a prime number of them, and over ranges where they bend.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/codegen/generate.h"
#include "tests/hlo/parsed.h"

namespace hloscope::codegen {
namespace {

std::vector<float> Inputs() {
  std::vector<float> inputs;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 2039) {
    inputs.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (float x = -110; x < 110; x += 0.00037f) inputs.push_back(x);
  for (uint32_t k = 0; k < 300000; ++k) {
    inputs.push_back(0.5f + static_cast<float>(k) * 0x1p-18f);
    inputs.push_back(static_cast<float>(k) * 0.37f);
  }
  for (const uint32_t bits :
       {0u, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 1u, 0x7f7fffffu, 0x3f800000u,
        0xbf800000u, 0x3f7fffffu, 0x00800000u, 0x007fffffu}) {
    inputs.push_back(std::bit_cast<float>(bits));
  }
  return inputs;
}

std::vector<float> Computed(const std::string& opcode,
                            const std::vector<std::vector<float>>& inputs) {
  std::string parameters, names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    parameters += fmt::format("p{0} = f32[{1}] parameter({0})\n", i, inputs[i].size());
    names += fmt::format("{}p{}", i == 0 ? "" : ", ", i);
  }
  const auto module =
      hlo::Parsed(fmt::format("HloModule m\nENTRY e {{\n{}ROOT r = f32[{}] {}({})\n}}\n",
                              parameters, inputs[0].size(), opcode, names));
  const hlo::InstructionId kernels[] = {module->entry().root};
  const auto library = GenerateKernels(module, kernels, {.effort = compile::Effort::kUsual});
  EXPECT_TRUE(library.has_value()) << library.error().ToString();
  const compile::KernelCode* code = (*library)->Find(kernels[0]);
  std::vector<float> out(inputs[0].size());
  std::vector<const std::byte*> operands;
  for (const auto& each : inputs)
    operands.push_back(reinterpret_cast<const std::byte*>(each.data()));
  std::byte* results[] = {reinterpret_cast<std::byte*>(out.data())};
  code->run(operands.data(), results, nullptr, 0, code->grains);
  return out;
}

// How far `got` is from the true value, in units in the last place of f32 there.
double Ulps(float got, double want) {
  const auto nearest = static_cast<float>(want);
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  if (std::isinf(nearest) || std::isinf(got)) {
    // The largest float and infinity are neighbours.
    if (got == nearest) return 0;
    const double limit = 0x1.ffffffp127;
    return std::abs(std::abs(std::isinf(got) ? limit : static_cast<double>(got)) - std::abs(want)) /
           0x1p104;
  }
  if (got == 0 && nearest == 0) return std::signbit(got) == std::signbit(nearest) ? 0 : 1e9;
  const int exponent = std::max(std::ilogb(nearest == 0 ? 1e-45f : nearest), -126);
  return std::abs(static_cast<double>(got) - want) / std::ldexp(1.0, exponent - 23);
}

struct Row {
  const char* opcode;
  double (*function)(double);
  double most;  // ULP
};

constexpr double kMax = 2;

const Row kRows[] = {
    {"exponential", [](double x) { return std::exp(x); }, 1.0},
    {"exponential-minus-one", [](double x) { return std::expm1(x); }, 0.51},
    {"log", [](double x) { return std::log(x); }, 0.9},
    {"log-plus-one", [](double x) { return std::log1p(x); }, 0.51},
    {"tanh", [](double x) { return std::tanh(x); }, 1.6},
    {"logistic",
     [](double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); },
     1.6},
    {"erf", [](double x) { return std::erf(x); }, 1.2},
    {"sine", [](double x) { return std::sin(x); }, 1.6},
    {"cosine", [](double x) { return std::cos(x); }, 1.6},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1.5},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0.51},
    {"cbrt", [](double x) { return std::cbrt(x); }, 0.51},
    {"tan", [](double x) { return std::tan(x); }, 0.51},
    {"acos", [](double x) { return std::acos(x); }, 0.51},
    {"atan", [](double x) { return std::atan(x); }, 0.51},
    {"sinh", [](double x) { return std::sinh(x); }, 0.51},
};

TEST(Functions, AreAsAccurateAsStated) {
  const std::vector<float> inputs = Inputs();
  ASSERT_GT(inputs.size(), 1000000u);
  for (const Row& row : kRows) {
    const std::vector<float> got = Computed(row.opcode, {inputs});
    double worst = 0;
    float at = 0;
    int64_t above_one = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const double ulps = Ulps(got[i], row.function(static_cast<double>(inputs[i])));
      above_one += ulps > 1;
      if (ulps > worst) worst = ulps, at = inputs[i];
    }
    fmt::print("{:24} {:8.3f} ulp at {:a}, above 1: {:.4f} %\n", row.opcode, worst, at,
               100.0 * static_cast<double>(above_one) / static_cast<double>(inputs.size()));
    EXPECT_LE(worst, row.most) << row.opcode << " of " << at;
    EXPECT_LE(row.most, kMax);
  }
}

TEST(Functions, PowerIsAsAccurateAsStated) {
  std::vector<float> x, y;
  const std::vector<float> special = {0.0f,
                                      -0.0f,
                                      1,
                                      -1,
                                      2,
                                      -2,
                                      0.5f,
                                      -0.5f,
                                      3,
                                      -3,
                                      1e-40f,
                                      -1e-40f,
                                      16777217.0f,
                                      3e38f,
                                      std::numeric_limits<float>::infinity(),
                                      -std::numeric_limits<float>::infinity(),
                                      std::numeric_limits<float>::quiet_NaN(),
                                      0.99999994f};
  for (const float a : special) {
    for (const float b : special) x.push_back(a), y.push_back(b);
  }
  uint64_t state = 1;
  const auto next = [&] { return state = state * 6364136223846793005u + 1442695040888963407u; };
  for (int i = 0; i < 1000000; ++i) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(next() >> 32)));
    y.push_back(static_cast<float>(static_cast<int64_t>(next() >> 40) - (1 << 23)) * 0x1p-18f);
    if (i % 2 == 0) x.back() = 0.5f + static_cast<float>(next() >> 40) * 0x1p-23f, y.back() *= 8;
  }
  const std::vector<float> got = Computed("power", {x, y});
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double ulps =
        Ulps(got[i], std::pow(static_cast<double>(x[i]), static_cast<double>(y[i])));
    if (ulps > worst) worst = ulps, at = i;
  }
  fmt::print("power {:.3f} ulp at {:a}, {:a}\n", worst, x[at], y[at]);
  EXPECT_LE(worst, 0.55) << x[at] << " to " << y[at] << ": " << got[at];
}

}  // namespace
}  // namespace hloscope::codegen
