// The writer's output is the JSON expected, byte for byte, whatever it is given.
#include "core/base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/parse_json.h"

namespace hloscope {
namespace {

TEST(JsonTest, WritesEveryKindOfValue) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject()
      .Field("text", "a\"b\\c\n")
      .Field("pointer", std::string("s"))
      .Field("yes", true);
  json.Key("list").BeginArray().Value(1).Value(-2.5).Null().BeginArray().EndArray().EndArray();
  json.Key("empty").BeginObject().EndObject().Field("no", false);
  json.Field("min", std::numeric_limits<int64_t>::min())
      .Field("max", std::numeric_limits<uint64_t>::max());
  json.Field("small", int8_t{-3}).Field("f32", 0.1f).Field("f64", 0.1).EndObject();
  EXPECT_EQ(
      out,
      R"({"text":"a\"b\\c\n","pointer":"s","yes":true,"list":[1,-2.5,null,[]],"empty":{},"no":false,)"
      R"("min":-9223372036854775808,"max":18446744073709551615,"small":-3,"f32":0.1,"f64":0.1})");
}

TEST(JsonTest, NumbersThatAreNotFiniteAreStrings) {
  std::string out;
  JsonWriter json(out);
  json.BeginArray().Value(std::nan("")).Value(HUGE_VAL).Value(-HUGE_VALF).EndArray();
  EXPECT_EQ(out, R"(["nan","inf","-inf"])");
}

TEST(JsonTest, EveryPairOfBytesGivesValidJson) {
  for (int high = 0; high < 256; ++high) {
    for (int low = 0; low < 256; ++low) {
      const std::string text = {static_cast<char>(high), static_cast<char>(low)};
      const std::string json = JsonString(text);
      const auto parsed = nlohmann::json::parse(json, nullptr, false);
      ASSERT_FALSE(parsed.is_discarded()) << high << ' ' << low;
      if (high < 0x80 && low < 0x80) {
        ASSERT_EQ(parsed.get<std::string>(), text);
      }
    }
  }
  EXPECT_EQ(JsonString("\xff"), R"("\\xff")");
  EXPECT_EQ(JsonString("\xe2\x80\xa8|\x7f"), R"("\u2028|\u007f")");
}

Limits Nesting(int64_t levels) {
  Limits limits;
  limits.nesting = levels;
  return limits;
}

TEST(ParseJsonTest, NestingIsBounded) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(ParseJson(nested(512)).has_value());
  for (const size_t depth : {size_t{513}, size_t{1'000'000}}) {
    const auto parsed = ParseJson(nested(depth));
    ASSERT_FALSE(parsed.has_value());
    EXPECT_EQ(parsed.error().message, "JSON nested deeper than 512 levels");
    EXPECT_FALSE(ParseOrderedJson(nested(depth)).has_value());
  }
  EXPECT_TRUE(ParseJson(nested(3), Nesting(3)).has_value());
  EXPECT_FALSE(ParseJson(nested(4), Nesting(3)).has_value());
  EXPECT_TRUE(ParseJson(R"([["[[[\"[[[", "\\"], []])", Nesting(2)).has_value()) << "in strings";
  EXPECT_TRUE(ParseJson(R"([[1],[2],[3]])", Nesting(2)).has_value()) << "beside one another";
}

TEST(ParseJsonTest, TreesAreWrittenAsJsonWriterDoes) {
  const std::string text =
      "{\"a\":[1,-2.5,1e+300,true,null,{}],\"k\\u0085\":\"x\\u202ey\\u009b\",\"e\":[]}";
  EXPECT_EQ(JsonText(*ParseOrderedJson(text)), text);
  EXPECT_EQ(JsonText(*ParseOrderedJson("[\"\xc2\x9b\xe2\x80\xae\"]")), R"(["\u009b\u202e"])");
}

TEST(ParseJsonTest, WhatIsNotJsonIsAnError) {
  for (const char* const text : {"", "{", "[1,]", "]]]][[[[", "nan"}) {
    EXPECT_EQ(ParseJson(text).error().message, "not JSON") << text;
  }
  EXPECT_EQ(ParseOrderedJson(R"({"b":1,"a":2})")->dump(), R"({"b":1,"a":2})");
  EXPECT_EQ(ParseJson(R"({"b":1,"a":2})")->dump(), R"({"a":2,"b":1})");
}

}  // namespace
}  // namespace hloscope
