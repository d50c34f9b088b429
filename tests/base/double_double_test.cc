// DoubleDouble against values of mpmath 1.4.1 with 400 bits.
#include "core/base/complex/double_double.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace hloscope {
namespace {

void ExpectNear(DoubleDouble found, DoubleDouble expected) {
  const DoubleDouble difference = found - expected;
  EXPECT_LE(std::fabs(difference.high), std::fabs(expected.high) * 0x1p-122L)
      << found.high << " + " << found.low << " instead of " << expected.high << " + "
      << expected.low;
}

TEST(DoubleDouble, ExponentialAndLogarithm) {
  ExpectNear(ExpOf({1.5L, 0}), {0x8f69ff327e2a0abfp-61L, -0x11b9a72bc1621bc3p-124L});
  ExpectNear(ExpOf({-700.25L, 0}), {0x1af5fe9a485c8e57p-1071L, -0x967a26c051a398b5p-1143L});
  ExpectNear(LogarithmOf({0x3p-1000L, 0}), {-0xad031bbe183090a7p-54L, -0xcafeadfe3d33ec1p-115L});
  ExpectNear(LogarithmOf({1, 0x1p-70L}), {0x1p-70L, -0x1p-141L});
  EXPECT_EQ(ExpOf({20000, 0}).high, INFINITY);
  EXPECT_EQ(ExpOf({-1e30L, 0}).high, 0);
}

TEST(DoubleDouble, SineAndCosine) {
  struct Row {
    DoubleDouble angle, sine, cosine;
  };
  const std::vector<Row> rows = {
      {{0.75L, 0},
       {0x573ff05afe3c3597p-63L, -0xd323c52a1d7eb6efp-129L},
       {0xbb4ff632a908f73fp-64L, -0x3eae7c6346266c4bp-128L}},
      {{100.5L, 0},
       {-0xfd9fc19a387f8615p-69L, 0x2e512c4d5b7bb4ebp-133L},
       {0xffe0956d76760c63p-64L, 0x16b25b80ae6bacefp-126L}},
      {{-3, 0},
       {-0x9081c36db6aada79p-66L, 0xdfa2f72f9d5f2d35p-133L},
       {-0x1fae04be85e5d261p-61L, 0x801f4082563eb053p-130L}},
      {{1e15L, 0},
       {0x6ddbe204db3ae725p-63L, 0xa68461527ac9bed3p-129L},
       {-0x8360aa304e99f42bp-64L, -0xa864d547e179c08fp-136L}},
  };
  for (const auto& [angle, sine, cosine] : rows) {
    const SineCosine found = SinCos(angle);
    ExpectNear(found.sine, sine);
    ExpectNear(found.cosine, cosine);
  }
  // 2^60 + 2^-3 + 2^-10: both parts count.
  const SineCosine far = SinCos({0x1p60L, 0x1p-3L + 0x1p-10L});
  EXPECT_LE(std::fabs(far.sine.high + 0xe4decb3373b7b05fp-64L), 0x1p-60L);
  EXPECT_LE(std::fabs(far.cosine.high + 0xe5629bbdcd525247p-65L), 0x1p-60L);
  // 2^100 + 2^30.
  const SineCosine farther = SinCos({0x1p100L, 0x1p30L});
  EXPECT_LE(std::fabs(farther.sine.high + 0x7e7b3d3b5eb455edp-63L), 0x1p-60L);
  EXPECT_LE(std::fabs(farther.cosine.high + 0x4ea240d951b35aadp-65L), 0x1p-60L);
}

TEST(DoubleDouble, Angle) {
  ExpectNear(AngleOf(1, 3), {0x292f1f464d3dc249p-63L, 0xcd43f9522bed64f7p-132L});
  ExpectNear(AngleOf(-2, -5), {-0xb0b5a336b9eb027dp-62L, 0x48d1caff26025e9p-122L});
  ExpectNear(AngleOf(0x1p-600L, -1), {0xc90fdaa22168c235p-62L, -0xece675d1fc8f8cbbp-128L});
  EXPECT_TRUE(std::signbit(AngleOf(-0.0L, 1).high));
}

TEST(DoubleDouble, Quotient) {
  const DoubleDouble third = DoubleDouble{1, 0} / DoubleDouble{3, 0};
  ExpectNear(third * DoubleDouble{3, 0}, {1, 0});
}

}  // namespace
}  // namespace hloscope
