// Tests of the comparison rules: bounds by element type, both exceeded, NaN and infinities apart,
// distances in representable numbers.
#include "core/debug/compare/compare_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/debug/compare/compare_bits.h"
#include "core/debug/run/run_module.h"
#include "core/debug/run/run_ratio.h"
#include "core/hlo/float_types.h"
#include "tests/hlo/parsed.h"

namespace hloscope::debug {
namespace {

using hlo::ElementType;
using hlo::Literal;
using hlo::Shape;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Literal Floats(std::vector<float> values) {
  return Literal::Of<float>(Shape::Array(ElementType::kF32, {static_cast<int64_t>(values.size())}),
                            std::span<const float>(values));
}

TEST(CompareValues, AnElementMismatchesOnlyBeyondBothBounds) {
  struct Row {
    float actual, expected;
    bool equal;
  };
  const Row rows[] = {
      {1.0f, 1.0f, true},       {1e-12f, 5e-13f, true},  // within the absolute bound
      {1.00009e5f, 1e5f, true},                          // within the relative one
      {1.0002f, 1.0f, false},                            // beyond both
      {0.0002f, 0.0f, false},                            // relative to zero is infinite
      {0.00005f, 0.0f, true},   {kNan, kNan, true},     {kNan, 1.0f, false},  {1.0f, kNan, false},
      {kInf, kInf, true},       {kInf, -kInf, false},   {3e38f, kInf, false}, {-0.0f, 0.0f, true},
  };
  for (const Row& row : rows) {
    const auto result = CompareArrays(Floats({row.actual}), Floats({row.expected}), {});
    EXPECT_EQ(result.equal(), row.equal) << row.actual << " beside " << row.expected;
  }
}

TEST(CompareValues, CountsAndPlaces) {
  const auto result =
      CompareArrays(Floats({1, kNan, 3, kInf, 5, 6.5f}), Floats({1, 2, kNan, 4, 5, 6}), {});
  EXPECT_EQ(result.elements, 6);
  EXPECT_EQ(result.mismatched, 4);
  EXPECT_EQ(result.nan_mismatched, 2);
  EXPECT_EQ(result.inf_mismatched, 1);
  EXPECT_DOUBLE_EQ(result.max_abs_error, 0.5);
  EXPECT_DOUBLE_EQ(result.max_rel_error, 0.5 / 6);
  ASSERT_TRUE(result.first_mismatch.has_value());
  EXPECT_EQ(result.first_mismatch->index, std::vector<int64_t>{1});
  EXPECT_EQ(result.first_mismatch->actual, "nan");
  EXPECT_EQ(result.first_mismatch->expected, "2");
}

TEST(CompareValues, ReportsFirstAndWorstAndCountsErrorsByDecade) {
  const auto result =
      CompareArrays(Floats({1.001f, 1, 2.5f, 0, 1 + 0x1p-23f}), Floats({1, 1, 2, 0, 1}), {});
  EXPECT_EQ(result.mismatched, 2);
  EXPECT_EQ(result.first_mismatch->index, std::vector<int64_t>{0});
  EXPECT_EQ(result.worst_mismatch->index, std::vector<int64_t>{2});
  EXPECT_EQ(result.histogram.relative[0], 2);                                // two pairs are equal
  EXPECT_EQ(result.histogram.relative[ErrorHistogram::ClassOf(1.2e-7)], 1);  // one step
  EXPECT_EQ(result.histogram.relative[ErrorHistogram::ClassOf(0.25)], 1);
  EXPECT_EQ(result.histogram.absolute[ErrorHistogram::ClassOf(0.5)], 1);
  for (const BoundPair& pair : result.passing_bounds) {
    EXPECT_TRUE(CompareArrays(Floats({1.001f, 1, 2.5f, 0, 1 + 0x1p-23f}), Floats({1, 1, 2, 0, 1}),
                              {pair.absolute, pair.relative})
                    .equal())
        << pair.absolute << " " << pair.relative;
  }
  EXPECT_GE(result.passing_bounds.size(), 2u);
}

TEST(CompareValues, PassingBoundsAreOfOneDigitAndNoneIsNeedless) {
  const auto pairs = [](float actual, float expected) {
    std::vector<std::pair<double, double>> all;
    const auto result = CompareArrays(Floats({actual}), Floats({expected}), {});
    for (const BoundPair& pair : result.passing_bounds) {
      all.emplace_back(pair.absolute, pair.relative);
    }
    return all;
  };
  using Pairs = std::vector<std::pair<double, double>>;
  // 0.567 of 1.75, where 6 * 0.1 is not the double next to 0.6.
  EXPECT_EQ(pairs(0.7578125f, 1.75f), (Pairs{{1, 0}, {0.1, 0.6}}));
  // An error of 1 passes with an absolute bound of 1: no relative one is needed beside it.
  EXPECT_EQ(pairs(0.75f, 1.75f), (Pairs{{1, 0}}));
  EXPECT_EQ(pairs(0x1p-9f, 0), (Pairs{{0.002, 0}}));
}

TEST(CompareValues, HistogramClassesBeginAtTheBounds) {
  EXPECT_EQ(ErrorHistogram::ClassOf(0), 0u);
  EXPECT_EQ(ErrorHistogram::ClassOf(1e-13), 1u);
  for (size_t k = 0; k < ErrorHistogram::kBounds.size(); ++k) {
    EXPECT_EQ(ErrorHistogram::ClassOf(ErrorHistogram::kBounds[k]), k + 2);
  }
  EXPECT_EQ(ErrorHistogram::ClassOf(kInf), ErrorHistogram::kClasses - 1);
}

TEST(CompareValues, DistinguishesTheSidesOfNanAndInfinity) {
  const auto result = CompareArrays(Floats({kNan, 1, kNan, kInf, 2, kInf}),
                                    Floats({1, kNan, 2, 3, -kInf, -kInf}), {});
  EXPECT_EQ(result.nan.actual, 2);
  EXPECT_EQ(result.nan.expected, 1);
  EXPECT_EQ(result.inf.actual, 1);
  EXPECT_EQ(result.inf.expected, 1);
  EXPECT_EQ(result.inf_mismatched, 3);
  EXPECT_TRUE(result.passing_bounds.empty());
}

TEST(CompareValues, FindsOneElementAmongMillions) {
  std::vector<float> expected(3'000'000, 1.0f), actual = expected;
  actual[2'999'998] = 2;
  actual[1'234'567] = 1.5f;
  const auto result = CompareArrays(Floats(actual), Floats(expected), {});
  EXPECT_EQ(result.mismatched, 2);
  EXPECT_EQ(result.first_mismatch->index, std::vector<int64_t>{1'234'567});
  EXPECT_EQ(result.worst_mismatch->index, std::vector<int64_t>{2'999'998});
  EXPECT_EQ(result.histogram.absolute[0], 2'999'998);
}

TEST(CompareValues, OfDynamicArraysOnlyTheLivePartCounts) {
  const float a[] = {1, 2, 9, 3, 4, 9}, b[] = {1, 2, 8, 3, 5, 8};
  const Shape shape = Shape::Array(ElementType::kF32, {2, 3});
  Literal actual = Literal::Of<float>(shape, a), expected = Literal::Of<float>(shape, b);
  actual.set_dynamic_sizes({2, 2});
  expected.set_dynamic_sizes({2, 2});
  const auto result = CompareArrays(actual, expected, {});
  EXPECT_EQ(result.elements, 4);
  EXPECT_EQ(result.mismatched, 1);
  EXPECT_EQ(result.first_mismatch->index, (std::vector<int64_t>{1, 1}));
  expected.set_dynamic_sizes({2, 1});
  EXPECT_FALSE(CompareArrays(actual, expected, {}).problem.empty());
}

// The one has bounds, the other the sizes that were met at run time: each by its own strides.
TEST(CompareBits, OfABoundedAndAnExactArray) {
  const float a[] = {1, 2, 9, 3, 4, 9, 9, 9, 9}, b[] = {1, 2, 3, -0.0f}, same[] = {1, 2, 3, 4};
  Literal bounded = Literal::Of<float>(Shape::Array(ElementType::kF32, {3, 3}), a);
  bounded.set_dynamic_sizes({2, 2});
  const Shape exact = Shape::Array(ElementType::kF32, {2, 2});
  EXPECT_TRUE(CompareBits(bounded, Literal::Of<float>(exact, same)).equal());
  EXPECT_TRUE(CompareBits(Literal::Of<float>(exact, same), bounded).equal());
  const Literal other = Literal::Of<float>(exact, b);
  for (const LeafComparison& result : {CompareBits(bounded, other), CompareBits(other, bounded)}) {
    EXPECT_EQ(result.mismatched, 1);
    ASSERT_TRUE(result.first_mismatch.has_value());
    EXPECT_EQ(result.first_mismatch->index, (std::vector<int64_t>{1, 1}));
  }
  // What is not live does not count.
  Literal rest = bounded;
  const float c[] = {1, 2, 7, 3, 4, 7, 7, 7, 7};
  rest = Literal::Of<float>(Shape::Array(ElementType::kF32, {3, 3}), c);
  rest.set_dynamic_sizes({2, 2});
  EXPECT_TRUE(CompareBits(bounded, rest).equal());
}

TEST(CompareBits, SignsAndScalars) {
  const auto scalar = [](float value) {
    return Literal::Of<float>(Shape::Array(ElementType::kF32, {}), std::span(&value, 1));
  };
  EXPECT_TRUE(CompareBits(scalar(1), scalar(1)).equal());
  EXPECT_EQ(CompareBits(scalar(0), scalar(-0.0f)).mismatched, 1);
  EXPECT_EQ(CompareBits(Floats({1, 0, 3, 0}), Floats({1, -0.0f, 3, -0.0f})).mismatched, 2);
}

// Values that are missing are not the same; where all others are, it is not known.
TEST(SameBits, OfMissingResultsIsNotKnown) {
  using Lists = std::vector<std::vector<Result<Literal>>>;
  const Shape root = Shape::Tuple(
      {Shape::Array(ElementType::kF32, {1}), Shape::Token(), Shape::Array(ElementType::kF32, {1})});
  const Result<Literal> missing = InternalError("missing"), token = Literal::Token();
  const auto lists = [&](const Result<Literal>& first, const Result<Literal>& last) {
    return Lists{{first, token, last}};
  };
  const Lists whole = lists(Floats({1}), Floats({2}));
  EXPECT_EQ(SameBits(root, whole, whole), true);
  EXPECT_EQ(SameBits(root, whole, lists(Floats({1}), Floats({3}))), false);
  EXPECT_EQ(SameBits(root, whole, lists(Floats({1}), missing)), std::nullopt);
  EXPECT_EQ(SameBits(root, lists(missing, Floats({2})), lists(missing, Floats({3}))), false);
  EXPECT_EQ(SameBits(root, lists(missing, Floats({2})), lists(missing, Floats({2}))), std::nullopt);
  EXPECT_EQ(SameBits(root, whole, {{Floats({1}), token}}), std::nullopt);  // a shorter list
  EXPECT_EQ(SameBits(root, whole, {}), std::nullopt);
  EXPECT_EQ(SameBits(Shape::Tuple({}), {}, {}), true);
}

// A leaf that the reference cannot compute is named, and the others are compared.
TEST(CompareValues, OneMissingReferenceLosesNoOther) {
  const auto module = hlo::Parsed(R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  a = f32[4] add(x, x)
  c = f32[4] custom-call(x), custom_call_target="nobody_knows_this"
  n = f32[4] negate(x)
  ROOT r = (f32[4], f32[4], f32[4]) tuple(a, c, n)
})");
  RunSpec request;
  request.reference.name = request.test.name;
  const RunReport report = RunModule(module, request);
  ASSERT_TRUE(report.error.has_value());
  EXPECT_NE(report.error->message.find("nobody_knows_this"), std::string::npos);
  ASSERT_EQ(report.outputs.size(), 3u);
  EXPECT_TRUE(report.outputs[0].compared);
  EXPECT_FALSE(report.outputs[1].compared);
  EXPECT_TRUE(report.outputs[2].compared);
  EXPECT_TRUE(std::ranges::any_of(report.warnings, [](const std::string& warning) {
    return warning.starts_with("out1 is not compared: the reference has no value of it: ");
  }));
}

TEST(CompareValues, IntegersAreExactWhateverTheBounds) {
  const int32_t a[] = {1, 2}, b[] = {1, 3};
  const Shape shape = Shape::Array(ElementType::kS32, {2});
  const auto result =
      CompareArrays(Literal::Of<int32_t>(shape, a), Literal::Of<int32_t>(shape, b), {10.0, 10.0});
  EXPECT_EQ(result.mismatched, 1);
  EXPECT_EQ(result.max_ulp, 1u);
}

TEST(CompareValues, NarrowFloatsMayBeOneStepApart) {
  const uint8_t a[] = {0x38, 0x38, 0x80}, b[] = {0x39, 0x3a, 0x01};  // 1, 1, -0 beside 1.125 …
  const Shape shape = Shape::Array(ElementType::kF8E4M3FN, {3});
  const auto result =
      CompareArrays(Literal::Of<uint8_t>(shape, a), Literal::Of<uint8_t>(shape, b), {});
  EXPECT_EQ(result.mismatched, 1);
  EXPECT_EQ(result.max_ulp, 2u);
}

// The NaN of fnuz types has the bits that are a negative zero elsewhere.
TEST(CompareValues, NanIsNoZeroInAnyNarrowFloat) {
  for (int k = 0; k < hlo::kElementTypeCount; ++k) {
    const auto type = static_cast<ElementType>(k);
    const hlo::FloatFormat* const format = hlo::FindFloatFormat(type);
    if (format == nullptr || hlo::StorageBytes(type) != 1) continue;
    const auto array = [&](uint32_t bits) {
      return Literal::Dense(Shape::Array(type, {1}), {static_cast<std::byte>(bits)});
    };
    for (uint32_t bits = 0; bits < 1u << format->bits; ++bits) {
      const bool is_nan = format->IsNan(bits);
      const Literal nan = array(format->nan()), value = array(bits);
      if (format->has_nan()) {
        EXPECT_EQ(CompareArrays(value, nan, {}).equal(), is_nan) << bits;
      }
      EXPECT_TRUE(CompareArrays(value, value, {}).equal()) << bits;
    }
  }
}

TEST(CompareValues, DistanceCountsRepresentableNumbers) {
  auto distance = [](float a, float b) {
    return UlpDistance(ElementType::kF32, reinterpret_cast<const std::byte*>(&a),
                       reinterpret_cast<const std::byte*>(&b));
  };
  EXPECT_EQ(distance(1.0f, std::nextafter(1.0f, 2.0f)), 1u);
  EXPECT_EQ(distance(-0.0f, 0.0f), 0u);
  EXPECT_EQ(
      distance(std::numeric_limits<float>::denorm_min(), -std::numeric_limits<float>::denorm_min()),
      2u);
  EXPECT_EQ(distance(kNan, -kNan), 0u);
}

TEST(CompareValues, ComparesTuplesLeafByLeafAndNamesOtherShapes) {
  const Literal a = Literal::Tuple({Floats({1}), Literal::Tuple({Floats({2}), Floats({3, 4})})});
  const Literal b = Literal::Tuple({Floats({1}), Literal::Tuple({Floats({9}), Floats({3})})});
  const auto leaves = CompareLiterals(a, b, {});
  ASSERT_EQ(leaves.size(), 3u);
  EXPECT_TRUE(leaves[0].equal());
  EXPECT_EQ(leaves[1].index, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(leaves[1].mismatched, 1);
  EXPECT_EQ(leaves[2].problem, "the shape is f32[2], expected f32[1]");
}

TEST(CompareValues, FlushesDenormalsKeepingTheSign) {
  const Literal flushed = analysis::FlushDenormals(Floats({1e-40f, -1e-40f, 1.5f}));
  EXPECT_EQ(flushed.data<float>()[0], 0.0f);
  EXPECT_TRUE(std::signbit(flushed.data<float>()[1]));
  EXPECT_EQ(flushed.data<float>()[1], 0.0f);
  EXPECT_EQ(flushed.data<float>()[2], 1.5f);
}

TEST(RunRatio, HasAnIntervalOnlyWithEnoughRounds) {
  std::vector<double> own, other;
  for (size_t i = 0; i < 1000; ++i) {
    own.push_back(2 + static_cast<double>(i * 7919 % 100) / 100);  // 2 to 3, in no order
    other.push_back(4 + static_cast<double>(i * 6007 % 100) / 50);
  }
  const RunRatio ratio = RatioOf(own, other);
  EXPECT_NEAR(ratio.ratio, 0.5, 0.01);
  ASSERT_TRUE(ratio.interval.has_value());
  EXPECT_LT(ratio.interval->low, ratio.interval->high);
  EXPECT_LE(ratio.interval->low, 0.5);
  EXPECT_GE(ratio.interval->high, 0.49);
  EXPECT_GT(ratio.interval->low, 0.45);
  EXPECT_LT(ratio.interval->high, 0.55);
  const RunRatio again = RatioOf(own, other);
  EXPECT_EQ(again.interval->low, ratio.interval->low);
  EXPECT_EQ(again.interval->high, ratio.interval->high);

  const RunRatio itself = RatioOf(own, own);
  EXPECT_EQ(itself.interval->low, 1);
  EXPECT_EQ(itself.interval->high, 1);

  EXPECT_FALSE(RatioOf(std::span(own).first(5), std::span(other).first(5)).interval.has_value());
  EXPECT_TRUE(RatioOf(std::span(own).first(6), std::span(other).first(6)).interval.has_value());
}

TEST(RunRatio, IsInItsIntervalWhereSlowRoundsComeInBlocks) {
  // Three of five blocks are slow in two turns of five, two of five in all: most turns are slow,
  // most blocks' medians are not.
  std::vector<double> own, other;
  for (size_t i = 0; i < 1000; ++i) {
    const bool slow = i / 5 % 5 >= 3 || i % 5 >= 3;
    own.push_back((slow ? 9 : 1) + static_cast<double>(i * 7919 % 100) / 1000);
    other.push_back(4 + static_cast<double>(i * 6007 % 100) / 1000);
  }
  const RunRatio ratio = RatioOf(own, other);
  EXPECT_GT(ratio.ratio, 2);
  ASSERT_TRUE(ratio.interval.has_value());
  EXPECT_LE(ratio.interval->low, ratio.ratio);
  EXPECT_GE(ratio.interval->high, ratio.ratio);
}

}  // namespace
}  // namespace hloscope::debug
