// Tests of verdicts about modules that were changed before the first pass.
#include <gtest/gtest.h>

#include "core/debug/explain/passes/find_pass.h"
#include "core/replay/platform_table.h"
#include "tests/hlo/parsed.h"

namespace hloscope::debug {
namespace {

constexpr std::string_view kAsked = R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  ROOT r = f32[2] multiply(x, x)
}
)";
constexpr std::string_view kGiven = R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  ROOT r = f32[2] add(x, x)
}
)";
constexpr std::string_view kSpoiled = R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  ROOT r = f32[2] subtract(x, x)
}
)";

PassStage Stage(std::string_view text, std::string pass, std::string pipeline) {
  PassStage stage;
  stage.name = stage.pass = pass;
  stage.pipeline = std::move(pipeline);
  stage.file = std::move(pass) + ".txt";
  stage.module = hlo::Parsed(text);
  return stage;
}

DivergeVerdict Swept(std::vector<PassStage> stages) {
  RunSpec request;
  request.test.name = replay::ReferencePlatform().name;
  StageValues values(request, {});
  const auto asked = hlo::Parsed(kAsked);
  const Result<Leaves> results = values.Begin(asked);
  EXPECT_TRUE(results.has_value());
  Pipeline pipeline;
  pipeline.stages = std::move(stages);
  return FindGuiltyPass(values, *results, asked, pipeline, {});
}

TEST(FrontEnd, IsBlamedWhereTheFirstStageIsNotWhatWasAsked) {
  const DivergeVerdict verdict =
      Swept({Stage(kGiven, "before_optimizations", ""), Stage(kGiven, "dce", "simplification")});
  EXPECT_EQ(verdict.status, RunStatus::kDiffers);
  EXPECT_EQ(verdict.cause, Cause::kConversion);
  EXPECT_TRUE(verdict.passes.empty());
  ASSERT_TRUE(verdict.place.has_value());
  EXPECT_EQ(verdict.place->instruction, "r");
  EXPECT_TRUE(verdict.sentence.ends_with(
      "; the cause is the conversion to HLO before XLA's first pass, where StableHLO is folded, "
      "too"))
      << verdict.sentence;
  EXPECT_EQ(KeyOf(*verdict.cause), "before_xla");
}

TEST(FrontEnd, IsNotBlamedForWhatAPassDoes) {
  const DivergeVerdict verdict =
      Swept({Stage(kAsked, "before_optimizations", ""), Stage(kSpoiled, "dce", "simplification")});
  EXPECT_EQ(verdict.status, RunStatus::kDiffers);
  EXPECT_FALSE(verdict.cause.has_value());
  ASSERT_EQ(verdict.passes.size(), 1u);
  EXPECT_EQ(verdict.passes[0].pass, "dce");
}

}  // namespace
}  // namespace hloscope::debug
