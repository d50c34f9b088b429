// Tests that what the evaluator alone used to compute is code of ours: the module means the same,
// has a plan, and nothing in it is handed over.
#include <gtest/gtest.h>

#include "core/compile/compile.h"
#include "tests/compile/expression.h"
#include "tests/compile/meaning.h"
#include "tests/hlo/parsed.h"

namespace hloscope::compile {
namespace {

// How many loops the plan has; -1, with a failed test, where something is not ours.
int LoopsOfOwnCode(const std::string& text) {
  const Meaning meaning = CompareMeaning(hlo::Parsed(text), {});
  EXPECT_TRUE(meaning.was_run) << meaning.why_not;
  EXPECT_EQ(meaning.problem, "") << text;
  const auto& plan = meaning.compilation.plan;
  EXPECT_NE(plan, nullptr) << meaning.compilation.why_no_plan;
  if (plan == nullptr) return -1;
  int loops = 0;
  ForEachStep(*plan, 0, [&](const PlannedStep& step) {
    EXPECT_NE(step.kind, StepKind::kEvaluate) << plan->module->name(step.id) << text;
    loops += step.kind == StepKind::kWhile ? 1 : 0;
  });
  return loops;
}

std::string ScanOf(std::string_view type, std::string_view operation, std::string_view carry,
                   std::string_view how) {
  const bool is_row = carry.find(',') == std::string_view::npos && carry != "[]";
  const std::string t(type), c = t + std::string(carry);
  const std::string array = is_row ? t + "[5,4]" : t + "[9]";
  return "HloModule m\nf {\n  x = " + c + " parameter(0)\n  y = " + c +
         " parameter(1)\n  s = " + c + " " + std::string(operation) + "(x, y)\n  ROOT t = (" + c +
         ", " + c + ") tuple(s, s)\n}\nENTRY e {\n  a = " + array + " parameter(0)\n  b = " + c +
         " parameter(1)\n  ROOT r = (" + array + ", " + c +
         ") scan(a, b), dimensions={0}, num_carries=1, to_apply=f" + std::string(how) + "\n}";
}

TEST(Rewritten, ScansAreWindowsWhereTheirOrderIsFree) {
  for (const std::string how :
       {", is_associative=true", ", is_associative=true, is_reverse=true"}) {
    EXPECT_EQ(LoopsOfOwnCode(ScanOf("f32", "add", "[]", how)), 0);
    EXPECT_EQ(LoopsOfOwnCode(ScanOf("f32", "add", "[4]", how)), 0);
    EXPECT_EQ(LoopsOfOwnCode(ScanOf("f32", "multiply", "[4]", how)), 0);
    EXPECT_EQ(LoopsOfOwnCode(ScanOf("f64", "maximum", "[]", how)), 0);
  }
  // Integers are associative, whoever says so.
  EXPECT_EQ(LoopsOfOwnCode(ScanOf("s32", "add", "[]", "")), 0);
  EXPECT_EQ(LoopsOfOwnCode(ScanOf("u8", "xor", "[]", ", is_reverse=true")), 0);
  EXPECT_EQ(LoopsOfOwnCode(ScanOf("s16", "multiply", "[4]", "")), 0);
}

TEST(Rewritten, OtherScansAreLoops) {
  EXPECT_EQ(LoopsOfOwnCode(ScanOf("f32", "add", "[]", "")), 1);
  EXPECT_EQ(LoopsOfOwnCode(ScanOf("f32", "subtract", "[4]", ", is_reverse=true")), 1);
  EXPECT_EQ(LoopsOfOwnCode(ScanOf("c64", "add", "[]", ", is_associative=true")), 1);
  // A window would sum in more bits than each step of a narrow type is rounded to.
  EXPECT_EQ(LoopsOfOwnCode(ScanOf("bf16", "add", "[]", ", is_associative=true")), 1);
  EXPECT_EQ(LoopsOfOwnCode(ScanOf("f16", "multiply", "[4]", ", is_associative=true")), 1);
  EXPECT_EQ(LoopsOfOwnCode(ScanOf("f8e8m0fnu", "multiply", "[4]", ", is_associative=true")), 1);
  EXPECT_EQ(LoopsOfOwnCode(ScanOf("bf16", "maximum", "[]", "")), 0);
  // Nothing is known that leaves numbers as they are here.
  EXPECT_EQ(LoopsOfOwnCode(ScanOf("s32", "maximum", "[4]", "")), 1);
}

TEST(Rewritten, ScansOfSeveralArraysAndOfNone) {
  EXPECT_EQ(LoopsOfOwnCode(R"(HloModule m
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
f {
  x = f32[3] parameter(0)
  n = s32[3,2] parameter(1)
  c = f32[] parameter(2)
  d = s32[2] parameter(3)
  z = f32[] constant(0)
  s = f32[] reduce(x, z), dimensions={0}, to_apply=sum
  k = f32[] multiply(s, c)
  kb = f32[3] broadcast(k), dimensions={}
  y = f32[3] add(x, kb)
  db = s32[3,2] broadcast(d), dimensions={1}
  m = s32[3,2] add(n, db)
  i = s32[] constant(2)
  ib = s32[2] broadcast(i), dimensions={}
  e = s32[2] add(d, ib)
  ROOT t = (f32[3], s32[3,2], f32[], s32[2]) tuple(y, m, k, e)
}
ENTRY e {
  a = f32[3,7] parameter(0)
  b = s32[3,7,2] parameter(1)
  c = f32[] parameter(2)
  d = s32[2] parameter(3)
  ROOT r = (f32[3,7], s32[3,7,2], f32[], s32[2]) scan(a, b, c, d), dimensions={1}, num_carries=2, to_apply=f, is_reverse=true
})"),
            1);
  EXPECT_EQ(LoopsOfOwnCode(R"(HloModule m
f { x = f32[8] parameter(0) n = f32[8] negate(x) ROOT t = (f32[8]) tuple(n) }
ENTRY e {
  a = f32[6,8] parameter(0)
  ROOT r = f32[6,8] scan(a), dimensions={0}, num_carries=0, to_apply=f
})"),
            1);
  EXPECT_EQ(LoopsOfOwnCode(R"(HloModule m
f { x = f32[] parameter(0) y = f32[] parameter(1) s = f32[] subtract(x, y) ROOT t = (f32[], f32[]) tuple(s, s) }
ENTRY e {
  a = f32[0] parameter(0)
  b = f32[] parameter(1)
  s = (f32[0], f32[]) scan(a, b), dimensions={0}, num_carries=1, to_apply=f
  ROOT r = f32[] get-tuple-element(s), index=1
})"),
            0);
}

// What the pass would write would run beside it, and the effect be twice.
TEST(Rewritten, ScansWithEffectsStay) {
  for (const std::string_view effect :
       {"u = f32[] rng(x, y), distribution=rng_uniform",
        "k = token[] after-all() u = token[] outfeed(x, k), outfeed_shape=f32[]"}) {
    const auto kept = AfterPass(
        "scan-decomposition", "HloModule m\nf { x = f32[] parameter(0) y = f32[] parameter(1) " +
                                  std::string(effect) +
                                  R"( s = f32[] subtract(x, y) ROOT t = (f32[], f32[]) tuple(s, s) }
ENTRY e {
  a = f32[3] parameter(0)
  b = f32[] parameter(1)
  ROOT r = (f32[3], f32[]) scan(a, b), dimensions={0}, num_carries=1, to_apply=f
})");
    EXPECT_EQ(Expression(*kept), "scan{0}(a, b)");
  }
}

TEST(Rewritten, ManualRegionsOfOneDevice) {
  EXPECT_EQ(LoopsOfOwnCode(R"(HloModule m
ENTRY e {
  x = f32[4,9] parameter(0), sharding={replicated}
  m = f32[4,9] custom-call(x), custom_call_target="SPMDFullToShardShape", sharding={manual}
  n = f32[4,9] negate(m)
  ROOT r = f32[4,9] custom-call(n), custom_call_target="SPMDShardToFullShape", sharding={replicated}
})"),
            0);
}

TEST(Rewritten, AnnotationsInReducers) {
  EXPECT_EQ(LoopsOfOwnCode(R"(HloModule m
f {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] add(a, b)
  ROOT r = f32[] custom-call(c), custom_call_target="Sharding", sharding={replicated}
}
ENTRY e {
  p = f32[9,20] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[9] reduce(p, z), dimensions={1}, to_apply=f
})"),
            0);
}

TEST(Rewritten, CustomCallsOfKnownMeaning) {
  EXPECT_EQ(LoopsOfOwnCode(R"(HloModule m
ENTRY e {
  x = f32[4,9] parameter(0)
  s = f32[4,9] custom-call(x), custom_call_target="Sharding"
  d = f32[4,9] domain(s), domain={kind="sharding", entry={maximal device=0}, exit={maximal device=1}}
  z = f32[4,9] custom-call(), custom_call_target="AllocateBuffer"
  a = f32[4,9] add(d, z)
  ROOT t = (f32[4,3], s32[4,3]) custom-call(a), custom_call_target="TopK"
})"),
            0);
  EXPECT_EQ(LoopsOfOwnCode(R"(HloModule m
ENTRY e {
  x = f32[6,8] parameter(0)
  y = f32[8,4] parameter(1)
  ROOT t = f32[6,4] custom-call(x, y), custom_call_target="__cublas$gemm", backend_config={"alpha_real":2,"beta":0,"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"],"lhs_batch_dimensions":[],"rhs_batch_dimensions":[]},"alpha_imag":0,"epilogue":"DEFAULT"}
})"),
            0);
  // A computation beside the call is called, and not run by the compiler.
  EXPECT_EQ(LoopsOfOwnCode(R"(HloModule m
goes_on { s = (f32[4], s32[]) parameter(0) n = s32[] get-tuple-element(s), index=1 z = s32[] constant(3) ROOT c = pred[] compare(n, z), direction=LT }
turn { s = (f32[4], s32[]) parameter(0) v = f32[4] get-tuple-element(s), index=0 n = s32[] get-tuple-element(s), index=1 o = s32[] constant(1) k = s32[] add(n, o) w = f32[4] negate(v) ROOT t = (f32[4], s32[]) tuple(w, k) }
host { p = f32[4] parameter(0) q = s32[] parameter(1) t = (f32[4], s32[]) tuple(p, q) w = (f32[4], s32[]) while(t), condition=goes_on, body=turn ROOT r = f32[4] get-tuple-element(w), index=0 }
ENTRY e {
  x = f32[4] parameter(0)
  n = s32[] parameter(1)
  ROOT r = f32[4] custom-call(x, n), custom_call_target="HostExecute", called_computations={host}
})"),
            1);
  // A scan of CUB is a window.
  for (const std::string_view how : {"false", "true"}) {
    EXPECT_EQ(
        LoopsOfOwnCode("HloModule m\nENTRY e {\n  x = s32[6,8] parameter(0)\n  ROOT s = (s32[6,8], "
                       "u8[1]) custom-call(x), custom_call_target=\"xla.gpu.ext.cub_scan\", "
                       "backend_config={\"vector_length\":2,\"row_length\":8,"
                       "\"column_length\":3,\"kind\":1,\"is_reverse\":" +
                       std::string(how) + "}\n}"),
        0);
  }
  // Values of another type than the operand, or fewer places than values, are not what topk has.
  for (const std::string_view results : {"(bf16[2,3], s32[2,3])", "(f32[2,3], s32[2,2])"}) {
    EXPECT_EQ(Expression(*AfterPass(
                  "custom-calls",
                  "HloModule m\nENTRY e {\n  x = f32[2,30] parameter(0)\n  ROOT t = " +
                      std::string(results) + " custom-call(x), custom_call_target=\"TopK\"\n}")),
              "custom-call(x)");
  }
  // A type without zero.
  EXPECT_EQ(Expression(*AfterPass("custom-calls", R"(HloModule m
ENTRY e {
  ROOT z = f8e8m0fnu[4] custom-call(), custom_call_target="AllocateBuffer"
})")),
            "custom-call()");
  // An effect stays where it is.
  const auto kept = AfterPass("custom-calls", R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  ROOT s = f32[4] custom-call(x), custom_call_target="Sharding", custom_call_has_side_effect=true
})");
  EXPECT_EQ(Expression(*kept), "custom-call(x)");
}

