// Effects happen however deep they stand and whoever uses the result, and scopes end on every way.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/eval/machine/evaluator.h"
#include "core/hlo/sharding/topology.h"
#include "core/hlo/text/text.h"
#include "core/hlo/verify/verifier.h"

namespace hloscope::eval {
namespace {

std::shared_ptr<const hlo::Module> Read(const std::string& text) {
  hlo::ParseResult parsed = hlo::ParseText(text);
  EXPECT_TRUE(parsed.ok()) << (parsed.diagnostics.empty() ? "" : parsed.diagnostics[0].message);
  return parsed.module;
}

struct Outcome {
  Result<Evaluation> evaluation;
  int outfeeds = 0;
};

Outcome RunText(const std::string& text) {
  const auto module = Read(text);
  int outfeeds = 0;
  EvaluateOptions options;
  options.outfeed = [&](const hlo::Literal&) -> Status {
    ++outfeeds;
    return {};
  };
  Result<Evaluation> evaluation = Evaluate(*module, {}, options);
  return {std::move(evaluation), outfeeds};
}

constexpr const char* kLoop = R"(HloModule m
body {
  i = s32[] parameter(0)
  t = token[] after-all()
  o = token[] outfeed(i, t), outfeed_shape=s32[]
  one = s32[] constant(1)
  ROOT n = s32[] add(i, one)
}
condition {
  i = s32[] parameter(0)
  three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT
}
)";

TEST(Effects, OfALoopWithAnUnusedResult) {
  const Outcome run = RunText(std::string(kLoop) + R"(
ENTRY e {
  z = s32[] constant(0)
  w = s32[] while(z), condition=condition, body=body
  ROOT r = f32[] constant(1)
})");
  ASSERT_TRUE(run.evaluation.has_value()) << run.evaluation.error().ToString();
  EXPECT_EQ(run.outfeeds, 3);
}

TEST(Effects, ThroughCallsAndBranches) {
  const Outcome run = RunText(std::string(kLoop) + R"(
loop {
  z = s32[] parameter(0)
  w = s32[] while(z), condition=condition, body=body
  ROOT t = () tuple()
}
nothing {
  z = s32[] parameter(0)
  ROOT t = () tuple()
}
ENTRY e {
  p = pred[] constant(true)
  z = s32[] constant(1)
  b = () conditional(p, z, z), true_computation=loop, false_computation=nothing
  c = () call(z), to_apply=loop
  ROOT r = f32[] constant(1)
})");
  ASSERT_TRUE(run.evaluation.has_value()) << run.evaluation.error().ToString();
  EXPECT_EQ(run.outfeeds, 4);
}

TEST(Effects, OfACustomCallThatCannotRunEndTheRun) {
  const auto with = [](const std::string& attribute) {
    return RunText(
        "HloModule m\nENTRY e {\n  x = f32[2] custom-call(), custom_call_target=\"no such\"" +
        attribute + "\n  ROOT r = f32[] constant(1)\n}");
  };
  EXPECT_TRUE(with("").evaluation.has_value());
  const Outcome run = with(", custom_call_has_side_effect=true");
  ASSERT_FALSE(run.evaluation.has_value());
  EXPECT_EQ(run.evaluation.error().error_class, ErrorClass::kUnsupported);
}

// Whether the loop runs is not known, so nor is whether it sends.
TEST(Effects, AreNotLostWhereWhatDecidesIsMissing) {
  const Outcome run = RunText(std::string(kLoop) + R"(
ENTRY e {
  z = s32[] custom-call(), custom_call_target="no such"
  w = s32[] while(z), condition=condition, body=body
  ROOT r = f32[] constant(1)
})");
  ASSERT_FALSE(run.evaluation.has_value());
  EXPECT_EQ(run.outfeeds, 0);
}

// Nobody knows how many random numbers were drawn where what decides is missing, or an operand of
// what draws: what its generator draws behind it is unknown, and all else has its value.
TEST(Effects, RandomNumbersBehindUnknownDrawsAreMissing) {
  const std::string head = R"(HloModule m
draws { a = f32[] parameter(0)
  ROOT s = u64[2] rng-get-and-update-state(), delta=64 }
rests { a = f32[] parameter(0)
  ROOT s = u64[2] constant({1,2}) }
go_on { a = u64[2] parameter(0)
  ROOT c = pred[] custom-call(), custom_call_target="no such" }
body { a = u64[2] parameter(0)
  ROOT s = u64[2] rng-get-and-update-state(), delta=1 }
ENTRY e {
  before = u64[2] rng-get-and-update-state(), delta=1
  x = f32[] custom-call(), custom_call_target="no such"
  p = pred[] custom-call(), custom_call_target="no such"
  one = f32[] constant(1)
)";
  const std::string tail = R"(
  state = u64[2] rng-get-and-update-state(), delta=1
  number = f32[] rng(one, one), distribution=rng_uniform
  ROOT r = (u64[2], u64[2], f32[], f32[]) tuple(before, state, number, one)
})";
  const auto known = [&](const std::string& line) {
    const Outcome run = RunText(head + line + tail);
    EXPECT_TRUE(run.evaluation.has_value()) << run.evaluation.error().ToString();
    std::string all;
    for (const Value& value : run.evaluation->result.elements()) {
      all += value.is_missing() ? '-' : '+';
    }
    return all;
  };
  EXPECT_EQ(known("  d = f32[] add(x, one)\n"), "++++");
  EXPECT_EQ(known("  d = u64[2] conditional(p, one, one), true_computation=draws, "
                  "false_computation=rests\n"),
            "+-++");
  EXPECT_EQ(known("  d = u64[2] while(before), condition=go_on, body=body\n"), "+-++");
  EXPECT_EQ(known("  d = f32[] rng(x, one), distribution=rng_uniform\n"), "++-+");
}

