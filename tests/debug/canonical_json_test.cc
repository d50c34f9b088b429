// Canonical JSON: the same for all spellings of a value, different for different values.
#include "core/analysis/align/canonical_json.h"

#include <gtest/gtest.h>

#include <string>

namespace hloscope::debug {
namespace {

std::string Of(std::string_view text) { return analysis::CanonicalJson(text).value_or("none"); }

TEST(CanonicalJson, SortsMembersAtEveryDepth) {
  EXPECT_EQ(Of(R"( { "b" : [ {"d":1, "c": true} , null ], "a" : { } } )"),
            R"({"a":{},"b":[{"c":true,"d":1},null]})");
  EXPECT_EQ(Of(R"({"z":{"y":{"b":1,"a":[]},"x":2},"a":"{,}"})"),
            R"({"a":"{,}","z":{"x":2,"y":{"a":[],"b":1}}})");
  EXPECT_EQ(Of(R"({"a":1,"b":2})"), R"({"a":1,"b":2})");
}

TEST(CanonicalJson, KeepsRepeatedKeysInTheirOrder) {
  EXPECT_EQ(Of(R"({"b":0,"a":1,"a":2})"), R"({"a":1,"a":2,"b":0})");
  EXPECT_NE(Of(R"({"a":1,"a":2})"), Of(R"({"a":2,"a":1})"));
  EXPECT_NE(Of(R"({"a":1,"a":2})"), Of(R"({"a":2})"));
}

TEST(CanonicalJson, NumbersAreExact) {
  for (const char* const same : {"100", "1e2", "1E+2", "100.0", "1000e-1", "0.1e3"}) {
    EXPECT_EQ(Of(same), "100") << same;
  }
  EXPECT_EQ(Of("0.00"), "0");
  EXPECT_EQ(Of("-0.0"), "-0");
  EXPECT_EQ(Of("0.00120"), "0.0012");
  EXPECT_EQ(Of("12.50"), "12.5");
  EXPECT_EQ(Of("1e-7"), "1e-7");
  EXPECT_EQ(Of("0.0000001234"), "1.234e-7");
  EXPECT_EQ(Of("123456789012345678901234567890"), "123456789012345678901234567890");
  EXPECT_NE(Of("123456789012345678901234567890"), Of("123456789012345678901234567891"));
  EXPECT_NE(Of("0.1000000000000000055"), Of("0.1000000000000000056"));
  EXPECT_EQ(Of("1e99999999999999999999"), "1e99999999999999999999");
}

TEST(CanonicalJson, StringsHaveOneSpelling) {
  EXPECT_EQ(Of(R"("\u0041\/\"\\\u00e9\ud83d\ude00\n")"), "\"A/\\\"\\\\\u00e9\U0001F600\\n\"");
  EXPECT_NE(Of(R"("A\u0000")"), Of(R"("A")"));
  EXPECT_EQ(Of(R"({"\u0061":1,"B":2})"), R"({"B":2,"a":1})");
}

TEST(CanonicalJson, RefusesWhatIsNotJson) {
  for (const char* const text :
       {"",         "{",         "}",           "[1,]",        "{\"a\":1,}", "{\"a\"}", "{\"a\":}",
        "{1:2}",    "[1 2]",     "[1}",         "{\"a\":1]",   "01",         "1.",      ".5",
        "+1",       "1e",        "1e+-2",       "--1",         "nan",        "tru",     "\"",
        "\"\\x\"",  "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"\t\"",     "1 2",     "[]]",
        "\"\xff\"", "{\"a\":1}}"}) {
    EXPECT_FALSE(analysis::CanonicalJson(text).has_value()) << text;
  }
}

TEST(CanonicalJson, TakesAnyNesting) {
  constexpr size_t kDeep = 1 << 20;
  const std::string deep = std::string(kDeep, '[') + std::string(kDeep, ']');
  EXPECT_EQ(Of(deep), deep);
  std::string objects, sorted, close;
  for (int k = 0; k < 20'000; ++k) {
    objects += R"({"b":)";
    sorted += R"({"a":0,"b":)";
    close += R"(,"a":0})";
  }
  EXPECT_EQ(Of(objects + "1" + close), sorted + "1" + std::string(20'000, '}'));
}

}  // namespace
}  // namespace hloscope::debug
