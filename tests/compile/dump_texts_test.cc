// Tests of the texts of a compilation: what reads XLA's dumps reads them.
#include "core/compile/dump/dump_texts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/compile/compile.h"
#include "core/dump/readers/buffer_reader.h"
#include "core/dump/readers/code_reader.h"
#include "core/dump/readers/fusion_decisions.h"
#include "core/dump/readers/thunk_reader.h"
#include "tests/hlo/parsed.h"

namespace hloscope::compile {
namespace {

constexpr const char* kLoop = R"(HloModule m
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
body {
  s = (s32[], f32[512,512]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[512,512] get-tuple-element(s), index=1
  one = s32[] constant(1) j = s32[] add(i, one)
  y = f32[512,512] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[512,512] tanh(y)
  ROOT t = (s32[], f32[512,512]) tuple(j, z)
}
condition {
  s = (s32[], f32[512,512]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  p = f32[512,512] parameter(0) zero = s32[] constant(0) f = f32[] constant(0)
  n = f32[512,512] negate(p)
  t = (s32[], f32[512,512]) tuple(zero, n)
  w = (s32[], f32[512,512]) while(t), condition=condition, body=body
  v = f32[512,512] get-tuple-element(w), index=1
  ROOT r = f32[] reduce(v, f), dimensions={0,1}, to_apply=sum
})";

Compilation Compiled(const char* text) {
  auto compiled = Compile(hlo::Parsed(text));
  EXPECT_TRUE(compiled.has_value());
  EXPECT_NE(compiled->plan, nullptr) << compiled->why_no_plan;
  return *compiled;
}

// All kernels have code, all library calls are calls.
StepCodes CodesOf(const Compilation& compiled) {
  StepCodes codes;
  ForEachStep(*compiled.plan, 0, [&](const PlannedStep& step) {
    const std::string name = "k_" + std::string(compiled.module->name(step.id));
    if (step.kind == StepKind::kKernel) codes[step.number] = {name, false, 4, 0};
    if (step.kind == StepKind::kLibraryCall) codes[step.number] = {name, true, 2, 0};
  });
  return codes;
}

TEST(DumpTexts, MemoryIsThatOfThePlan) {
  const Compilation compiled = Compiled(kLoop);
  const Plan& plan = *compiled.plan;
  auto table = dump::ReadBufferText(BufferAssignmentText(plan, 4096));
  ASSERT_TRUE(table.has_value()) << table.error().ToString();
  EXPECT_TRUE(table->warnings.empty());
  EXPECT_EQ(table->parameter_bytes, 1 << 20);
  EXPECT_EQ(table->live_out_bytes, 4);
  EXPECT_EQ(table->temporary_bytes, plan.arena_bytes + 4096);
  const dump::LiveRanges live = dump::ReadLiveRanges(LiveRangeText(plan));
  EXPECT_TRUE(live.complete);
  ApplyLiveRanges(live, *table);
  for (const dump::BufferValue& value : table->values) {
    EXPECT_NE(value.live_start, dump::kUnknownPoint) << value.instruction;
    EXPECT_LE(value.live_start, value.live_end) << value.instruction;
    const auto& allocation = table->allocations[static_cast<size_t>(value.allocation)];
    EXPECT_LE(value.offset + value.size, allocation.size) << value.instruction;
  }
  // The parameter lives as long as the run.
  EXPECT_EQ(table->live_peak_bytes, plan.live_bytes + (1 << 20));
}

TEST(DumpTexts, ThunksAreTheSteps) {
  const Compilation compiled = Compiled(kLoop);
  const StepCodes codes = CodesOf(compiled);
  std::vector<std::string> warnings;
  const auto thunks =
      dump::ReadThunkSequence(ThunkSequenceText(*compiled.plan, codes), Limits(), warnings);
  const auto metadata =
      dump::ReadThunkMetadata(ThunkMetadataText(*compiled.plan, codes), true, warnings);
  EXPECT_TRUE(warnings.empty()) << warnings.front();
  ASSERT_EQ(thunks.size(), metadata.size());
  size_t dots = 0;
  for (size_t k = 0; k < thunks.size(); ++k) {
    EXPECT_EQ(thunks[k].id, metadata[k].id);
    EXPECT_EQ(thunks[k].kind, metadata[k].kind);
    if (thunks[k].kind == "kKernel") {
      EXPECT_EQ(thunks[k].kernel, "k_" + metadata[k].instruction);
    }
    if (thunks[k].kind != "kOneDnnDot") continue;
    ++dots;
    EXPECT_EQ(thunks[k].library, "oneDNN");
    EXPECT_EQ(thunks[k].depth, 1);
    EXPECT_EQ(thunks[static_cast<size_t>(thunks[k].parent)].kind, "kWhile");
  }
  EXPECT_EQ(dots, 1u);
  // What has no code runs on the evaluator.
  const std::string without = ThunkSequenceText(*compiled.plan, {});
  EXPECT_NE(without.find("kEvaluate"), std::string::npos);
  EXPECT_EQ(without.find("kKernel"), std::string::npos);
}

TEST(DumpTexts, DecisionsNameTheirReasons) {
  const Compilation compiled = Compiled(R"(HloModule m
ENTRY e {
  x = f32[512,512] parameter(0) t = f32[512,512] tanh(x) n = f32[512,512] negate(t)
  a = f32[512,1024] concatenate(t, n), dimensions={1}
  b = f32[512,512] transpose(t), dimensions={1,0}
  ROOT r = (f32[512,1024], f32[512,512]) tuple(a, b) })");
  const std::string text = DecisionText(compiled, "before_optimizations");
  EXPECT_NE(text.find("\n  not fused: t into a: b needs all of it\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  fused: n into a: "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  t: 1 operation, reads 1048576, writes 1048576\n"), std::string::npos)
      << text;
  const dump::FusionDecisions read = dump::ReadFusionDecisions(text);
  EXPECT_EQ(read.stage, "before_optimizations");
  EXPECT_EQ(read.unread_lines, 0);
  const auto apart = std::ranges::find(read.decisions, false, &dump::FusionDecision::is_fused);
  ASSERT_NE(apart, read.decisions.end());
  EXPECT_EQ(apart->producer, "t");
  EXPECT_EQ(apart->consumer, "a");
  EXPECT_EQ(apart->reason, "b needs all of it");
  EXPECT_GT(apart->line, 1);
}

TEST(DumpTexts, DecisionsThatSaySomethingElseAreCounted) {
  const dump::FusionDecisions read = dump::ReadFusionDecisions(
      "Fusion of m: 1 kernel\nNo plan, it runs instruction by instruction: m has infeeds\n"
      "  fused: a into b: not among the decisions yet\n\n"
      "decisions on the instructions of s\n  fused: a into b: c: d\n  fused: a and b\n"
      "  melted: a into b: e\n");
  EXPECT_EQ(read.why_no_plan, "m has infeeds");
  ASSERT_EQ(read.decisions.size(), 1U);
  EXPECT_EQ(read.decisions[0].consumer, "b");
  EXPECT_EQ(read.decisions[0].reason, "c: d");
  EXPECT_EQ(read.decisions[0].line, 6);
  EXPECT_EQ(read.unread_lines, 2);
}

TEST(DumpTexts, AssemblyIsReadByItsLabels) {
  const auto functions = dump::ReadAssembly(
      "\t.text\n\t.globl\tk0_f\n\t.p2align\t4\nk0_f:\n.LBB0_1:\n\tjmp\t.LBB0_1\n.Lfunc_end0:\n"
      "\t.size\tk0_f, .Lfunc_end0-k0_f\nlocal:\n\tretq\n\t.globl\tg\ng:\n\tretq\n");
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].name, "k0_f");
  EXPECT_EQ(functions[0].first_line, 4);
  EXPECT_EQ(functions[0].last_line, 8);
  EXPECT_FALSE(functions[0].is_cut);
  EXPECT_EQ(functions[1].name, "g");
  EXPECT_TRUE(functions[1].is_cut);
}

}  // namespace
}  // namespace hloscope::compile