TEST(Rewritten, TokensAndTuplesOfConstants) {
  EXPECT_EQ(LoopsOfOwnCode(R"(HloModule m
ENTRY e {
  x = f32[3] parameter(0)
  t = token[] after-all()
  u = token[] after-all(t, t)
  d = f32[3] add-dependency(x, u)
  c = (f32[3], (s32[2], pred[])) constant(({1, 2, 3}, ({7, 8}, true)))
  p = f32[3] get-tuple-element(c), index=0
  q = (s32[2], pred[]) get-tuple-element(c), index=1
  a = f32[3] add(d, p)
  ROOT r = (f32[3], (s32[2], pred[]), token[]) tuple(a, q, u)
})"),
            0);
}

TEST(Rewritten, PartsOfPairsAreOne) {
  const std::string text = R"(HloModule m
wrapped { p = f32[4] parameter(0) q = f32[4] parameter(1) s = f32[4] subtract(p, q) ROOT n = f32[4] negate(s) }
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  cs = (f32[4], f32[4], u32[]) copy-start(y)
  st = ((f32[4], f32[4]), f32[4], u32[]) async-start(x, y), calls=wrapped
  up = ((f32[4], f32[4]), f32[4], u32[]) async-update(st)
  cd = f32[4] copy-done(cs), control-predecessors={st}
  dn = f32[4] async-done(up), control-predecessors={cd}
  ROOT m = f32[4] multiply(dn, cd)
})";
  EXPECT_EQ(LoopsOfOwnCode(text), 0);
  const auto joined = AfterPass("async-pairs", text);
  EXPECT_EQ(Expression(*joined), "multiply(call(x, y), copy(y))");
  EXPECT_EQ(Expression(*AfterPass("inlining", joined)),
            "multiply(negate(subtract(x, y)), copy(y))");
  // What runs on another thread of XLA's runs in the one order that a plan has.
  const std::string threads = R"(HloModule m
