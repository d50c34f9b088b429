// Reports in words: what they say of values that differ inside where results agree.
#include <gtest/gtest.h>

#include "app/reports/profile_comparison_report.h"
#include "app/reports/walk_report.h"

namespace hloscope::app {
namespace {

TEST(ReportWordsTest, ValuesInsideAreNoResults) {
  debug::DivergeVerdict verdict;
  debug::ValueWalk& walk = verdict.walk.emplace();
  walk.compared = 900;
  walk.diverging = 891;
  verdict.status = debug::RunStatus::kEqual;
  EXPECT_NE(WalkText(verdict).find("891 beyond the bounds, none of them a result\n"),
            std::string::npos)
      << WalkText(verdict);
  verdict.status = debug::RunStatus::kDiffers;
  EXPECT_NE(WalkText(verdict).find("891 beyond the bounds\n"), std::string::npos);
}

// What would be named follows from the noise, which may leave nothing open.
TEST(ReportWordsTest, NoiseThatHidesAllIsSaid) {
  ComparedReports compared;
  compared.comparison.judged = 1;
  compared.comparison.rows.emplace_back();
  const auto text = [&](double told_from) {
    compared.comparison.told_from = told_from;
    return ProfileComparisonText(compared, 5);
  };
  EXPECT_TRUE(text(0.25).contains("a change of 25 % would be named\n")) << text(0.25);
  EXPECT_TRUE(text(1.5).contains("2.5 times the time would be named\n")) << text(1.5);
  EXPECT_TRUE(text(6.4e11).contains("the noise is larger than any change\n")) << text(6.4e11);
}

}  // namespace
}  // namespace hloscope::app