TEST(Effects, AResultWithoutElementsNeedsNoEvaluation) {
  const Outcome run = RunText(R"(HloModule m
ENTRY e {
  a = f32[0,3] custom-call(), custom_call_target="no such"
  b = (f32[0], token[]) custom-call(), custom_call_target="no such"
  ROOT r = (f32[0,3], (f32[0], token[])) tuple(a, b)
})");
  ASSERT_TRUE(run.evaluation.has_value());
  EXPECT_TRUE(run.evaluation->result.ToLiteral().has_value());
}

// An error inside a call used to leave its scope behind: what followed was looked up in the wrong
// one, and far outside of it.
TEST(Effects, AnErrorInACalleeLeavesItsScope) {
  std::string text = R"(HloModule m, num_partitions=2
callee {
  x = f32[] parameter(0)
  t = token[] after-all()
  s = (f32[], u32[], token[]) send(x, t), channel_id=1
  d = token[] send-done(s), channel_id=1
  ROOT r = f32[] add(x, x)
}
ENTRY e {
  x0 = f32[] parameter(0), sharding={replicated}
  p = u32[] partition-id()
  c = f32[] call(x0), to_apply=callee
)";
  constexpr int kCount = 20'000;
  for (int i = 1; i <= kCount; ++i) {
    text += "  x" + std::to_string(i) + " = f32[] negate(x" + std::to_string(i - 1) + ")\n";
  }
  text += "  q = f32[] convert(p)\n  y = f32[] add(x" + std::to_string(kCount) +
          ", q)\n  ROOT z = (f32[], f32[]) tuple(y, c)\n}\n";
  const auto module = Read(text);
  hlo::Topology topology;
  topology.counts = {1, 2};
  topology.unpartitioned = true;
  topology.has_device_work = true;
  const std::vector<std::vector<hlo::Literal>> arguments = {
      {hlo::Literal::Of<float>(hlo::Shape::Scalar(hlo::ElementType::kF32), {{1.0f}})}};
  const auto run = EvaluateOnDevices(*module, topology, arguments, {});
  ASSERT_FALSE(run.has_value());
  EXPECT_NE(run.error().ToString().find("source_target_pairs"), std::string::npos)
      << run.error().ToString();
}