wrapped { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }, execution_thread="parallel"
ENTRY e {
  x = f32[4] parameter(0)
  st = ((f32[4]), f32[4], u32[]) async-start(x), async_execution_thread="parallel", calls=wrapped
  dn = f32[4] async-done(st)
  ROOT m = f32[4] multiply(dn, x)
})";
  EXPECT_EQ(Expression(*AfterPass("inlining", AfterPass("async-pairs", threads))),
            "multiply(negate(x), x)");
  // A pair inside what another pair calls.
  EXPECT_EQ(LoopsOfOwnCode(R"(HloModule m
inner { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }
outer { p = f32[4] parameter(0) st = ((f32[4]), f32[4], u32[]) async-start(p), calls=inner ROOT dn = f32[4] async-done(st) }
ENTRY e {
  x = f32[4] parameter(0)
  st = ((f32[4]), f32[4], u32[]) async-start(x), calls=outer
  dn = f32[4] async-done(st)
  ROOT m = f32[4] subtract(dn, x)
})"),
            0);
  // Where a state has two users, or an effect might be seen in between, both parts stay.
  const auto kept = AfterPass("async-pairs", R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  t = token[] after-all()
  o = token[] outfeed(x, t)
  cs = (f32[4], f32[4], u32[]) copy-start(x)
  ROOT cd = f32[4] copy-done(cs)
})");
  EXPECT_EQ(Expression(*kept), "copy-done(copy-start(x))");
}

