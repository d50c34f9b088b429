// Tests of following values through a module: program order, sources of operands, comparison in
// rounds, and the calls that capture on plugins.
#include "core/debug/explain/diverge/diverge_platforms.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/analysis/place/boundaries.h"
#include "core/backends/pjrt/capture_calls.h"
#include "core/backends/pjrt/device_bytes.h"
#include "core/debug/compare/compare_bits.h"
#include "core/debug/explain/diverge/difference_paths.h"
#include "core/debug/explain/diverge/kernel_check.h"
#include "core/debug/explain/diverge/operand_values.h"
#include "core/debug/explain/diverge/value_comparison.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/hlo/scalar_literal.h"
#include "core/replay/platform_table.h"
#include "tests/hlo/parsed.h"

namespace hloscope::debug {
namespace {

using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;

// A loop in a loop, a branch, a call, a call that is one kernel, and a bitcast on the way.
constexpr std::string_view kProgram = R"(HloModule program
halved {
  p = f32[2,2] parameter(0)
  h = f32[] constant(0.5)
  hb = f32[2,2] broadcast(h), dimensions={}
  ROOT q = f32[2,2] multiply(p, hb)
}
small {
  p = f32[2,2] parameter(0)
  ROOT inside_small = f32[2,2] negate(p)
}
called {
  p = f32[2,2] parameter(0)
  c = f32[2,2] call(p), to_apply=small, frontend_attributes={xla_cpu_small_call="true"}
  ROOT sum = f32[2,2] add(c, p)
}
inner_body {
  state = (s32[], f32[2,2]) parameter(0)
  turn = s32[] get-tuple-element(state), index=0
  value = f32[2,2] get-tuple-element(state), index=1
  one = s32[] constant(1)
  next = s32[] add(turn, one)
  half = f32[2,2] fusion(value), kind=kLoop, calls=halved
  ROOT out = (s32[], f32[2,2]) tuple(next, half)
}
inner_condition {
  state = (s32[], f32[2,2]) parameter(0)
  turn = s32[] get-tuple-element(state), index=0
  two = s32[] constant(2)
  ROOT again = pred[] compare(turn, two), direction=LT
}
outer_body {
  state = (s32[], f32[2,2], f32[4]) parameter(0)
  turn = s32[] get-tuple-element(state), index=0
  value = f32[2,2] get-tuple-element(state), index=1
  fixed = f32[4] get-tuple-element(state), index=2
  square = f32[2,2] bitcast(fixed)
  zero = s32[] constant(0)
  begin = (s32[], f32[2,2]) tuple(zero, value)
  loop = (s32[], f32[2,2]) while(begin), condition=inner_condition, body=inner_body
  last = f32[2,2] get-tuple-element(loop), index=1
  one = s32[] constant(1)
  next = s32[] add(turn, one)
  more = f32[2,2] add(last, square)
  ROOT out = (s32[], f32[2,2], f32[4]) tuple(next, more, fixed)
}
outer_condition {
  state = (s32[], f32[2,2], f32[4]) parameter(0)
  turn = s32[] get-tuple-element(state), index=0
  three = s32[] constant(3)
  ROOT again = pred[] compare(turn, three), direction=LT
}
left { p = f32[2,2] parameter(0)
  ROOT l = f32[2,2] negate(p)
}
right { p = f32[2,2] parameter(0)
  ROOT r = f32[2,2] abs(p)
}
ENTRY e {
  a = f32[2,2] parameter(0)
  b = (f32[4], pred[]) parameter(1)
  four = f32[4] get-tuple-element(b), index=0
  which = pred[] get-tuple-element(b), index=1
  zero = s32[] constant(0)
  begin = (s32[], f32[2,2], f32[4]) tuple(zero, a, four)
  outer = (s32[], f32[2,2], f32[4]) while(begin), condition=outer_condition, body=outer_body
  value = f32[2,2] get-tuple-element(outer), index=1
  made = f32[2,2] call(value), to_apply=called
  chosen = f32[2,2] conditional(which, made, value), true_computation=left, false_computation=right
  ROOT result = (f32[2,2], f32[4]) tuple(chosen, four)
})";

RunSpec OnInterpreter() {
  RunSpec request;
  request.inputs.seed = 5;
  request.test.run_passes = false;
  return request;
}

replay::CapturePlan Of(std::vector<InstructionId> instructions) {
  replay::CapturePlan plan;
  plan.items.push_back({.instructions = std::move(instructions)});
  return plan;
}

class Taken : public replay::RunStream {
 public:
  void Take(replay::RunEvent event) override {
    auto* captured = std::get_if<replay::CapturedValue>(&event);
    if (captured != nullptr) values.push_back(std::move(*captured));
  }
  std::vector<replay::CapturedValue> values;
};

TEST(ProgramPoint, ComparesInTheOrderOfTheProgram) {
  const auto module = hlo::Parsed(kProgram);
  const RunSpec request = OnInterpreter();
  const replay::CapturePlan plan = Of(analysis::BoundariesOf(*module));
  Taken taken;
  ASSERT_TRUE(RunCapturing(module, request, plan, taken).has_value());
  std::vector<std::string> names;
  std::map<ProgramPoint, replay::ValueKey> sorted;
  for (const replay::CapturedValue& value : taken.values) {
    EXPECT_TRUE(sorted.emplace(PointOf(*module, value.key), value.key).second);
  }
  for (const auto& [point, key] : sorted) {
    if (key.leaf > 0) continue;
    const std::string calls = CallsText(*module, key);
    const std::string name(module->name(key.instruction));
    // Names are unique in the module: "again.1".
    names.push_back(calls + (calls.empty() ? "" : ": ") + name.substr(0, name.find('.')));
  }
  // Conditions before bodies, insides before what runs them.
  const std::string turn = "outer iteration 0, loop iteration ";
  const std::vector<std::string> expected = {
      "outer iteration 0: again", turn + "0: again",         turn + "0: next",
      turn + "0: half",           turn + "1: again",         turn + "1: next",
      turn + "1: half",           turn + "2: again",         "outer iteration 0: loop",
      "outer iteration 0: next",  "outer iteration 0: more", "outer iteration 1: again"};
  ASSERT_GT(names.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(names[i], expected[i]);
  const auto at = [&](std::string_view name) { return std::ranges::find(names, name); };
  EXPECT_LT(at("outer iteration 2: more"), at("outer iteration 3: again"));
  EXPECT_LT(at("outer iteration 3: again"), at("outer"));
  EXPECT_LT(at("made: c"), at("made: sum"));
  EXPECT_LT(at("made: sum"), at("made"));
  EXPECT_LT(at("made"), at("chosen"));
  EXPECT_EQ(at("made, c: inside_small"), names.end());  // part of a kernel
}

// Whatever instruction in whatever iteration: its value is what is found by going back from it.
TEST(OperandValues, AreFoundThroughLoopsBranchesAndCalls) {
  const auto module = hlo::Parsed(kProgram);
  std::vector<InstructionId> all;
  const std::vector<bool> outside = analysis::OutsideKernels(*module);
  for (uint32_t i = 0; i < module->instructions().size(); ++i) {
    if (outside[module->instructions()[i].computation.index]) all.push_back(InstructionId(i));
  }
  const replay::CapturePlan plan = Of(all);
  auto session = CaptureSession::Open(module, OnInterpreter(), plan);
  ASSERT_TRUE(session.has_value());
  Taken taken;
  ASSERT_TRUE(session->Run(plan, taken).has_value());
  std::map<ProgramPoint, Literal> captured;
  for (const replay::CapturedValue& value : taken.values) {
    captured.emplace(PointOf(*module, value.key), std::get<Literal>(value.value));
  }
  EXPECT_GT(captured.size(), 100u);
  int followed = 0;
  for (const replay::CapturedValue& value : taken.values) {
    const auto source = FindSource(*module, value.key);
    ASSERT_TRUE(source.has_value()) << source.error().message;
    const Opcode made_by = (*module)[source->key.instruction].opcode;
    EXPECT_FALSE(hlo::Info(made_by).category == hlo::Category::kTuple);
    const auto found = ValueOf(*module, *source, session->inputs(), captured);
    ASSERT_TRUE(found.has_value()) << found.error().message;
    EXPECT_EQ(*found, std::get<Literal>(value.value)) << module->name(value.key.instruction);
    followed += source->key.instruction == value.key.instruction ? 0 : 1;
  }
  EXPECT_GT(followed, 50);
}

TEST(ValueComparison, FindsNothingBetweenEqualsInAnyAmountOfMemory) {
  const auto module = hlo::Parsed(kProgram);
  const RunSpec request = OnInterpreter();
  const replay::CapturePlan plan = Of(analysis::BoundariesOf(*module));
  for (const int64_t bytes : {int64_t{1} << 20, int64_t{40}, int64_t{0}}) {
    auto a = CaptureSession::Open(module, request, plan);
    auto b = CaptureSession::Open(module, request, plan);
    ASSERT_TRUE(a.has_value() && b.has_value());
    ValueComparison values(*module, *a, *b, request.compare.bounds, bytes);
    ASSERT_TRUE(values.Run().has_value());
    EXPECT_TRUE(values.differences().empty());
    ValueWalk walk;
    values.Summarise(walk);
    EXPECT_EQ(walk.compared, walk.same_bits);
    EXPECT_EQ(walk.untold, 0);
    EXPECT_EQ(walk.left_out, 0);
    EXPECT_EQ(walk.compared, 45);
    EXPECT_EQ(values.platform_results().at(0).size(), 2u);
  }
}

// The two sides draw other random numbers: every value behind them differs.
TEST(ValueComparison, KeepsWhatDiffersInRounds) {
  const auto module = hlo::Parsed(R"(HloModule random
ENTRY e {
  zero = f32[] constant(0)
  one = f32[] constant(1)
  same = f32[8] broadcast(one), dimensions={}
  drawn = f32[8] rng(zero, one), distribution=rng_uniform
  more = f32[8] add(drawn, same)
  ROOT most = f32[8] multiply(more, more)
})");
  RunSpec request = OnInterpreter();
  const replay::CapturePlan plan = Of(analysis::BoundariesOf(*module));
  for (const int64_t bytes : {int64_t{1} << 20, int64_t{32}, int64_t{31}}) {
    auto a = CaptureSession::Open(module, request, plan);
    request.repeats.rng_seed = 43;
    auto b = CaptureSession::Open(module, request, plan);
    request.repeats.rng_seed = 42;
    ValueComparison values(*module, *a, *b, request.compare.bounds, bytes);
    ASSERT_TRUE(values.Run().has_value());
    if (bytes < 32) {  // no round can keep one of them
      EXPECT_TRUE(values.differences().empty());
      ValueWalk walk;
      values.Summarise(walk);
      EXPECT_EQ(walk.too_large, 3);
      EXPECT_EQ(walk.left_out, 0);
      EXPECT_EQ(walk.same_bits, 1);
      continue;
    }
    ASSERT_FALSE(values.differences().empty());
    const ValueDifference& first = values.differences().begin()->second;
    EXPECT_EQ(module->name(first.key.instruction), "drawn");
    EXPECT_FALSE(first.comparison.equal());
    ValueWalk walk;
    values.Summarise(walk);
    EXPECT_EQ(walk.same_bits, 1);
    EXPECT_EQ(walk.curve.at(0).instruction, "drawn");
    if (bytes == 32) {
      EXPECT_EQ(walk.left_out, 2);  // behind the first divergence
      auto kept = values.PlatformValues({{0, 0, {}, hlo::Named(*module, "most"), 0}});
      ASSERT_TRUE(kept.has_value());
      EXPECT_EQ(kept->size(), 1u);
    } else {
      EXPECT_EQ(walk.curve.size(), 3u);
    }
  }
}

TEST(DivergePlatforms, OfOnePlatformIsEqual) {
  RunSpec request;
  request.reference.name = request.test.name;
  const DivergeVerdict verdict = DivergePlatforms(hlo::Parsed(kProgram), request);
  EXPECT_EQ(verdict.status, RunStatus::kEqual);
  ASSERT_TRUE(verdict.walk.has_value());
  EXPECT_EQ(verdict.walk->capture_keeps_bits, true);
  EXPECT_EQ(verdict.walk->compared, 45);
}

// Every user of a value waits for the call that captures it; callers get one of their own.
TEST(DifferencePaths, EndWhereValuesAgree) {
  const auto module = hlo::Parsed(R"(HloModule paths
body {
  p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[4] get-tuple-element(p), index=1
  inside = f32[4] tanh(v)
  ROOT out = (s32[], f32[4]) tuple(i, inside)
}
condition {
  q = (s32[], f32[4]) parameter(0)
  ROOT again = pred[] constant(false)
}
ENTRY e {
  x = f32[4] parameter(0)
  n = s32[] constant(0)
  first = f32[4] negate(x)
  agrees = f32[4] abs(first)
  state = (s32[], f32[4]) tuple(n, agrees)
  loop = (s32[], f32[4]) while(state), condition=condition, body=body
  second = f32[4] get-tuple-element(loop), index=1
  last = f32[4] sine(second)
  ROOT r = (f32[4], f32[4]) tuple(agrees, last)
})");
  const auto leads = [&](std::vector<std::string_view> differ, std::vector<int64_t> results,
                         std::string_view name) {
    std::vector<bool> differs(module->instructions().size());
    for (const std::string_view each : differ)
      differs[hlo::FindInstruction(*module, each).index] = true;
    return DifferencePaths(*module, differs, results)
        .LeadsToResult(hlo::FindInstruction(*module, name));
  };
  EXPECT_FALSE(leads({"first", "last"}, {1}, "first"));
  EXPECT_TRUE(leads({"first", "last"}, {1}, "last"));
  EXPECT_FALSE(leads({"first", "last"}, {0}, "last"));
  EXPECT_TRUE(leads({"first", "agrees", "last"}, {1}, "first"));
  EXPECT_TRUE(leads({"first", "agrees"}, {0}, "first"));
  EXPECT_TRUE(leads({"inside", "last"}, {1}, "inside"));
  EXPECT_FALSE(leads({"inside"}, {1}, "inside"));

  const auto results = [&](std::vector<std::string_view> differ, std::string_view from) {
    std::vector<bool> differs(module->instructions().size());
    for (const std::string_view each : differ)
      differs[hlo::FindInstruction(*module, each).index] = true;
    return ResultsFrom(*module, hlo::FindInstruction(*module, from), differs,
                       std::vector<int64_t>{0, 1});
  };
  using Results = std::vector<int64_t>;
  EXPECT_EQ(results({"first", "last"}, "first"), Results{});
  EXPECT_EQ(results({"last"}, "last"), Results{1});
  EXPECT_EQ(results({"first", "agrees"}, "first"), Results{0});
  EXPECT_EQ(results({"first", "agrees", "last"}, "first"), (Results{0, 1}));
  EXPECT_EQ(results({"inside", "last"}, "inside"), Results{1});
  EXPECT_EQ(results({"inside"}, "inside"), Results{});
}

// What takes another array of a kernel than those that differ does not come from it.
TEST(DifferencePaths, FollowTheArraysThatDiffer) {
  const auto module = hlo::Parsed(R"(HloModule arrays
ENTRY e {
  x = f32[4] parameter(0)
  kernel = (f32[4], (f32[4], f32[4])) custom-call(x), custom_call_target="several"
  first = f32[4] get-tuple-element(kernel), index=0
  others = (f32[4], f32[4]) get-tuple-element(kernel), index=1
  last = f32[4] get-tuple-element(others), index=1
  a = f32[4] negate(first)
  b = f32[4] negate(last)
  ROOT r = (f32[4], f32[4]) tuple(a, b)
})");
  const std::vector<bool> may_differ(module->instructions().size(), true);
  const auto results = [&](std::vector<int64_t> leaves) {
    return ResultsFrom(*module, hlo::FindInstruction(*module, "kernel"), may_differ,
                       std::vector<int64_t>{0, 1}, leaves);
  };
  using Results = std::vector<int64_t>;
  EXPECT_EQ(results({}), (Results{0, 1}));
  EXPECT_EQ(results({0}), Results{0});
  EXPECT_EQ(results({2}), Results{1});
  EXPECT_EQ(results({0, 1}), (Results{0, 1}));

  // Of one that is the root itself they are the results.
  const auto root = hlo::Parsed(R"(HloModule root
ENTRY e {
  x = f32[4] parameter(0)
  ROOT kernel = (f32[4], f32[4]) custom-call(x), custom_call_target="several"
})");
  const std::vector<bool> both(root->instructions().size(), true);
  EXPECT_EQ(ResultsFrom(*root, root->entry().root, both, Results{0, 1}, Results{1}), Results{1});
}

TEST(CaptureCalls, FollowTheirValues) {
  const auto module = hlo::Parsed(kProgram);
  replay::CapturePlan plan;
  plan.items.push_back({.instructions = {hlo::Named(*module, "half"), hlo::Named(*module, "c")}});
  const auto calls = replay::pjrt::AddCaptureCalls(*module, plan, 7);
  ASSERT_TRUE(calls.has_value());
  size_t count = 0;
  const Module& made = *calls->module;
  for (uint32_t i = 0; i < made.instructions().size(); ++i) {
    const InstructionId id(i);
    if (made[id].opcode != Opcode::kCustomCall) continue;
    ++count;
    const InstructionId value = made.operands(id)[0];
    for (uint32_t u = 0; u < made.instructions().size(); ++u) {
      const auto operands = made.operands(InstructionId(u));
      if (u == i || std::ranges::find(operands, value) == operands.end()) continue;
      const hlo::Attribute* before =
          made.Find(InstructionId(u), hlo::AttributeKey::kControlPredecessors);
      ASSERT_NE(before, nullptr) << made.name(InstructionId(u));
      EXPECT_EQ(std::ranges::count(made.IdsOf(*before), i), 1);
    }
  }
  // half, its inner loop and outer loop; c, and the call that runs it.
  EXPECT_EQ(count, 5u);
  plan.items[0].instructions = {hlo::Named(*module, "inside_small")};
  const auto refused = replay::pjrt::AddCaptureCalls(*module, plan, 8);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().error_class, ErrorClass::kUnsupported);
}

TEST(DeviceBytes, AreReadInTheOrderOfTheirLayout) {
  const auto shape_of = [](std::string_view shape) {
    const auto module =
        hlo::Parsed(fmt::format("HloModule m\nENTRY e {{\n ROOT a = {} parameter(0)\n}}", shape));
    return module->shape(module->entry().root);
  };
  const int16_t columns[] = {1, 4, 2, 5, 3, 6};
  const auto turned = replay::pjrt::FromDeviceBytes(shape_of("s16[2,3]{0,1}"),
                                                    reinterpret_cast<const std::byte*>(columns));
  ASSERT_TRUE(turned.has_value());
  EXPECT_TRUE(std::ranges::equal(turned->data<int16_t>(), std::vector<int16_t>{1, 2, 3, 4, 5, 6}));
  const unsigned char packed[] = {0x2f, 0x08};
  const auto nibbles = replay::pjrt::FromDeviceBytes(shape_of("s4[3]{0:E(4)}"),
                                                     reinterpret_cast<const std::byte*>(packed));
  ASSERT_TRUE(nibbles.has_value());
  EXPECT_TRUE(std::ranges::equal(nibbles->data<int8_t>(), std::vector<int8_t>{-1, 2, -8}));
  EXPECT_FALSE(replay::pjrt::FromDeviceBytes(shape_of("f32[<=4]"), nullptr).has_value());
}

// Whole numbers have no value in double precision that a side could be nearer to.
TEST(KernelCheckTest, WholeNumbersHaveNoPreciseValue) {
  const auto distances = [](const std::string& type) {
    KernelCheck check;
    check.alone = hlo::Parsed(fmt::format(
        "HloModule m\nENTRY e {{\n  x = {0}[] constant(3)\n  ROOT y = {0}[] negate(x)\n}}\n",
        type));
    check.value = {
        hlo::ScalarLiteral(check.alone->shape(check.alone->entry().root).element_type(), 7)};
    RunSpec request;
    request.reference.name = replay::ReferencePlatform().name;
    ValueWalk walk;
    EXPECT_TRUE(MeasureDistances(check, request, walk, {}).has_value());
    return walk.platform_distance.has_value() && walk.reference_distance.has_value();
  };
  EXPECT_FALSE(distances("s32"));
  EXPECT_TRUE(distances("f32"));
}

}  // namespace
}  // namespace hloscope::debug
