// Escapes let nothing dangerous through and nothing harmless go.
#include "core/base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hloscope {
namespace {

constexpr std::string_view kInvalid[] = {"\xff",
                                         "\xc0\xaf",
                                         "\xc1\xbf",
                                         "\x80",
                                         "\xe0\x80\xaf",
                                         "\xed\xa0\x80",
                                         "\xf0\x80\x80\xaf",
                                         "\xf4\x90\x80\x80",
                                         "\xf8\x88\x80\x80\x80",
                                         "\xe2\x82",
                                         "\xf0\x9f\x98",
                                         "\xc3"};

TEST(TextTest, EveryCodePointDecodesToItself) {
  for (uint32_t code = 0; code <= 0x10FFFF; ++code) {
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    const std::string text = EncodeUtf8(code);
    const Utf8Character character = DecodeUtf8(text);
    ASSERT_EQ(character.length, text.size()) << code;
    ASSERT_EQ(character.code, surrogate ? 0xFFFDu : code);
  }
  EXPECT_EQ(EncodeUtf8(0x110000), EncodeUtf8(0xFFFD));
}

TEST(TextTest, InvalidUtf8IsKnownAndRepaired) {
  EXPECT_EQ(DecodeUtf8("").length, 0u);
  for (std::string_view bytes : kInvalid) {
    EXPECT_EQ(DecodeUtf8(bytes).length, 0u);
    EXPECT_FALSE(IsUtf8(bytes));
    const std::string repaired = RepairUtf8("a" + std::string(bytes) + "é");
    EXPECT_TRUE(IsUtf8(repaired)) << repaired;
    EXPECT_TRUE(repaired.starts_with("a\\x") && repaired.ends_with("é")) << repaired;
  }
  EXPECT_EQ(RepairUtf8("\xe2\x82"
                       "A\xe2\x82\xac"),
            "\\xe2\\x82A€");
}

TEST(TextTest, TerminalEscapes) {
  struct Case {
    std::string_view text, expected;
  };
  using namespace std::string_view_literals;
  const Case cases[] = {
      {"plain %add.1 = f32[2]{0}", "plain %add.1 = f32[2]{0}"},
      {"\x1b[2J", "\\x1b[2J"},
      {"a\nb\tc\r", "a\\x0ab\\x09c\\x0d"},
      {"\0"sv, "\\x00"},
      {"\x7f", "\\x7f"},
      {"\xc2\x9b"
       "31m",
       "\\u{009b}31m"},
      {"\x9b"
       "31m",
       "\\x9b31m"},
      {"x\xe2\x80\xae"
       "y",
       "x\\u{202e}y"},
      {"x\xe2\x81\xa6"
       "y",
       "x\\u{2066}y"},
      {"\xef\xbb\xbf"
       "bom",
       "\\u{feff}bom"},
      {"\xf3\xa0\x81\x81", "\\u{e0041}"},
      {"größe 数 😀", "größe 数 😀"},
  };
  for (const Case& c : cases) EXPECT_EQ(EscapeForTerminal(c.text), c.expected);
  EXPECT_EQ(EscapeForTerminal("a\n\tb\x1b", LineBreaks::kKeep), "a\n\tb\\x1b");
}

TEST(TextTest, TerminalEscapeLeavesNoControlByte) {
  for (int high = 0; high < 256; ++high) {
    for (int low = 0; low < 256; ++low) {
      const std::string text = {static_cast<char>(high), static_cast<char>(low)};
      const std::string escaped = EscapeForTerminal(text);
      ASSERT_TRUE(IsUtf8(escaped));
      for (std::string_view rest = escaped; !rest.empty();
           rest.remove_prefix(DecodeUtf8(rest).length)) {
        const uint32_t code = DecodeUtf8(rest).code;
        ASSERT_TRUE(code >= 0x20 && (code < 0x7F || code >= 0xA0)) << high << ' ' << low;
      }
    }
  }
}

TEST(TextTest, HtmlEscapes) {
  EXPECT_EQ(EscapeHtml("<script>alert('x' & \"y\" `z`)</script>"),
            "&lt;script&gt;alert(&#39;x&#39; &amp; &quot;y&quot; &#96;z&#96;)&lt;/script&gt;");
  EXPECT_EQ(EscapeHtml("a\nb\tc"), "a\nb\tc");
  EXPECT_EQ(EscapeHtml(std::string_view("\0\x1b\xff\xe2\x80\xae", 6)), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(EscapeHtml("é数"), "é数");
}

TEST(TextTest, ShortestNumbersReadBack) {
  struct Case {
    double value;
    std::string_view expected;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Case cases[] = {{0.1, "0.1"},
                        {-0.0, "-0"},
                        {1, "1"},
                        {1e30, "1e+30"},
                        {1.5e-7, "1.5e-07"},
                        {kInfinity, "inf"},
                        {-kInfinity, "-inf"},
                        {std::nan(""), "nan"},
                        {-std::nan(""), "nan"},
                        {5e-324, "5e-324"},
                        {1.7976931348623157e308, "1.7976931348623157e+308"}};
  for (const Case& c : cases) EXPECT_EQ(ShortestText(c.value), c.expected);
  EXPECT_EQ(ShortestText(0.1f), "0.1");
  EXPECT_EQ(ShortestText(3.4028235e38f), "3.4028235e+38");
}

}  // namespace
}  // namespace hloscope