TEST(Rewritten, CollectivesOfStepsHaveReductionsThatNcclHas) {
  const std::string text = R"(HloModule m, replica_count=4
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
ENTRY e {
  x = f32[3] parameter(0)
  m = f32[3] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=max
  ROOT s = f32[3] all-reduce(m), replica_groups={}, to_apply=add
})";
  for (const bool plans : {false, true}) {
    CompileOptions options;
    options.plan_collectives = plans;
    options.verify = true;
    const auto compiled = Compile(hlo::Parsed(text), options);
    ASSERT_TRUE(compiled.has_value()) << compiled.error().ToString();
    const auto count = [&](hlo::Opcode opcode) {
      return std::ranges::count(compiled->module->instructions(), opcode,
                                &hlo::Instruction::opcode);
    };
    EXPECT_EQ(count(hlo::Opcode::kAllReduce), plans ? 1 : 2);
    EXPECT_EQ(count(hlo::Opcode::kAllGather), plans ? 1 : 0);
    EXPECT_EQ(compiled->plan != nullptr, plans);
  }
  // All arrays of a group at once are too much memory.
  CompileOptions options;
  options.plan_collectives = true;
  const auto large = Compile(hlo::Parsed(R"(HloModule m, replica_count=4
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }
ENTRY e {
  x = f32[8388608] parameter(0)
  ROOT m = f32[8388608] all-reduce(x), replica_groups={}, to_apply=max
})"),
                             options);
  ASSERT_TRUE(large.has_value()) << large.error().ToString();
  EXPECT_EQ(std::ranges::count(large->module->instructions(), hlo::Opcode::kAllGather,
                               &hlo::Instruction::opcode),
            0);
}

}  // namespace
}  // namespace hloscope::compile
