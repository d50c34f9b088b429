// What runs on our GPU platforms without a hand-over, though a value of the run, or its seed,
// decides about it.
#include <fmt/format.h>

#include "core/backends/make_platform.h"
#include "tests/replay/gpu_device_modules.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;

// The live elements of an array of up to 4 by 3 in another form, with zeros behind them.
std::string ReshapeText(const char* result, const char* sizes, const char* whole) {
  return fmt::format(R"(HloModule m
ENTRY e {{
  x = f32[4,3] parameter(0)
  n = s32[] parameter(1)
  k = s32[] parameter(2)
  total = s32[] multiply(n, k)
  two = s32[] constant(2)
  four = s32[] constant(4)
  six = s32[] constant(6)
  twelve = s32[] constant(12)
  d = f32[<=4,3] set-dimension-size(x, n), dimensions={{0}}
  c = f32[<=4,<=3] set-dimension-size(d, k), dimensions={{1}}
  r = f32[{}] dynamic-reshape(c, {})
  {}
}}
)",
                     result, sizes, whole);
}

Literal Number(int32_t number) {
  return Literal::Of<int32_t>(hlo::Shape::Scalar(hlo::ElementType::kS32), std::span(&number, 1));
}

TEST(GpuWithoutHostFallback, DynamicReshape) {
  SetFaults("");
  const std::string flat = ReshapeText(
      "<=12", "total", "ROOT w = f32[12] set-dimension-size(r, twelve), dimensions={0}");
  const std::string high = ReshapeText(
      "<=6,2", "n, two", "ROOT w = f32[6,2] set-dimension-size(r, six), dimensions={0}");
  const struct {
    const std::string& text;
    int32_t n, k;
  } cases[] = {{flat, 4, 3}, {flat, 3, 2}, {flat, 0, 2}, {flat, 1, 1}, {high, 3, 2}, {high, 4, 2}};
  for (const auto& each : cases) {
    const std::vector<Literal> inputs = {Floats({4, 3}), Number(each.n), Number(each.k)};
    const Outcome meant = RunOn("interpreter", each.text.c_str(), inputs);
    ASSERT_FALSE(meant.error.has_value()) << meant.error->ToString() << each.n;
    ASSERT_EQ(meant.results.size(), 1u);
    for (const char* const platform : {"cpu", "gpu-sim", "gpu"}) {
      const Outcome ran = RunOn(platform, each.text.c_str(), inputs, 2);
      ASSERT_FALSE(ran.error.has_value()) << platform << ran.error->ToString();
      EXPECT_TRUE(ran.fallbacks.empty()) << platform << each.text;
      EXPECT_TRUE(std::ranges::equal(ran.results[0].bytes(), meant.results[0].bytes()))
          << platform << each.text << each.n << " by " << each.k;
    }
  }
  // Sizes that do not hold the live elements leave no result, in the same words.
  const std::vector<Literal> inputs = {Floats({4, 3}), Number(3), Number(3)};
  for (const char* const platform : {"interpreter", "cpu", "gpu-sim", "gpu"}) {
    const auto executable =
        (*MakePlatform(platform))->Load(hlo::Parsed(high.c_str()), RunOptions());
    ASSERT_TRUE(executable.has_value()) << platform << executable.error().ToString();
    Events events;
    const auto run = (*executable)->Run({&inputs, 1}, RunOptions(), events);
    ASSERT_TRUE(run.has_value()) << platform << run.error().ToString();
    const auto leaves = events.Of<LeafResult>();
    ASSERT_EQ(leaves.size(), 1u) << platform;
    ASSERT_FALSE(leaves[0]->value.has_value()) << platform;
    EXPECT_NE(leaves[0]->value.error().ToString().find("do not hold the live elements"),
              std::string::npos)
        << platform << leaves[0]->value.error().ToString();
  }
}

