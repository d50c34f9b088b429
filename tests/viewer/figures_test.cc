// One number for one thing: panels against each other and against the counts of `info --json`, in
// every sample.
#include <filesystem>
#include <set>

#include "core/graph/overview.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/answers.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/facts/module_facts.h"

namespace hloscope::viewer {
namespace {

class FiguresTest : public ReadingTest {};

TEST_F(FiguresTest, KernelsAreLaunchesOnEveryScreen) {
  int compared = 0;
  for (const auto& sample : std::filesystem::directory_iterator(Sample(""))) {
    if (!sample.is_directory() || sample.path().filename() == "faults") continue;
    SCOPED_TRACE(sample.path().filename());
    // Of its files alone, without the trace that is next to them.
    const std::string folder = Scratch(sample.path().filename().string());
    std::filesystem::create_directories(folder);
    for (const auto& file : std::filesystem::directory_iterator(sample)) {
      if (file.path().string().find("xplane") == std::string::npos)
        std::filesystem::copy(file.path(), folder, std::filesystem::copy_options::recursive);
    }
    auto dump = dump::DumpModel::Open(folder, Limits{});
    ASSERT_TRUE(dump);
    const int32_t last = (*dump)->FinalStage(0);
    if (last < 0) continue;
    const auto first = (*dump)->Module(0, 0), compiled = (*dump)->Module(0, last);
    ASSERT_TRUE(first && compiled);
    // What `info --json` prints as `overview`.
    const graph::Overview overview =
        graph::MakeOverview(**first, **compiled, analysis::PlacementIn(**dump, 0, **compiled));
    int64_t all = 0;
    for (const int64_t count : overview.lanes) all += count;
    Start({folder});
    Press("Ctrl+2");
    Settle();
    // What is on the host has a colour of its own.
    const std::string sentence = graph::ToSentence(overview);
    ExpectSeen("graph", sentence.substr(0, sentence.rfind(" → ")));
    Press("Ctrl+5");
    Settle();
    ASSERT_TRUE(DrawUntil([this] {
      return KernelSheetOf(session()) != nullptr && KernelSheetOf(session())->ready();
    }));
    std::set<uint32_t> rows;
    for (const KernelRow& row : (*KernelSheetOf(session()))->rows) {
      EXPECT_TRUE(!row.instruction.valid() || rows.insert(row.instruction.index).second)
          << row.name;
    }
    EXPECT_EQ(static_cast<int64_t>(rows.size()), all) << graph::ToSentence(overview);
    const Pending<ModuleFacts>& home = FactsOf(session(), 0);
    ASSERT_TRUE(DrawUntil([&] { return home.ready(); }));
    EXPECT_EQ(home->kernels, overview.lanes[static_cast<size_t>(graph::Lane::kKernels)]);
    Stop();
    ++compared;
  }
  EXPECT_GE(compared, 8);
}

// XLA writes the module at the start of a nested pipeline: what changed until then was the pass
// that runs it.
TEST_F(FiguresTest, APassIsCreditedWithWhatItDidUpToANestedPipeline) {
  dump::ModuleEntry entry;
  const auto add = [&](std::string pipeline, std::string pass) {
    entry.stages.push_back(
        {.name = pipeline + pass, .pipeline = pipeline, .pass = pass, .files = {}});
  };
  add("", "");
  add("spmd-partitioner", "pipeline-start");
  add("spmd-partitioner", "sharding-propagation");
  add("spmd-cleanup", "pipeline-start");  // 3: the partitioner's own work
  add("spmd-cleanup", "dce");
  add("spmd-partitioner", "spmd-partitioning");
  add("optimization", "pipeline-start");  // 6: no pass is running
  add("optimization", "algsimp");
  add("", "");
  entry.stages.back().name = "after_optimizations";
  EXPECT_EQ(PassName(entry, 3), "spmd-partitioning (up to spmd-cleanup)");
  EXPECT_EQ(PassName(entry, 4), "dce");
  EXPECT_EQ(PassName(entry, 6), "start of pipeline optimization");
  EXPECT_TRUE(IsMadeByPass(entry, 3));
  EXPECT_FALSE(IsMadeByPass(entry, 6));
  EXPECT_FALSE(IsMadeByPass(entry, 8));
}

// Adam's moments in the sample are `mean` and `square` next to `params`.
TEST_F(FiguresTest, OptimiserStateIsRecognised) {
  Start({Sample("gpt_train_step_h100")});
  Press("Ctrl+6");
  Settle();
  ExpectSeen("memory", "optimiser state");
}

}  // namespace
}  // namespace hloscope::viewer
