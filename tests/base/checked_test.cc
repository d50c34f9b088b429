// Checked arithmetic answers nullopt exactly where the true result does not fit.
#include "core/base/checked.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

namespace hloscope {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

// The values around which 64-bit arithmetic goes wrong.
constexpr std::array<int64_t, 15> kEdges = {
    0,           1,         -1,       2,    3,    (1ll << 31) - 1, 1ll << 31, (1ll << 31) + 1,
    (1ll << 32), 1ll << 62, kMax - 1, kMax, kMin, kMin + 1,        -7};

std::optional<int64_t> Exact(__int128 value) {
  if (value < kMin || value > kMax) return std::nullopt;
  return static_cast<int64_t>(value);
}

TEST(CheckedTest, AgreesWithWideArithmeticOnEveryPairOfEdges) {
  for (int64_t a : kEdges) {
    for (int64_t b : kEdges) {
      const __int128 wide_a = a, wide_b = b;
      EXPECT_EQ(CheckedAdd(a, b), Exact(wide_a + wide_b)) << a << " + " << b;
      EXPECT_EQ(CheckedSub(a, b), Exact(wide_a - wide_b)) << a << " - " << b;
      EXPECT_EQ(CheckedMul(a, b), Exact(wide_a * wide_b)) << a << " * " << b;
    }
  }
}

TEST(CheckedTest, ProductOfDimensions) {
  struct Case {
    std::vector<int64_t> values;
    std::optional<int64_t> expected;
  };
  const Case cases[] = {
      {{}, 1},
      {{2, 3, 4}, 24},
      {{1ll << 31, 1ll << 31}, 1ll << 62},
      {{1ll << 32, 1ll << 31}, std::nullopt},
      {{1ll << 62, 1ll << 62, 0}, 0},
      {{0, 1ll << 62, 1ll << 62}, 0},
      {{3, -1}, std::nullopt},
      {{kMax, 1, 1}, kMax},
      {{kMax, 2}, std::nullopt},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(CheckedProduct(c.values), c.expected) << ::testing::PrintToString(c.values);
  }
}

TEST(CheckedTest, CastKeepsOnlyWhatFits) {
  EXPECT_EQ((CheckedCast<uint32_t>(int64_t{4294967295})), 4294967295u);
  EXPECT_EQ((CheckedCast<uint32_t>(int64_t{4294967296})), std::nullopt);
  EXPECT_EQ((CheckedCast<uint32_t>(int64_t{-1})), std::nullopt);
  EXPECT_EQ((CheckedCast<int8_t>(int64_t{-128})), std::optional<int8_t>(int8_t{-128}));
  EXPECT_EQ((CheckedCast<int8_t>(int64_t{-129})), std::nullopt);
  EXPECT_EQ((CheckedCast<int64_t>(std::numeric_limits<uint64_t>::max())), std::nullopt);
}

}  // namespace
}  // namespace hloscope