// The body sums 4096 elements that do not change; only the first iteration may.
std::string LoopOverASum(int iterations) {
  return R"(HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
body {
  s = (s32[], f32[4096], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[4096] get-tuple-element(s), index=1
  x = f32[] get-tuple-element(s), index=2
  one = s32[] constant(1)
  n = s32[] add(i, one)
  zero = f32[] constant(0)
  square = f32[4096] multiply(v, v)
  sum = f32[] reduce(square, zero), dimensions={0}, to_apply=add
  y = f32[] add(x, sum)
  copied = f32[4096] copy(v)
  ROOT t = (s32[], f32[4096], f32[]) tuple(n, copied, y)
}
condition {
  s = (s32[], f32[4096], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  most = s32[] constant()" +
         std::to_string(iterations) + R"()
  ROOT c = pred[] compare(i, most), direction=LT
}
ENTRY e {
  zero = s32[] constant(0)
  half = f32[] constant(0.5)
  v = f32[4096] broadcast(half), dimensions={}
  x = f32[] constant(0)
  t = (s32[], f32[4096], f32[]) tuple(zero, v, x)
  w = (s32[], f32[4096], f32[]) while(t), condition=condition, body=body
  ROOT r = f32[] get-tuple-element(w), index=2
})";
}

class CountSquares : public Observer {
 public:
  explicit CountSquares(const hlo::Module& module) : module_(module) {}
  Status OnValue(const Site& site, std::span<const Value>, const Value&) override {
    if (module_.name(site.instruction) == "square") ++count;
    return {};
  }
  int count = 0;

 private:
  const hlo::Module& module_;
};

TEST(LoopInvariants, AreComputedOnce) {
  int64_t steps[2];
  for (int k = 0; k < 2; ++k) {
    const int iterations = 10 * (k + 1);
    const auto module = Read(LoopOverASum(iterations));
    const auto run = Evaluate(*module, {}, {});
    ASSERT_TRUE(run.has_value()) << run.error().ToString();
    EXPECT_EQ(*run->result.as<float>(), 1024.0f * static_cast<float>(iterations));
    steps[k] = run->steps;
  }
  // Taking an element of the state counts its elements; squares, sum and copy would be three more.
  EXPECT_LT(steps[1] - steps[0], 10 * 2 * 4096);
}

TEST(LoopInvariants, ObserversSeeEveryIteration) {
  const auto module = Read(LoopOverASum(10));
  CountSquares observer(*module);
  EvaluateOptions options;
  options.observer = &observer;
  ASSERT_TRUE(Evaluate(*module, {}, options).has_value());
  EXPECT_EQ(observer.count, 10);
}

// Numbers drawn and lines written in the body are new ones each time.
TEST(LoopInvariants, LeaveEffectsAlone) {
  const Outcome run = RunText(R"(HloModule m
body {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[4] get-tuple-element(s), index=1
  t = token[] after-all()
  o = token[] outfeed(v, t), outfeed_shape=f32[4]
  one = s32[] constant(1)
  n = s32[] add(i, one)
  ROOT r = (s32[], f32[4]) tuple(n, v)
}
condition {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  most = s32[] constant(5)
  ROOT c = pred[] compare(i, most), direction=LT
}
ENTRY e {
  zero = s32[] constant(0)
  v = f32[4] constant({1, 2, 3, 4})
  t = (s32[], f32[4]) tuple(zero, v)
  ROOT w = (s32[], f32[4]) while(t), condition=condition, body=body
})");
  ASSERT_TRUE(run.evaluation.has_value()) << run.evaluation.error().ToString();
  EXPECT_EQ(run.outfeeds, 5);
}

}  // namespace
}  // namespace hloscope::eval
