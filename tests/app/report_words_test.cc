// Reports in words: what they say of values that differ inside where results agree.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hloscope::app
