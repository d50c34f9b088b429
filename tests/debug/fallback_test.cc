// Fallbacks: what a platform refuses is found, named, or run on the host with the same results.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "core/backends/make_platform.h"
#include "core/debug/pieces/fallback_platform.h"
#include "core/debug/pieces/split.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/text/text.h"
#include "core/replay/inputs/inputs.h"

namespace hloscope::debug {
namespace {

using hlo::Literal;

// The interpreter, but it refuses a module with an instruction of some kind.
class Picky : public replay::Platform {
 public:
  using Refuses = std::function<bool(const hlo::Module&, hlo::InstructionId)>;
  Picky(Refuses refuses, std::string says, ErrorClass error_class, int* loads)
      : refuses_(std::move(refuses)), says_(std::move(says)), class_(error_class), loads_(loads) {}
  std::string_view name() const override { return "picky"; }
  Result<std::unique_ptr<replay::Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                                   const replay::RunOptions& options) override {
    ++*loads_;
    for (uint32_t i = 0; i < module->instructions().size(); ++i) {
      if (!refuses_(*module, hlo::InstructionId(i))) continue;
      return std::unexpected(Error{class_, says_, {}, {}});
    }
    return right_->Load(std::move(module), options);
  }

 private:
  Refuses refuses_;
  std::string says_;
  ErrorClass class_;
  int* loads_;
  std::unique_ptr<replay::Platform> right_ = *replay::MakePlatform("interpreter");
};

struct Events : replay::RunStream {
  void Take(replay::RunEvent event) override {
    if (auto* result = std::get_if<replay::LeafResult>(&event)) {
      results.push_back(std::move(*result));
    } else if (auto* fallback = std::get_if<replay::RunFallback>(&event)) {
      fallbacks.push_back(std::move(*fallback));
    }
  }
  std::vector<replay::LeafResult> results;
  std::vector<replay::RunFallback> fallbacks;
};

Picky::Refuses IsOpcode(hlo::Opcode opcode) {
  return [opcode](const hlo::Module& m, hlo::InstructionId id) { return m[id].opcode == opcode; };
}

class FallbackTest : public testing::Test {
 protected:
  std::unique_ptr<replay::Platform> Make(Picky::Refuses refuses, Fallback fallback,
                                         std::string says = "internal: cannot do that",
                                         ErrorClass error_class = ErrorClass::kUnsupported) {
    return WithFallback(
        std::make_unique<Picky>(std::move(refuses), std::move(says), error_class, &loads_),
        [] { return replay::MakePlatform("interpreter"); }, fallback, now_);
  }

  Result<replay::RunResult> Run(replay::Platform& platform, std::string_view text,
                                Events& events) const {
    const auto parsed = hlo::ParseText(text);
    if (!parsed.ok()) return InputError(parsed.diagnostics.at(0).message);
    std::shared_ptr<const hlo::Module> module = parsed.module;
    replay::InputOptions how;
    how.seed = 1;
    const auto made = replay::MakeInputs(*module, how);
    EXPECT_TRUE(made.has_value());
    const std::vector<std::vector<Literal>> inputs(
        static_cast<size_t>(module->header().replica_count), made->literals);
    const replay::RunOptions options;
    HLOSCOPE_ASSIGN_OR_RETURN(const auto loaded, platform.Load(module, options));
    return loaded->Run(inputs, options, events);
  }

  // With what is refused on the host the values are those of the interpreter.
  Events ExpectSame(Picky::Refuses refuses, std::string_view text) {
    Events right, events;
    const auto interpreter = *replay::MakePlatform("interpreter");
    EXPECT_TRUE(Run(*interpreter, text, right).has_value());
    const auto platform = Make(std::move(refuses), Fallback::kHost);
    const auto ran = Run(*platform, text, events);
    EXPECT_TRUE(ran.has_value()) << ran.error().ToString();
    EXPECT_EQ(events.results.size(), right.results.size());
    for (size_t i = 0; i < std::min(events.results.size(), right.results.size()); ++i) {
      EXPECT_EQ(events.results[i].device, right.results[i].device);
      EXPECT_EQ(events.results[i].leaf, right.results[i].leaf);
      if (!right.results[i].value.has_value()) {
        EXPECT_FALSE(events.results[i].value.has_value());
        continue;
      }
      EXPECT_TRUE(events.results[i].value.has_value()) << events.results[i].value.error().message;
      if (!events.results[i].value.has_value()) continue;
      EXPECT_TRUE(
          std::ranges::equal(events.results[i].value->bytes(), right.results[i].value->bytes()));
    }
    return events;
  }

