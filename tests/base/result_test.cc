// Errors say where, what and how to fix it; the two macros hand them up unchanged.
#include "core/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <utility>

namespace hloscope {
namespace {

TEST(ResultTest, ErrorTextLeavesOutWhatIsUnknown) {
  struct Case {
    Error error;
    std::string expected;
  };
  const Case cases[] = {
      {{ErrorClass::kInput, "what", {}, ""}, "what"},
      {{ErrorClass::kInput, "what", {}, "fix"}, "what (fix)"},
      {{ErrorClass::kInput, "what", {"m.hlo", 0, 0}, ""}, "m.hlo: what"},
      {{ErrorClass::kInput, "what", {"m.hlo", 12, 0}, ""}, "m.hlo:12: what"},
      {{ErrorClass::kInput, "what", {"m.hlo", 12, 31}, "fix"}, "m.hlo:12:31: what (fix)"},
      {{ErrorClass::kInput, "what", {"", 12, 31}, ""}, "12:31: what"},
      {{ErrorClass::kInput, "what", {"m.hlo", 0, 31}, ""}, "m.hlo: what"},
  };
  for (const Case& c : cases) EXPECT_EQ(c.error.ToString(), c.expected);
}

TEST(ResultTest, ExecutionFailuresHaveKinds) {
  constexpr std::pair<ErrorClass, std::string_view> kKinds[] = {
      {ErrorClass::kInput, ""},
      {ErrorClass::kUnsupported, ""},
      {ErrorClass::kEnvironment, ""},
      {ErrorClass::kCrashed, "crashed"},
      {ErrorClass::kDeadlineExceeded, "deadline"},
      {ErrorClass::kCancelled, "cancelled"},
      {ErrorClass::kResourceExhausted, "memory"},
      {ErrorClass::kDeadlock, "deadlock"},
      {ErrorClass::kInternal, ""},
  };
  for (const auto& [error_class, kind] : kKinds) {
    EXPECT_EQ(ErrorKindOf(error_class), kind);
    EXPECT_EQ(ErrorKindText(error_class).empty(), kind.empty());
    EXPECT_EQ(IsExecutionFailure(error_class), !kind.empty());
  }
}

Result<std::unique_ptr<int>> Half(int value) {
  if (value % 2 != 0) return InputError("odd", "take an even number");
  return std::make_unique<int>(value / 2);
}

Result<int> Quarter(int value) {
  HLOSCOPE_ASSIGN_OR_RETURN(std::unique_ptr<int> half, Half(value));
  HLOSCOPE_ASSIGN_OR_RETURN(const std::unique_ptr<int> quarter, Half(*half));
  return *quarter;
}

Status IsDivisibleByFour(int value) {
  HLOSCOPE_TRY(Quarter(value));
  return {};
}

TEST(ResultTest, MacrosPassValuesThroughAndErrorsUp) {
  EXPECT_EQ(Quarter(12).value_or(-1), 3);
  EXPECT_TRUE(IsDivisibleByFour(12).has_value());
  for (int bad : {3, 6}) {
    const Result<int> quarter = Quarter(bad);
    ASSERT_FALSE(quarter.has_value());
    EXPECT_EQ(quarter.error().ToString(), "odd (take an even number)");
    EXPECT_FALSE(IsDivisibleByFour(bad).has_value());
  }
}

TEST(ResultTest, EachMakerSetsItsClass) {
  EXPECT_EQ(InputError("x").error().error_class, ErrorClass::kInput);
  EXPECT_EQ(UnsupportedError("x").error().error_class, ErrorClass::kUnsupported);
  EXPECT_EQ(EnvironmentError("x").error().error_class, ErrorClass::kEnvironment);
  EXPECT_EQ(InternalError("x").error().error_class, ErrorClass::kInternal);
}

}  // namespace
}  // namespace hloscope