// Both branches run one loop, each on arrays of its own.
TEST(GpuWithoutHostFallback, ALoopIsWrittenForEachCallerOfItsComputation) {
  SetFaults("");
  constexpr const char* kTwice = R"(HloModule twice
turn {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[4] add(x, x)
  ROOT t = (s32[], f32[4]) tuple(j, y)
}
goes_on {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
doubled {
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[4]) tuple(zero, x)
  w = (s32[], f32[4]) while(s), condition=goes_on, body=turn
  ROOT r = f32[4] get-tuple-element(w), index=1
}
same {
  ROOT x = f32[4] parameter(0)
}
ENTRY e {
  x = f32[4] parameter(0)
  p = pred[] parameter(1)
  a = f32[4] conditional(p, x, x), true_computation=doubled, false_computation=same
  n = f32[4] negate(x)
  b = f32[4] conditional(p, n, a), true_computation=doubled, false_computation=same
  ROOT r = (f32[4], f32[4]) tuple(a, b)
})";
  const hlo::Shape pred = hlo::Shape::Array(hlo::ElementType::kPred, {});
  const std::vector<Literal> inputs = {Floats({4}),
                                       Literal::Of<uint8_t>(pred, std::vector<uint8_t>{1})};
  const Outcome meant = RunOn("interpreter", kTwice, inputs);
  ASSERT_EQ(meant.results.size(), 2u);
  for (const char* const platform : {"cpu", "gpu-sim", "gpu"}) {
    ExpectSameBits(RunOn(platform, kTwice, inputs), meant, platform);
  }
}

// They are the run's own, as inputs are, so long as no value of the run decides about them.
TEST(GpuWithoutHostFallback, RandomNumbersOfTheRunsSeed) {
  SetFaults("");
  constexpr const char* kDrawn = R"(HloModule drawn
ENTRY e {
  x = f32[32] parameter(0)
  low = f32[] constant(-1)
  high = f32[] constant(3)
  u = f32[32] rng(low, high), distribution=rng_uniform
  n = f32[32] rng(low, high), distribution=rng_normal
  s = u64[2] rng-get-and-update-state(), delta=64
  a = f32[32] add(u, x)
  b = f32[32] multiply(a, n)
  ROOT t = (f32[32], u64[2]) tuple(b, s)
}
)";
  const Outcome meant = RunOn("interpreter", kDrawn, {Floats({32})});
  for (const char* const platform : {"cpu", "gpu-sim", "gpu"}) {
    const Outcome ran = RunOn(platform, kDrawn, {Floats({32})});
    ASSERT_FALSE(ran.error.has_value()) << platform << ran.error->ToString();
    EXPECT_TRUE(ran.fallbacks.empty()) << platform;
    EXPECT_EQ(ran.executed.evaluated, 0) << platform;
    EXPECT_GT(ran.executed.kernels, 0) << platform;
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(std::ranges::equal(ran.results[i].bytes(), meant.results[i].bytes())) << platform;
    }
  }
}

Literal Numbers(const std::vector<int32_t>& numbers) {
  return Literal::Of<int32_t>(hlo::Shape::Array(hlo::ElementType::kS32, {std::ssize(numbers)}),
                              numbers);
}

// Two groups, whose members are not in the order of their devices, and two pieces for each member;
// of what overlaps the last one stays.
TEST(GpuWithoutHostFallback, RaggedAllToAll) {
  SetFaults("devices=4");
  constexpr const char* kRagged = R"(HloModule m, replica_count=4
ENTRY e {
  x = f32[6,2] parameter(0)
  starts = s32[4] parameter(1)
  sizes = s32[4] parameter(2)
  places = s32[4] parameter(3)
  came = s32[4] parameter(4)
  o = f32[7,2] parameter(5)
  n = f32[6,2] negate(x)
  ROOT r = f32[7,2] ragged-all-to-all(n, o, starts, sizes, places, came), replica_groups={{1,0},{2,3}}
}
)";
  const auto inputs = [](int32_t last) {
    std::vector<std::vector<Literal>> all;
    for (int32_t device = 0; device < 4; ++device) {
      all.push_back({Floats({6, 2}), Numbers({0, 2, device, 5}), Numbers({2, 1, 1, 0}),
                     Numbers({device, 5, 1, last}), Numbers({0, 0, 0, 0}), Floats({7, 2})});
    }
    return all;
  };
  const Outcome meant = RunOnDevices("interpreter", kRagged, inputs(0));
  const Outcome ran = RunOnDevices("gpu", kRagged, inputs(0), 2);
  ASSERT_FALSE(ran.error.has_value()) << ran.error->ToString();
  EXPECT_TRUE(ran.fallbacks.empty()) << ran.fallbacks[0].instruction;
  ASSERT_EQ(ran.results.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(std::ranges::equal(ran.results[i].bytes(), meant.results[i].bytes())) << i;
  }
  // What lies outside of a buffer ends the run.
  EXPECT_TRUE(RunOnDevices("gpu", kRagged, inputs(8)).error.has_value());
  ExpectNothingLeft("ragged");
}

}  // namespace
}  // namespace hloscope::replay