  int loads_ = 0;
  Now now_ = &std::chrono::steady_clock::now;
};

constexpr std::string_view kChain = R"(HloModule m
ENTRY e {
  p = f32[8] parameter(0)
  two = f32[] constant(2)
  twos = f32[8] broadcast(two), dimensions={}
  a = f32[8] multiply(p, twos)
  t = f32[8] tanh(a)
  b = f32[8] add(t, p)
  u = f32[8] tanh(b)
  d = f32[8] divide(u, twos)
  ROOT r = (f32[8], f32[8], f32[]) tuple(d, a, two)
}
)";

TEST_F(FallbackTest, AnErrorNamesInstructionReasonAndFix) {
  const auto platform = Make(IsOpcode(hlo::Opcode::kTanh), Fallback::kError);
  Events events;
  const auto ran = Run(*platform, kChain, events);
  ASSERT_FALSE(ran.has_value());
  EXPECT_EQ(ran.error().error_class, ErrorClass::kUnsupported);
  EXPECT_EQ(ran.error().message,
            "t (tanh): unsupported opcode: internal: cannot do that; and 1 more, u");
  EXPECT_EQ(ran.error().hint, "--fallback cpu runs them on the host");
}

TEST_F(FallbackTest, WithoutBeingAskedItSaysWhatThePlatformSays) {
  const auto platform = Make(IsOpcode(hlo::Opcode::kTanh), Fallback::kNone);
  Events events;
  const auto ran = Run(*platform, kChain, events);
  ASSERT_FALSE(ran.has_value());
  EXPECT_EQ(ran.error().message, "internal: cannot do that");
  EXPECT_EQ(loads_, 1);
}

TEST_F(FallbackTest, ANameInTheErrorSavesTheSearch) {
  const auto platform = Make(IsOpcode(hlo::Opcode::kDivide), Fallback::kError,
                             "Unimplemented element type in %d = divide");
  Events events;
  const auto ran = Run(*platform, kChain, events);
  ASSERT_FALSE(ran.has_value());
  EXPECT_EQ(ran.error().message,
            "d (divide): unsupported element type: Unimplemented element type in %d = divide");
  EXPECT_EQ(loads_, 2);
}

// A part takes longer than half of the time that was left.
TEST_F(FallbackTest, ASlowSearchDoesNotLoseTheError) {
  // By its own clock, which goes on when a part is loaded; the deadline is far from that of others.
  const auto begin = std::chrono::steady_clock::now() + std::chrono::hours(24);
  now_ = [this, begin] { return begin + std::chrono::seconds(loads_ > 1 ? 7 : 0); };
  replay::RunOptions options;
  options.budget.deadline = begin + std::chrono::seconds(12);
  const auto platform = Make(IsOpcode(hlo::Opcode::kTanh), Fallback::kError);
  const auto loaded = platform->Load(hlo::ParseText(kChain).module, options);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_NE(loaded.error().message.find("internal: cannot do that"), std::string::npos)
      << loaded.error().message;
  EXPECT_LE(loads_, 2);
}

TEST_F(FallbackTest, WhatIsRefusedRunsOnTheHost) {
  const Events events = ExpectSame(IsOpcode(hlo::Opcode::kTanh), kChain);
  ASSERT_EQ(events.fallbacks.size(), 2u);
  EXPECT_EQ(events.fallbacks[0].instruction, "t");
  EXPECT_EQ(events.fallbacks[0].opcode, "tanh");
  EXPECT_EQ(events.fallbacks[0].reason, "unsupported opcode");
  EXPECT_EQ(events.fallbacks[0].detail, "internal: cannot do that");
  EXPECT_EQ(events.fallbacks[0].bytes_moved, 64);  // a there, t back
  EXPECT_EQ(events.fallbacks[1].instruction, "u");
  EXPECT_EQ(events.fallbacks[1].bytes_moved, 64);
}

TEST_F(FallbackTest, TheRootItselfMayBeRefused) {
  const Events events = ExpectSame(IsOpcode(hlo::Opcode::kSubtract), R"(HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  a = f32[4] add(p, p)
  ROOT s = f32[4] subtract(a, p)
}
)");
  ASSERT_EQ(events.fallbacks.size(), 1u);
  EXPECT_EQ(events.fallbacks[0].bytes_moved, 16);  // a; the result is read either way
}

