// The divergence lab without its window: runs in workers, verdicts by instruction, values.
#include "viewer/model/experiment.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <string_view>
#include <thread>

#include "tests/base/paths.h"
#include "tests/hlo/parsed.h"
#include "viewer/lab/value_grid.h"

namespace hloscope::viewer {
namespace {

constexpr std::string_view kModule = R"(HloModule lab
ENTRY e {
  x = f32[2,3] parameter(0)
  one = f32[] constant(1)
  ones = f32[2,3] broadcast(one), dimensions={}
  sum = f32[2,3] add(x, ones)
  zero = f32[2,3] subtract(sum, sum)
  born = f32[2,3] divide(zero, zero)
  ROOT both = (f32[2,3], f32[2,3]) tuple(sum, born)
}
)";

std::shared_ptr<const hlo::Module> Parsed() { return hlo::Parsed(kModule); }

// Takes over news until nothing runs any more.
void Finish(Experiment& experiment) {
  while (experiment.running()) {
    experiment.Update();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

class ExperimentTest : public testing::Test {
 protected:
  std::atomic<int> wakes_ = 0;
  Experiment experiment_{[this] { ++wakes_; }, ProgramPath()};
  std::shared_ptr<const hlo::Module> module_ = Parsed();
};

TEST_F(ExperimentTest, EveryInstructionHasAVerdict) {
  ExperimentRequest request;
  request.reference.name = "interpreter";
  experiment_.Start(module_, request);
  EXPECT_TRUE(experiment_.running());
  EXPECT_EQ(experiment_.expected_findings(), 4);
  Finish(experiment_);
  ASSERT_NE(experiment_.report(), nullptr);
  EXPECT_EQ(experiment_.report()->status, debug::RunStatus::kEqual);
  EXPECT_EQ(experiment_.findings().size(), 4u);
  for (std::string_view name : {"ones", "sum", "zero", "born"}) {
    const Finding* finding = experiment_.Of(hlo::Named(*module_, name));
    ASSERT_NE(finding, nullptr) << name;
    EXPECT_EQ(finding->verdict, Verdict::kSameBits) << name;
    EXPECT_EQ(finding->elements, 6) << name;
  }
  EXPECT_EQ(experiment_.Of(hlo::Named(*module_, "x")), nullptr);
  EXPECT_GE(wakes_, 5);  // each finding and the end
}

// What runs may not look at its stop token for a while: whoever starts, cancels or resets does not
// wait for that. Here `wake`, which the running thread calls, stays away until it is let go.
TEST(ExperimentThreadTest, StartingAndResettingWaitForNothing) {
  std::atomic<bool> is_held = true;
  std::atomic<int> inside = 0;
  Experiment experiment(
      [&] {
        ++inside;
        while (is_held) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      },
      ProgramPath());
  ExperimentRequest request;
  request.reference.name = "interpreter";
  experiment.Start(Parsed(), request);
  while (inside == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  experiment.Reset();
  EXPECT_FALSE(experiment.running());
  experiment.Start(Parsed(), request);  // the first thread is held still
  EXPECT_TRUE(experiment.running());
  is_held = false;
  Finish(experiment);
  ASSERT_NE(experiment.report(), nullptr);
  EXPECT_EQ(experiment.report()->status, debug::RunStatus::kEqual);
}

TEST_F(ExperimentTest, FindsWhereNanIsBorn) {
  ExperimentRequest request;
  request.compare.find = debug::NonFiniteKind::kNan;
  experiment_.Start(module_, request);
  Finish(experiment_);
  ASSERT_NE(experiment_.report(), nullptr);
  ASSERT_TRUE(experiment_.report()->first_nonfinite.has_value());
  EXPECT_EQ(experiment_.report()->first_nonfinite->instruction, "born");
}

TEST_F(ExperimentTest, CapturesWhatAnInstructionHolds) {
  experiment_.Start(module_, {});
  Finish(experiment_);
  const hlo::InstructionId sum = hlo::Named(*module_, "sum");
  experiment_.Capture(sum);
  Finish(experiment_);
  ASSERT_NE(experiment_.captured(), nullptr);
  EXPECT_EQ(experiment_.captured()->note, "");
  ASSERT_EQ(experiment_.captured()->reference_leaves.size(), 1u);
  ValueGrid grid(experiment_.captured()->reference_leaves[0], std::nullopt);
  EXPECT_EQ(grid.rows(), 2);
  EXPECT_EQ(grid.columns(), 3);
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_GE(grid.Number(ValueSide::kReference, i), 0.9);
    EXPECT_LE(grid.Number(ValueSide::kReference, i), 1.2);
  }
}

TEST_F(ExperimentTest, ParametersAreNamedAsHavingNothingToExtract) {
  experiment_.Start(module_, {});
  Finish(experiment_);
  experiment_.Capture(hlo::Named(*module_, "x"));
  Finish(experiment_);
  ASSERT_NE(experiment_.captured(), nullptr);
  EXPECT_NE(experiment_.captured()->note, "");
}

TEST_F(ExperimentTest, ADyingWorkerLeavesASentence) {
  Experiment broken([] {}, "/nowhere/hloscope");
  broken.Start(module_, {});
  Finish(broken);
  ASSERT_NE(broken.report(), nullptr);
  ASSERT_TRUE(broken.report()->error.has_value());
  EXPECT_NE(broken.report()->error->message.find("/nowhere/hloscope"), std::string::npos)
      << broken.report()->error->message;
}

TEST(ValueGridTest, AddressesCountsAndTellsHowFar) {
  const hlo::Shape shape = hlo::Shape::Array(hlo::ElementType::kF32, {2, 2, 3});
  std::vector<float> expected(12), actual(12);
  for (size_t i = 0; i < 12; ++i) expected[i] = actual[i] = static_cast<float>(i);
  actual[7] = std::nextafter(7.0F, 8.0F);
  actual[11] = INFINITY;
  ValueGrid grid(hlo::Literal::Of<float>(shape, expected), hlo::Literal::Of<float>(shape, actual));
  EXPECT_EQ(grid.pages(), 2);
  EXPECT_EQ(grid.At(1, 0, 1), 7);
  EXPECT_EQ(grid.IndexText(7), "[1,0,1]");
  EXPECT_EQ(grid.Text(ValueSide::kUlp, 7), "1");
  EXPECT_EQ(grid.Text(ValueSide::kUlp, 6), "0");
  EXPECT_EQ(grid.Text(ValueSide::kActual, 11), "inf");
  const ValueSummary& summary = grid.summary(ValueSide::kActual);
  EXPECT_EQ(summary.elements, 12);
  EXPECT_EQ(summary.infinities, 1);
  EXPECT_EQ(summary.zeros, 1);
  EXPECT_EQ(summary.largest, 10);
  int64_t counted = 0;
  for (int64_t bin : grid.histogram(ValueSide::kActual)) counted += bin;
  EXPECT_EQ(counted, 11);
}

}  // namespace
}  // namespace hloscope::viewer
