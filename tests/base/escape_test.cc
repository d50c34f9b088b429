// Each escaper, on what each format could take for something else than text.
#include "core/base/escape.h"

#include <gtest/gtest.h>

#include "core/base/json.h"

namespace hloscope {
namespace {

struct Row {
  std::string_view text, json, csv, markdown, html, terminal, dot;
};
constexpr Row kRows[] = {
    {"plain", R"("plain")", "plain", "plain", "plain", "plain", R"("plain")"},
    {"\xC2\x9B[2J", R"("\u009b[2J")", R"(\u{009b}[2J)", R"(\\u{009b}\[2J)", "\xEF\xBF\xBD[2J",
     R"(\u{009b}[2J)", "\"\xEF\xBF\xBD[2J\""},
    {"a\xE2\x80\xAE"
     "b",
     R"("a\u202eb")", R"(a\u{202e}b)", R"(a\\u{202e}b)",
     "a\xEF\xBF\xBD"
     "b",
     R"(a\u{202e}b)",
     "\"a\xEF\xBF\xBD"
     "b\""},
    {"\x1B]0;x", R"("\u001b]0;x")", R"(\x1b]0;x)", R"(\\x1b\]0;x)", "\xEF\xBF\xBD]0;x",
     R"(\x1b]0;x)", "\"\xEF\xBF\xBD]0;x\""},
    {"\xF3\xA0\x80\x81", R"("\udb40\udc01")", R"(\u{e0001})", R"(\\u{e0001})", "\xEF\xBF\xBD",
     R"(\u{e0001})", "\"\xEF\xBF\xBD\""},
    {"=HYPERLINK(\"h\")", R"x("=HYPERLINK(\"h\")")x", R"x("'=HYPERLINK(""h"")")x",
     "=HYPERLINK(\"h\")", "=HYPERLINK(&quot;h&quot;)", "=HYPERLINK(\"h\")",
     R"x("=HYPERLINK(\"h\")")x"},
    {"@SUM(1)", R"x("@SUM(1)")x", "'@SUM(1)", "&#64;SUM(1)", "@SUM(1)", "@SUM(1)",
     R"x("@SUM(1)")x"},
    {"-1.5e+3", R"("-1.5e+3")", "-1.5e+3", "-1.5e+3", "-1.5e+3", "-1.5e+3", R"("-1.5e+3")"},
    {"-cmd|x", R"("-cmd|x")", "'-cmd|x", R"(-cmd\|x)", "-cmd|x", "-cmd|x", R"("-cmd|x")"},
    {"a\nb", R"("a\nb")", R"("a\x0ab")", R"(a\\x0ab)", "a\nb", R"(a\x0ab)", R"("a\nb")"},
    {"<b>&`", R"("<b>&`")", "<b>&`", R"(&lt;b&gt;&amp;\`)", "&lt;b&gt;&amp;&#96;", "<b>&`",
     R"("<b>&`")"},
};

TEST(EscapeTest, OfEachFormat) {
  for (const Row& row : kRows) {
    std::string csv;
    AppendCsvCell(csv, row.text);
    EXPECT_EQ(JsonString(row.text), row.json);
    EXPECT_EQ(csv, row.csv) << row.json;
    EXPECT_EQ(EscapeMarkdown(row.text), row.markdown) << row.json;
    EXPECT_EQ(EscapeHtml(row.text), row.html) << row.json;
    EXPECT_EQ(EscapeForTerminal(row.text), row.terminal) << row.json;
    EXPECT_EQ(DotString(row.text), row.dot) << row.json;
  }
  EXPECT_EQ(CsvCell("a"), "\"a\"");
  for (const std::string_view text : {"-1+2", "+1-800", "--1", "＝A1", "＠SUM(1)", "-", "+-1"}) {
    EXPECT_EQ(CsvCell(text), "\"'" + std::string(text) + "\"");
  }
  for (const std::string_view text : {"-1.5", "+2", "-3%", "-inf", "-nan", "1+2"}) {
    EXPECT_EQ(CsvCell(text), "\"" + std::string(text) + "\"");
  }
}

}  // namespace
}  // namespace hloscope