TEST_F(FallbackTest, CountsWhatACalledComputationMoves) {
  const Events events = ExpectSame(IsOpcode(hlo::Opcode::kTanh), R"(HloModule m
f {
  x = (f32[4], f32[4]) parameter(0)
  a = f32[4] get-tuple-element(x), index=0
  b = f32[4] get-tuple-element(x), index=1
  t = f32[4] tanh(a)
  ROOT r = (f32[4], f32[4]) tuple(t, b)
}
ENTRY e {
  p = f32[4] parameter(0)
  m = f32[4] multiply(p, p)
  w = (f32[4], f32[4]) tuple(m, p)
  c = (f32[4], f32[4]) call(w), to_apply=f
  y = f32[4] get-tuple-element(c), index=0
  z = f32[4] get-tuple-element(c), index=1
  ROOT s = f32[4] add(y, z)
}
)");
  ASSERT_EQ(events.fallbacks.size(), 1u);
  EXPECT_EQ(events.fallbacks[0].bytes_moved, 32);  // m there, t back; p is an input
}

constexpr std::string_view kLoop = R"(HloModule m
cond {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT
}
body {
  s.1 = (s32[], f32[4]) parameter(0)
  i.1 = s32[] get-tuple-element(s.1), index=0
  v = f32[4] get-tuple-element(s.1), index=1
  one = s32[] constant(1)
  j = s32[] add(i.1, one)
  t = f32[4] tanh(v)
  w = f32[4] add(t, v)
  ROOT o = (s32[], f32[4]) tuple(j, w)
}
yes {
  y = f32[4] parameter(0)
  ROOT ty = f32[4] tanh(y)
}
no {
  z = f32[4] parameter(0)
  ROOT nz = f32[4] negate(z)
}
called {
  c = f32[4] parameter(0)
  tc = f32[4] tanh(c)
  ROOT cc = f32[4] multiply(tc, c)
}
ENTRY e {
  p = f32[4] parameter(0)
  q = f32[4] multiply(p, p)
  zero = s32[] constant(0)
  start = (s32[], f32[4]) tuple(zero, q)
  loop = (s32[], f32[4]) while(start), condition=cond, body=body
  x = f32[4] get-tuple-element(loop), index=1
  yea = pred[] constant(true)
  chosen = f32[4] conditional(yea, x, p), true_computation=yes, false_computation=no
  index = s32[] constant(7)
  other = f32[4] conditional(index, x, chosen), branch_computations={yes, no}
  k = f32[4] call(chosen), to_apply=called
  ROOT r = (f32[4], f32[4], f32[4]) tuple(k, x, other)
}
)";

TEST_F(FallbackTest, LoopsCallsAndConditionalsAreGoneThrough) {
  const Events events = ExpectSame(IsOpcode(hlo::Opcode::kTanh), kLoop);
  std::vector<std::string> names;
  for (const auto& fallback : events.fallbacks) names.push_back(fallback.instruction);
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"t", "tc", "ty"}));
  for (const auto& fallback : events.fallbacks) {
    const bool is_loop = fallback.instruction == "t";
    EXPECT_EQ(fallback.detail.ends_with("; it ran 3 times"), is_loop) << fallback.detail;
  }
}

TEST_F(FallbackTest, AsynchronousPairsStayTogether) {
  const Events events = ExpectSame(IsOpcode(hlo::Opcode::kCopyStart), R"(HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  a = f32[4] add(p, p)
  s = (f32[4], f32[4], u32[]) copy-start(a)
  d = f32[4] copy-done(s)
  ROOT m = f32[4] multiply(d, a)
}
)");
  ASSERT_EQ(events.fallbacks.size(), 1u);
  EXPECT_EQ(events.fallbacks[0].instruction, "d");
}

TEST_F(FallbackTest, WhatNeitherKnowsLosesOnlyWhatDependsOnIt) {
  const Events events = ExpectSame(IsOpcode(hlo::Opcode::kCustomCall), R"(HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  a = f32[4] add(p, p)
  c = f32[4] custom-call(a), custom_call_target="nobody_knows"
  m = f32[4] multiply(c, a)
  n = f32[4] negate(a)
  x = f32[4] subtract(n, a)
  ROOT r = (f32[4], f32[4]) tuple(m, x)
}
)");
  ASSERT_EQ(events.results.size(), 2u);
  EXPECT_FALSE(events.results[0].value.has_value());
  EXPECT_TRUE(events.results[1].value.has_value());
  ASSERT_EQ(events.fallbacks.size(), 1u);
  EXPECT_EQ(events.fallbacks[0].reason, "custom call that the platform does not implement");
  EXPECT_EQ(events.fallbacks[0].bytes_moved, 16);  // a there; nothing of c came back
}

