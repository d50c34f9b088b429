// The screens Passes and Kernels: what is shown first, what a pass saves, what counts as a change,
// and what stands where there is no trace and no code.
#include <fmt/format.h>

#include <filesystem>

#include "core/base/file.h"
#include "core/hlo/text/text.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/comparison.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/facts/pass_ranking.h"
#include "viewer/facts/stage_costs.h"
#include "viewer/facts/timeline_facts.h"
#include "viewer/model/stage_columns.h"

namespace hloscope::viewer {
namespace {

using PassesScreenTest = ReadingTest;

TEST_F(PassesScreenTest, OpensOnTheLargestChangeUntilAStageIsChosen) {
  Start({Sample("softmax_passes_a100")});
  Press("Ctrl+3");
  const Pending<PassRanking>& ranking = RankingOf(session(), 0);
  ASSERT_TRUE(ranking.ready());
  EXPECT_EQ(ShownChangeStage(session()), ranking->order.front());
  EXPECT_NE(ShownChangeStage(session()), session().navigation.stage());
  ExpectSeen("changes", "19moved");
  // What the graph selects by itself is no choice of the user's.
  Press("Ctrl+2");
  EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kInstruction);
  Press("Ctrl+3");
  EXPECT_EQ(ShownChangeStage(session()), ranking->order.front());
  session().navigation.Select(Selection::OfStage(0, 1));
  Settle();
  EXPECT_EQ(ShownChangeStage(session()), 1);
}

// What changed until a nested pipeline began is the work of the pass that runs it, in every panel.
TEST_F(PassesScreenTest, APassHasWhatItDidBeforeItsNestedPipeline) {
  const std::string folder = Scratch("nested");
  std::filesystem::create_directories(folder);
  const auto write = [&](std::string_view stage, int sums) {
    std::string text = "HloModule m\nENTRY e {\n  a0 = f32[4] parameter(0)\n";
    for (int k = 1; k <= sums; ++k)
      text += fmt::format("  {}a{} = f32[4] add(a{}, a{})\n", k == sums ? "ROOT " : "", k, k - 1,
                          k - 1);
    EXPECT_TRUE(
        WriteFileAtomically(fmt::format("{}/module_0001.m.{}.txt", folder, stage), text + "}\n"));
  };
  write("before_optimizations", 1);
  write("0001.spmd-partitioner.after_pipeline-start.before_flatten-call-graph", 1);
  write("0002.spmd-partitioner.after_shardy-xla.before_spmd-partitioning", 2);
  write("0003.spmd-cleanup.after_pipeline-start.before_dce", 9);
  write("0004.spmd-cleanup.after_dce.before_tuple-simplifier", 8);
  write("0005.spmd-partitioner.after_spmd-partitioning.before_control-dep-rewriter", 8);
  write("0006.spmd-inner.after_pipeline-start.before_dce", 8);
  write("0007.spmd-inner.after_dce.before_tuple-simplifier", 7);
  write("0008.spmd-partitioner.after_last-pass.before_end", 7);
  write("cpu_after_optimizations", 7);
  Start({folder});
  Press("Ctrl+3");
  Settle();
  // Cut in its middle.
  ExpectSeen("passes", "spmd-partitioning…-cleanup)");
  ExpectSeen("passes", "▸ spmd-partitioner");
  // Nothing changed before this one: it is a heading, no work of the pass that runs it.
  ExpectSeen("passes", "▸ spmd-inner");
  session().navigation.Select(Selection::OfStage(0, 3));
  ASSERT_TRUE(DrawUntil([this] { return ShownChanges(session(), 0, 3).ready(); }));
  EXPECT_EQ(ShownChanges(session(), 0, 3)->counts.added, 7);
  Settle();
  ExpectSeen("selection", "after spmd-partitioning (up to");
  session().navigation.Select(Selection::OfStage(0, 1));
  Settle();
  ExpectSeen("selection", "start of pipeline spmd-partitioner");
}

TEST_F(PassesScreenTest, MetadataAloneIsIgnoredOnDemand) {
  Start({AnnotatedDump()});
  Press("Ctrl+3");
  const int32_t stage = session().document.dump()->FinalStage(0);
  ASSERT_TRUE(DrawUntil([&] { return ShownChanges(session(), 0, stage).ready(); }));
  EXPECT_EQ(ShownChanges(session(), 0, stage)->counts.rewritten, 1);
  Click("//###passes.changes/Ignore metadata");
  Settle();
  ASSERT_TRUE(DrawUntil([&] { return ShownChanges(session(), 0, stage).ready(); }));
  EXPECT_FALSE(ShownChanges(session(), 0, stage)->counts.any());
  ExpectSeen("changes", "no changes");
}

TEST_F(PassesScreenTest, OrderStaysInSightWhenSortedByChange) {
  Start({Sample("softmax_passes_a100")});
  Press("Ctrl+3");
  Click("//###passes.passes/Most changed first");
  Settle();
  // The fourth to run stands first.
  ExpectSeen("passes", "4call-inliner");
  EXPECT_LT(SeenLines(Seen("passes")).find("4call-inliner"),
            SeenLines(Seen("passes")).find("1before_optimizations"));
  // Stepping goes through the pipeline all the same, and leaves the order of the list as it is.
  session().navigation.Select(Selection::OfStage(0, 3));
  Settle();
  Press("]");
  EXPECT_EQ(ShownChangeStage(session()), 4);
  Press("[");
  EXPECT_EQ(ShownChangeStage(session()), 3);
  EXPECT_TRUE(session().marks.Of<PassMarks>().by_change);
  ExpectSeen("passes", "4call-inliner");
  Click("//###passes.passes/Most changed first");
  Settle();
  EXPECT_GT(SeenLines(Seen("passes")).find("4call-inliner"),
            SeenLines(Seen("passes")).find("1before_optimizations"));
  EXPECT_EQ(ShownChangeStage(session()), 3);
}

TEST_F(PassesScreenTest, EachPassHasItsEstimate) {
  Start({Sample("softmax_passes_a100")});
  Press("Ctrl+3");
  const Pending<StageCosts>& costs = StageCostsOf(session(), 0);
  ASSERT_TRUE(costs.ready());
  double bytes = costs->costs.front().bytes;
  int64_t instructions = costs->costs.front().instructions;
  for (const StageGain& gain : costs->gains) {
    bytes += gain.bytes;
    instructions += gain.instructions;
  }
  EXPECT_EQ(bytes, costs->costs.back().bytes);
  EXPECT_EQ(instructions, costs->costs.back().instructions);
  const auto csv = app().dock().Find("passes")->view->Export(ExportFormat::kCsv, session());
  ASSERT_TRUE(csv);
  EXPECT_NE(csv->find("bytes_moved_change"), std::string::npos);
}

TEST(StageCostTest, CountsWhatRunsByItself) {
  const hlo::ParseResult module = hlo::ParseText(R"(HloModule m
fused {
  a = f32[100] parameter(0)
  b = f32[100] multiply(a, a)
  ROOT c = f32[100] add(b, a)
}
ENTRY e {
  x = f32[100] parameter(0)
  f = f32[100] fusion(x), kind=kLoop, calls=fused
  ROOT g = f32[100] custom-call(f), custom_call_target="__cublas$gemm"
}
)");
  ASSERT_TRUE(module.ok());
  const StageCost cost = CostOfStage(*module.module);
  EXPECT_EQ(cost.instructions, 6);
  EXPECT_EQ(cost.bytes, 1600);  // each reads and writes 400; nothing inside the fusion counts
  EXPECT_EQ(cost.kernels, 2);
}

TEST(StageColumnsTest, AllStagesFitHoweverMany) {
  for (int32_t stages : {1, 2, 86, 150, 5000}) {
    const StageColumns columns(10, 300, stages, 2);
    EXPECT_GE(columns.ColumnWidth(), 2);
    int32_t next = 0;
    for (int32_t c = 0; c < columns.columns; ++c) {
      EXPECT_EQ(columns.First(c), next) << "no stage is left out";
      for (next = columns.First(c); next < columns.First(c + 1); ++next)
        EXPECT_EQ(columns.ColumnOf(next), c);
    }
    EXPECT_EQ(next, stages);
    EXPECT_LE(columns.Right(stages - 1), 310.01F);
    EXPECT_EQ(columns.StageAt(10), 0);
    EXPECT_EQ(columns.StageAt(310), stages - 1);
  }
}

TEST_F(PassesScreenTest, KernelsAreEstimatedWithoutATrace) {
  Start({Sample("attention_block")});
  Press("Ctrl+5");
  const Pending<KernelSheet>* sheet = KernelSheetOf(session());
  ASSERT_TRUE(sheet != nullptr && sheet->ready());
  EXPECT_TRUE((*sheet)->is_estimate);
  ASSERT_FALSE((*sheet)->rows.empty());
  EXPECT_GT((*sheet)->rows.front().cost.bytes(), 0);
  for (const KernelRow& row : (*sheet)->rows) EXPECT_EQ(row.count, 0) << row.name;
}

TEST_F(PassesScreenTest, ColumnsOfOneValueAreHiddenUntilAskedFor) {
  Start({Sample("attention_block_h100")});
  Press("Ctrl+5");
  ExpectSeen("kernels", "constant column hidden");
  Click("//###kernels.kernels/###same");
  Settle();
  ExpectSeen("kernels", "Hide 1 constant column");
  EXPECT_EQ(SeenLines(Seen("kernels")).find("columnhidden"), std::string::npos);
}

// A made-up trace of a device: a kernel of 10 µs, NCCL beside its last 4 µs and 6 µs longer.
TEST_F(PassesScreenTest, StepsCategoriesAndOverlapOfATrace) {
  const std::string path = Scratch("steps.trace.json");
  const std::string_view event = R"(,{{"ph":"X","pid":1,"tid":{},"ts":{},"dur":{},"name":"{}"}})";
  std::string json =
      R"({"displayTimeUnit":"ns","traceEvents":[)"
      R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},)"
      R"({"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"Steps"}},)"
      R"({"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"Stream #1"}},)"
      R"({"ph":"M","pid":1,"tid":3,"name":"thread_name","args":{"name":"Stream #2"}})";
  const auto add = [&](int lane, int at, int length, std::string_view name) {
    json += fmt::format(fmt::runtime(event), lane, at, length, name);
  };
  add(1, 0, 20, "7");
  add(1, 20, 20, "8");
  add(2, 0, 10, "loop_add_fusion");
  add(3, 6, 10, "ncclDevKernel_AllReduce_Sum");
  add(2, 30, 5, "MemcpyD2H");
  ASSERT_TRUE(WriteFileAtomically(path, json + "]}"));
  Start({path});
  Press("Ctrl+5");
  const Pending<ProfileModel>* profile = ProfileOf(session());
  ASSERT_TRUE(profile != nullptr && profile->ready());
  const auto facts = FindTimelineFacts(**profile);
  ASSERT_EQ(facts->steps.size(), 2u);
  EXPECT_EQ(facts->steps[1].name, "8");
  EXPECT_EQ(facts->step_word, "step");
  EXPECT_EQ(facts->busy[static_cast<size_t>(TimelineCategory::kCompute)], 10'000'000);
  EXPECT_EQ(facts->busy[static_cast<size_t>(TimelineCategory::kCopy)], 5'000'000);
  EXPECT_EQ(facts->collective, 10'000'000);
  EXPECT_EQ(facts->hidden, 4'000'000);
  ExpectSeen("timeline", "collectives: 40 % overlap with compute");
  ExpectSeen("timeline", "2 steps");
}

}  // namespace
}  // namespace hloscope::viewer
