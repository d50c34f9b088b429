// Every row of the limits table can be set up to its hard cap and not beyond, by its name only.
#include "core/base/limits.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hloscope {
namespace {

TEST(LimitsTest, EveryRowStartsAtItsDefaultWithinItsCap) {
  const Limits limits;
  std::set<std::string_view> names;
  for (const LimitRow& row : LimitRows()) {
    EXPECT_EQ(limits.*row.field, row.default_value) << row.name;
    EXPECT_GE(row.default_value, 1) << row.name;
    EXPECT_LE(row.default_value, row.hard_cap) << row.name;
    EXPECT_FALSE(row.unit.empty()) << row.name;
    EXPECT_FALSE(row.reason.empty()) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " is there twice";
  }
  EXPECT_GE(names.size(), 20u);
}

TEST(LimitsTest, EveryRowTakesItsCapAndRefusesOneMore) {
  for (const LimitRow& row : LimitRows()) {
    for (int64_t good : {int64_t{1}, row.default_value, row.hard_cap - 1, row.hard_cap}) {
      if (good < 1) continue;
      Limits limits;
      ASSERT_TRUE(SetLimit(limits, row.name, good).has_value()) << row.name << " = " << good;
      EXPECT_EQ(limits.*row.field, good);
    }
    for (int64_t bad : {row.hard_cap + 1, int64_t{0}, int64_t{-1}}) {
      Limits limits;
      const Status status = SetLimit(limits, row.name, bad);
      ASSERT_FALSE(status.has_value()) << row.name << " = " << bad;
      EXPECT_EQ(status.error().error_class, ErrorClass::kInput);
      EXPECT_NE(status.error().message.find(std::to_string(row.hard_cap)), std::string::npos);
      EXPECT_EQ(limits.*row.field, row.default_value) << "a refused value must change nothing";
    }
  }
}

TEST(LimitsTest, UnknownNameSaysWhereTheNamesAre) {
  Limits limits;
  const Status strange = SetLimit(limits, "colour", 3);
  ASSERT_FALSE(strange.has_value());
  EXPECT_EQ(strange.error().ToString(), "unknown limit colour (`hloscope limits` lists them)");
  const Status close = SetLimit(limits, "nestling", 3);
  ASSERT_FALSE(close.has_value());
  EXPECT_EQ(close.error().ToString(), "unknown limit nestling (did you mean `nesting`?)");
}

}  // namespace
}  // namespace hloscope
