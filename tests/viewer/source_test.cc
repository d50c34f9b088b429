// The user's program: what may be read of it, what its lines cost, and how the columns follow.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "core/hlo/analysis/source_line.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/source_costs.h"
#include "viewer/model/user_source.h"

namespace hloscope::viewer {
namespace {

class SourceTest : public ReadingTest {
 protected:
  void Write(const std::string& name, std::string_view text) {
    const std::filesystem::path path = Scratch(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string Below(std::string_view name) {
    const Result<UserSource> read = ReadBelow(Scratch("named"), name);
    return read ? read->lines.front() : std::string("refused");
  }
};

TEST_F(SourceTest, OnlyRegularFilesBelowTheFolderAreRead) {
  Write("named/model/layers.py", "inside");
  Write("named/top.py", "top");
  Write("outside/secret.py", "secret");
  std::filesystem::create_symlink(Scratch("outside/secret.py"), Scratch("named/link.py"));
  std::filesystem::create_directory_symlink(Scratch("outside"), Scratch("named/out"));
  std::filesystem::create_symlink("top.py", Scratch("named/near.py"));
  ASSERT_EQ(::mkfifo(Scratch("named/pipe.py").c_str(), 0600), 0);
  Write("named/large.py", std::string(kMaxSourceBytes + 1, 'x'));
  Write("named/full.py", std::string(kMaxSourceBytes, 'x'));
  EXPECT_EQ(Below("model/layers.py"), "inside");
  EXPECT_EQ(Below("/home/user/project/model/layers.py"), "inside");
  EXPECT_EQ(Below("/home/user/top.py"), "top");
  for (const char* name :
       {"../outside/secret.py", "model/../../outside/secret.py", "out/secret.py", "link.py",
        "near.py", "pipe.py", "large.py", "model", ".", "", "/", "/etc/passwd", "secret.py"})
    EXPECT_EQ(Below(name), "refused") << name;
  EXPECT_EQ(Below(Scratch("outside/secret.py")), "refused");
  EXPECT_EQ(Below("full.py").size(), static_cast<size_t>(kMaxSourceBytes));
  EXPECT_TRUE(NamesToTry("a/../b.py").empty());
  EXPECT_EQ(NamesToTry("/a/./b.py"), (std::vector<std::string>{"a/b.py", "b.py"}));
}

// A dump that names files outside of the folders, also where it is itself next to them.
TEST_F(SourceTest, NothingIsReadThatTheUserDidNotName) {
  const std::string dump = Scratch("dump");
  std::filesystem::create_directories(dump);
  Write("secret.py", "secret\n");
  Write("dump/module_0001.jit_f.after_optimizations.txt",
        "HloModule jit_f, is_scheduled=true\n\nENTRY main {\n  p = f32[8] parameter(0)\n  ROOT n = "
        "f32[8] negate(p), metadata={op_name=\"jit(f)/neg\" source_file=\"../secret.py\" "
        "source_line=1}\n}\n");
  Start({dump});
  Press("Ctrl+2");
  session().requests.Show("source");
  Settle();
  ExpectSeen("source", "../secret.py:1");
  EXPECT_FALSE(UserSourceOf(session(), "../secret.py").ready());
}

// Every value counts at one line: at its own, checked here one by one.
TEST_F(SourceTest, CostsOfLinesAddUpToTheWhole) {
  Start({Sample("gpt_train_step"), Sample("gpt_train_step/gpt_train_step.xplane.pb.gz")});
  std::shared_ptr<const SourceCosts> costs;
  ASSERT_TRUE(DrawUntil([&] { return (costs = SourceCostsOf(session())) != nullptr; }));
  const HeatFacts& heat = *costs->heat;
  EXPECT_EQ(heat.measure, HeatMeasure::kTime);
  double sum = costs->unknown;
  std::map<std::pair<std::string, int32_t>, double> own;
  for (uint32_t i = 0; i < heat.values.size(); ++i) {
    const hlo::SourceLine line = hlo::SourceLineOf(*heat.of, hlo::InstructionId(i));
    if (heat.values[i] > 0 && line.line > 0) own[{line.file, line.line}] += heat.values[i];
  }
  ASSERT_FALSE(own.empty());
  for (const SourceCostFile& file : costs->files) {
    sum += file.value;
    for (const auto& [number, line] : file.lines)
      EXPECT_GE(line.value, (own[{file.name, number}]) * (1 - 1e-12)) << number;
  }
  EXPECT_NEAR(sum, heat.sum, 1e-9 * heat.sum);
}

// The sum of a line may be more than the hottest instruction: lines that cost less than the
// costliest have another colour.
TEST_F(SourceTest, LinesHaveAScaleOfTheirOwn) {
  Start({Sample("gpt_train_step"), Sample("gpt_train_step/gpt_train_step.xplane.pb.gz")});
  for (const HeatMeasure measure : {HeatMeasure::kTime, HeatMeasure::kBytes}) {
    ChooseHeat(session(), measure);
    std::shared_ptr<const SourceCosts> costs;
    ASSERT_TRUE(DrawUntil([&] { return (costs = SourceCostsOf(session())) != nullptr; }));
    double most = 0;
    std::set<double> above;  // the hottest instruction
    for (const SourceCostFile& file : costs->files) {
      for (const auto& [number, line] : file.lines) {
        most = std::max(most, line.value);
        if (line.value > costs->heat->most) above.insert(line.value);
      }
    }
    ASSERT_GT(above.size(), 1u);
    for (const double value : above) EXPECT_DOUBLE_EQ(costs->PlaceOf(value), value / most);
    EXPECT_EQ(costs->PlaceOf(most), 1);
  }
}

// Nothing selected: the costliest line, not the top of the file and empty columns.
TEST_F(SourceTest, WithoutSelectionTheCostliestLineIsShown) {
  Start({Sample("gpt_train_step"), Sample("gpt_train_step/gpt_train_step.xplane.pb.gz")});
  session().source_folders = {Sample("")};
  app().dock().SetScreen("graph");
  session().requests.Show("source");
  // By another measure it is another line.
  std::set<int32_t> seen;
  for (const HeatMeasure measure : {HeatMeasure::kTime, HeatMeasure::kBytes, HeatMeasure::kPeak}) {
    ChooseHeat(session(), measure);
    std::shared_ptr<const SourceCosts> costs;
    ASSERT_TRUE(DrawUntil([&] { return (costs = SourceCostsOf(session())) != nullptr; }));
    Settle();
    int32_t costliest = 0;
    double most = 0;
    for (const auto& [number, line] : costs->files.front().lines)
      if (line.value > most) costliest = number, most = line.value;
    ASSERT_GT(costliest, 100);  // far below what the top of the file shows
    ExpectSeen("source", "HLO as written in line " + std::to_string(costliest) + ", the costliest");
    seen.insert(costliest);
  }
  EXPECT_GT(seen.size(), 1u);
  ExpectSeen("source", "select a kernel for its code");
}

TEST_F(SourceTest, ColumnsFollowOneSelection) {
  Start({});
  session().source_folders = {Sample("")};
  app().SelectWhenOpen("jit_attention_block:triton_softmax.5");
  app().Open({Sample("attention_block_h100")});
  app().dock().SetScreen("graph");
  Settle();
  session().requests.Show("source");
  Settle();
  ASSERT_TRUE(DrawUntil([this] { return session().navigation.counterparts_complete(); }));
  Settle();
  const Counterparts& found = session().navigation.counterparts();
  EXPECT_EQ(HighlightedItems("source"),
            found.source_file + ":" + std::to_string(found.source_line) + "\n");
  ExpectSeen("source", "Kernels");
  ExpectSeen("source", "PTX of triton_softmax_5");
  // Clicking the line selects all of it.
  const Pending<UserSource>& text = UserSourceOf(session(), found.source_file);
  ASSERT_TRUE(DrawUntil([&] { return !text.waiting(); }));
  ASSERT_TRUE(text.ready()) << text.error.ToString();
  session().navigation.Select(Selection::OfSourceLine(found.source_file, found.source_line, 0));
  Settle();
  EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kSourceLine);
  const auto csv = app().dock().Find("source")->view->Export(ExportFormat::kCsv, session());
  ASSERT_TRUE(csv);
  EXPECT_EQ(csv->find("def "), std::string::npos);  // costs, not the program
}

}  // namespace
}  // namespace hloscope::viewer
