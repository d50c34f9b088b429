// Cases of letters and parts of texts, at their edges.
#include "core/base/strings.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace hloscope {
namespace {

TEST(StringsTest, CaseOfAsciiLettersAlone) {
  EXPECT_EQ(AsciiStrToLower("aZ@[`{9\xc4"), "az@[`{9\xc4");
  EXPECT_EQ(AsciiStrToUpper("aZ@[`{9\xe4"), "AZ@[`{9\xe4");
  EXPECT_EQ(AsciiStrToLower(""), "");
}

TEST(StringsTest, SplitKeepsEmptyParts) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(StrSplit("a,,b,", ','), (Parts{"a", "", "b", ""}));
  EXPECT_EQ(StrSplit("ab", ','), Parts{"ab"});
  EXPECT_EQ(StrSplit("", ','), Parts{""});
}

}  // namespace
}  // namespace hloscope
