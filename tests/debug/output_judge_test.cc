// What a report keeps of several iterations that are compared with two sides.
#include "core/debug/run/output_judge.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/text/text.h"

namespace hloscope::debug {
namespace {

using hlo::Literal;

// Only the first of iterations that have inputs of their own has expected values.
TEST(OutputJudge, ALaterDifferenceKeepsTheComparisonWithTheExpectedValues) {
  const auto parsed = hlo::ParseText("HloModule m\nENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n");
  ASSERT_TRUE(parsed.ok());
  const hlo::Shape shape = hlo::Shape::Array(hlo::ElementType::kF32, {2});
  const float one_two[] = {1, 2}, one_three[] = {1, 3};
  const Literal right = Literal::Of<float>(shape, one_two);
  const Literal wrong = Literal::Of<float>(shape, one_three);
  const std::string path =
      (std::filesystem::temp_directory_path() / ("hloscope_judge_" + std::to_string(::getpid())))
          .string() +
      ".npz";
  ASSERT_TRUE(dump::WriteTensors(path, dump::TensorNames::kOutputs, {&right, 1}).has_value());
  RunSpec spec;
  spec.reference.name = "cpu";
  spec.compare.expect = {path};
  const auto files = dump::TensorFiles::Open(spec.compare.expect);
  ASSERT_TRUE(files.has_value());
  const replay::Placement placement(*parsed.module, spec.limits);
  RunReport report;
  OutputJudge judge(*parsed.module, placement, spec, report);
  const auto leaves = [](const Literal& value) {
    Leaves all;
    all.emplace_back(value);
    return all;
  };
  for (const int64_t iteration : {0, 1}) {
    std::vector<RunOutput> outputs = judge.OutputsOf(leaves(right), iteration);
    judge.CompareWith(leaves(iteration == 0 ? right : wrong), outputs);
    if (iteration == 0) {
      EXPECT_EQ(outputs[0].against, "cpu");
      ASSERT_TRUE(judge.CompareWithFiles(*files, outputs).has_value());
      EXPECT_EQ(outputs[0].against, kExpectedSide);
    }
    judge.Keep(std::move(outputs));
  }
  ASSERT_EQ(report.outputs.size(), 1U);
  const RunOutput& kept = report.outputs[0];
  EXPECT_EQ(kept.iteration, 1);
  EXPECT_EQ(kept.against, "cpu");
  EXPECT_EQ(kept.comparison.mismatched, 1);
  ASSERT_TRUE(kept.other.has_value());
  EXPECT_TRUE(kept.other->equal());
  EXPECT_EQ(WithReference(kept, spec.reference.name), &kept.comparison);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace hloscope::debug