TEST_F(FallbackTest, TheFixIsNotPromisedWhereTheHostCannot) {
  const auto platform = Make(IsOpcode(hlo::Opcode::kCustomCall), Fallback::kError);
  Events events;
  const auto ran = Run(*platform, R"(HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  ROOT c = f32[4] custom-call(p), custom_call_target="nobody_knows"
}
)",
                       events);
  ASSERT_FALSE(ran.has_value());
  EXPECT_EQ(ran.error().hint, "its semantics are unknown; extract a part without it");
}

TEST_F(FallbackTest, ReplicasAreSplitAlike) {
  const Events events = ExpectSame(IsOpcode(hlo::Opcode::kTanh), R"(HloModule m, replica_count=2
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY e {
  p = f32[4] parameter(0)
  id = u32[] replica-id()
  f = f32[] convert(id)
  fs = f32[4] broadcast(f), dimensions={}
  q = f32[4] multiply(p, fs)
  t = f32[4] tanh(q)
  s = f32[4] all-reduce(t), to_apply=add
  ROOT r = f32[4] add(s, q)
}
)");
  ASSERT_EQ(events.results.size(), 2u);
  ASSERT_EQ(events.fallbacks.size(), 1u);
  EXPECT_EQ(events.fallbacks[0].bytes_moved, 64);  // two devices, q there and t back
}

TEST_F(FallbackTest, WithoutADriverAllRunsOnTheHost) {
  const auto all = [](const hlo::Module&, hlo::InstructionId) { return true; };
  Events events;
  auto platform = Make(all, Fallback::kHost, "No visible GPU devices.", ErrorClass::kEnvironment);
  ASSERT_TRUE(Run(*platform, kChain, events).has_value());
  EXPECT_EQ(loads_, 1);
  ASSERT_EQ(events.fallbacks.size(), 6u);  // but for parameter, constant and tuple
  EXPECT_EQ(events.fallbacks[0].reason, "no driver");
  platform = Make(all, Fallback::kError, "No visible GPU devices.", ErrorClass::kEnvironment);
  const auto ran = Run(*platform, kChain, events);
  ASSERT_FALSE(ran.has_value());
  EXPECT_EQ(ran.error().hint, "--fallback cpu runs the module on the host");
}

TEST_F(FallbackTest, MissingLibrariesAreNotUnsupportedInstructions) {
  const auto all = [](const hlo::Module&, hlo::InstructionId) { return true; };
  const auto platform = Make(all, Fallback::kHost, "no plugin installed", ErrorClass::kEnvironment);
  Events events;
  const auto ran = Run(*platform, kChain, events);
  ASSERT_FALSE(ran.has_value());
  EXPECT_EQ(ran.error().message, "no plugin installed");
  EXPECT_EQ(loads_, 1);
}

TEST_F(FallbackTest, AnInvalidRequestIsNotAnUnsupportedInstruction) {
  const auto all = [](const hlo::Module&, hlo::InstructionId) { return true; };
  for (const Fallback fallback : {Fallback::kError, Fallback::kHost}) {
    const auto platform = Make(all, fallback, "--target h10: no such device", ErrorClass::kInput);
    Events events;
    const auto ran = Run(*platform, kChain, events);
    ASSERT_FALSE(ran.has_value());
    EXPECT_EQ(ran.error().message, "--target h10: no such device");
    EXPECT_EQ(std::exchange(loads_, 0), 2);  // this one and a plain one: no instruction is tried
  }
  const auto one = Make(IsOpcode(hlo::Opcode::kTanh), Fallback::kError, "bad", ErrorClass::kInput);
  Events events;
  const auto ran = Run(*one, kChain, events);
  ASSERT_FALSE(ran.has_value());
  EXPECT_TRUE(ran.error().message.starts_with("t (tanh): ")) << ran.error().message;
}

// Only together: nothing alone is to blame, so all of it runs elsewhere.
TEST_F(FallbackTest, AModuleRefusedAsAWholeRunsOnTheHost) {
  const auto two = [](const hlo::Module& m, hlo::InstructionId) {
    return std::ranges::count(m.instructions(), hlo::Opcode::kTanh, &hlo::Instruction::opcode) >
               1 &&
           std::ranges::count(m.instructions(), hlo::Opcode::kDivide, &hlo::Instruction::opcode) >
               0;
  };
  Events events;
  const auto platform = Make(two, Fallback::kHost, "too much", ErrorClass::kInternal);
  const auto ran = Run(*platform, kChain, events);
  ASSERT_TRUE(ran.has_value()) << ran.error().ToString();
  ASSERT_EQ(events.fallbacks.size(), 6u);
  EXPECT_EQ(events.fallbacks[0].reason, "compile failure");
}

}  // namespace
}  // namespace hloscope::debug
