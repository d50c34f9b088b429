// Reports in words: what they say of values that differ inside where results agree.
#include <gtest/gtest.h>

#include "app/reports/bundle_report.h"
#include "app/reports/diverge_report.h"
#include "app/reports/leaf_report.h"
#include "app/reports/profile_comparison_report.h"
#include "app/reports/reduce_report.h"
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

// Values may be other ones and yet not differ: within the bounds.
TEST(ReportWordsTest, ResultsThatAgreeAreNotSaidToDiffer) {
  debug::LeafComparison leaf;
  leaf.shape = hlo::Shape::Array(hlo::ElementType::kF32, {128});
  const auto text = [&](int64_t elements) {
    leaf.elements = elements;
    const std::string line = LeafText(leaf, true);
    return line.substr(line.find("] ") + 2);
  };
  const auto ends = [](const std::string& line, std::string_view end) {
    EXPECT_TRUE(line.ends_with(end)) << line;
  };
  ends(text(0), " no elements");
  ends(text(1), " equal");
  ends(text(128), " all 128 equal");
  leaf.max_abs_error = 3e-7;
  leaf.max_rel_error = 1e-7;
  leaf.max_ulp = 2;
  const std::string errors = "; largest error 3e-07 absolute, 1e-07 relative, 2 ULP";
  ends(text(1), " within the bounds" + errors);
  ends(text(128), " all 128 within the bounds" + errors);
  leaf.mismatched = 1;
  ends(text(128), " 1 of 128 differs" + errors);
}

// An infinity on each side is on both.
TEST(ReportWordsTest, InfinitiesOfOppositeSignsAreNotOnOneSide) {
  debug::LeafComparison leaf;
  leaf.shape = hlo::Shape::Array(hlo::ElementType::kF32, {8});
  leaf.elements = 8;
  leaf.mismatched = leaf.inf_mismatched = 2;
  EXPECT_EQ(ErrorsText(leaf), "; 2 infinite with opposite signs");
  leaf.inf = {.actual = 1, .expected = 0};
  leaf.nan = {.actual = 0, .expected = 1};
  leaf.nan_mismatched = 1;
  EXPECT_EQ(ErrorsText(leaf),
            "; 1 NaN on one side (actual 0, expected 1), 1 infinite on one side (actual 1, "
            "expected 0), 1 infinite with opposite signs");
}

// A value that is no number is no large error.
TEST(ReportWordsTest, WhatIsNoNumberHasNoSize) {
  debug::LeafComparison leaf;
  leaf.shape = hlo::Shape::Array(hlo::ElementType::kF32, {4});
  leaf.elements = 4;
  leaf.mismatched = 2;
  leaf.nan_mismatched = 1;
  leaf.nan = {.actual = 0, .expected = 1};
  leaf.first_mismatch = debug::ElementMismatch{};
  leaf.histogram.absolute[0] = 2;
  leaf.histogram.absolute.back() = 2;
  const std::string text = LeafText(leaf, true);
  EXPECT_NE(text.find("absolute errors: 2 zero, 1 at least 10, 1 NaN or infinite\n"),
            std::string::npos)
      << text;
}

// The verdict names what is missing.
TEST(ReportWordsTest, WhatABundleLacksIsSaidOnce) {
  debug::BundleCheck check;
  check.missing = {"the inputs"};
  check.verdict = "cannot be replayed here, missing: the inputs";
  EXPECT_EQ(BundleCheckText("a.hlob", check), "a.hlob: " + check.verdict + "\n");
}

// Texts of XLA have several lines, which are no escapes and no lines of ours.
TEST(ReportWordsTest, ErrorsOfManyLinesAreLines) {
  constexpr std::string_view kError = "verifier: no\n\nFailed after dce";
  constexpr std::string_view kLines = "verifier: no\n    | \n    | Failed after dce\n";
  debug::BundleCheck check;
  check.verdict = kError;
  EXPECT_EQ(BundleCheckText("b.hlob", check), "b.hlob: " + std::string(kLines));
  debug::DivergeVerdict verdict;
  verdict.sentence = kError;
  EXPECT_TRUE(DivergeReportText({"m.hlo"}, verdict).starts_with("m.hlo: " + std::string(kLines)));
  debug::ReduceReport reduced;
  reduced.failure = debug::Failure{
      .kind = debug::FailureKind::kError, .classes = {}, .text = std::string(kError)};
  reduced.status = debug::ReduceStatus::kReduced;
  EXPECT_NE(ReduceReportText({}, reduced).find("  " + std::string(kLines)), std::string::npos)
      << ReduceReportText({}, reduced);
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
