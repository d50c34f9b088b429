// The order of a scatter's updates as the cause of a difference.
#include "core/debug/explain/kernels/explain_update_order.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/hlo/text/text.h"

namespace hloscope::debug {
namespace {

// Rows 0 and 2 are written twice, row 1 once.
constexpr std::string_view kModule = R"(HloModule m
keep {
  old = s32[] parameter(0)
  ROOT new = s32[] parameter(1)
}
ENTRY e {
  x = s32[4] parameter(0)
  i = s32[5,1] parameter(1)
  u = s32[5] parameter(2)
  ROOT s = s32[4] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=keep
}
)";

hlo::Literal Array(std::vector<int64_t> sizes, const std::vector<int32_t>& values) {
  return hlo::Literal::Of<int32_t>(hlo::Shape::Array(hlo::ElementType::kS32, std::move(sizes)),
                                   values);
}

std::optional<KernelExplanation> Explained(const std::vector<int32_t>& actual) {
  const hlo::ParseResult read = hlo::ParseText(kModule);
  EXPECT_TRUE(read.ok());
  KernelQuestion question;
  question.alone = read.module;
  question.arguments = {Array({4}, {0, 0, 0, 0}), Array({5, 1}, {0, 1, 2, 0, 2}),
                        Array({5}, {10, 11, 12, 13, 14})};
  return ExplainByUpdateOrder(question, Leaves{Array({4}, actual)},
                              Leaves{Array({4}, {13, 11, 14, 0})}, RunSpec());
}

TEST(ExplainUpdateOrder, WhatSeveralUpdatesWriteMayDiffer) {
  const auto both = Explained({10, 11, 12, 0});
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ(both->cause, Cause::kOverlappingUpdates);
  EXPECT_TRUE(both->confirmed);
  EXPECT_EQ(both->worst.mismatched, 2);
  ASSERT_EQ(both->tries.size(), 1U);
  EXPECT_NE(both->tries[0].detail.find("2 elements"), std::string::npos) << both->tries[0].detail;
}

TEST(ExplainUpdateOrder, WhatIsWrittenOnceOrNeverIsAFault) {
  EXPECT_FALSE(Explained({10, 99, 12, 0}).has_value());
  EXPECT_FALSE(Explained({10, 11, 14, 7}).has_value());
  EXPECT_FALSE(Explained({13, 11, 14, 0}).has_value()) << "nothing differs";
}

}  // namespace
}  // namespace hloscope::debug
