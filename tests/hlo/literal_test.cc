// Literals: values, reading, printing.
#include "core/hlo/literal.h"

#include <gtest/gtest.h>

#include <string>

#include "core/hlo/float_types.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

Parsed<Literal> Read(std::string_view shape_text, std::string_view text,
                     const Limits& limits = {}) {
  TextCursor shape_cursor(shape_text);
  Parsed<Shape> shape = ReadShape(shape_cursor, limits);
  if (!shape) return std::unexpected(shape.error());
  TextCursor cursor(text);
  Parsed<Literal> literal = ReadLiteral(cursor, *shape, limits);
  if (literal && !cursor.AtEnd()) return std::unexpected(cursor.Expected("the end"));
  return literal;
}

std::string Reprint(std::string_view shape, std::string_view text, bool elide = false) {
  Parsed<Literal> literal = Read(shape, text);
  if (!literal) return "error: " + literal.error().message;
  std::string out;
  AppendLiteral(out, *literal, elide);
  return out;
}

struct Case {
  const char* shape;
  const char* text;
  const char* printed;
};

TEST(LiteralText, PrintsWhatXlaPrints) {
  const Case cases[] = {
      {"f32[4]", "5", "{5, 0, 0, 0}"},
      {"f32[0]", "{}", "{}"},
      {"f32[0,3]", "{}", "{  }"},
      {"f32[3,0]", "{{},{},{}}", "{ {}, {}, {} }"},
      {"f32[2]", "{1,,2,}", "{1, 2}"},
      {"f32[2,2]{0,1}", "{{1,2},{3,4}}", "{ { 1, 2 }, { 3, 4 } }"},
      {"pred[2,1]", "{{true},{0}}", "{ {1}, {0} }"},
      {"f32[1,2,1,2]", "{{{{1,2}},{{3,4}}}}",
       "{ { /*i0=0*/ { /*i1=0*/ { 1, 2 } }, { /*i1=1*/ { 3, 4 } } } }"},
      {"f32[1,1,0,2]", "{{{}}}", "{ { /*i0=0*/ { /*i1=0*/ } } }"},
      {"f32[]", "18446744073709551615", "-1"},
      {"u64[]", "-1", "18446744073709551615"},
      {"pred[]", "2", "true"},
      {"f32[]", "-0", "-0"},  // as XLA prints it; its own reader drops the sign
      {"f32[2]", "{-0,0}", "{-0, 0}"},
      {"f64[]", "-0", "-0"},
      {"bf16[]", "-0", "-0"},
      {"f8e5m2[]", "-0", "-0"},
      {"f8e5m2fnuz[]", "-0", "0"},  // has no -0
      {"c64[]", "(-0,-0)", "(-0, -0)"},
      {"s32[]", "-0", "0"},
      {"pred[]", "-0", "false"},
      {"f32[]", "-0.0", "-0"},
      {"f32[]", "-1e-400", "-0"},
      {"f32[]", "3.4028235e38", "3.40282347e+38"},
      {"f32[]", "0.1", "0.1"},
      {"f32[]", "16777217", "16777216"},
      {"f32[]", "1e7", "1e+07"},
      {"f32[]", "1.17549435e-38", "1.17549435e-38"},
      {"f64[]", "0.1", "0.1"},
      {"f64[]", "0.30000000000000004", "0.30000000000000004"},
      {"f16[]", "65519", "65504"},
      {"bf16[]", "1.0039062500000002", "1"},
      {"f8e4m3fn[]", "inf", "nan"},
      {"f8e5m2fnuz[]", "nan", "-nan"},
      {"f4e2m1fn[]", "nan", "-0"},
      {"f8e8m0fnu[]", "3", "4"},
      {"f32[]", "nan(0x400000)", "nan"},
      {"f32[]", "-nan(0x12)", "-nan(0x12)"},
      {"f8e5m2[]", "nan(0x1)", "nan(0x1)"},
      {"c64[2]", "{(1,-inf),(4,nan)}", "{(1, -inf), (4, nan)}"},
      {"c64[2]", "{(-nan,4),(nan(0x400000),4)}", "{(-nan, -nan), (nan, 4)}"},
      {"s4[3]", "{-8,7,-1}", "{-8, 7, -1}"},
      {"f32[2]", "{1 // one\n ,2}", "{1, 2}"},
      {"(f32[2],(s32[],pred[]),())", "({1,2},(3,true),())", "( {1, 2}, ( 3, true ), (  ) )"},
      {"f32[<=2]", "{1,2}", "{1, 2}"},
      {"f32[2,3]", "{...}", "{...}"},
      {"f32[2]", "{1,...}", "{...}"},
      {"(f32[2],s32[])", "{...}", "{...}"},
  };
  for (const Case& c : cases) EXPECT_EQ(Reprint(c.shape, c.text), c.printed) << c.shape << c.text;
}

TEST(LiteralText, ElidesMoreThanTenElements) {
  EXPECT_EQ(Reprint("s32[2,5]", "{{0,1,2,3,4},{5,6,7,8,9}}", true),
            "{ { 0, 1, 2, 3, 4 }, { 5, 6, 7, 8, 9 } }");
  EXPECT_EQ(Reprint("s32[11]", "{0,1,2,3,4,5,6,7,8,9,10}", true), "{...}");
  EXPECT_EQ(Reprint("(s32[])", "(1)", true), "{...}");
}

TEST(LiteralText, RefusesWithReasons) {
  const Case cases[] = {
      {"f32[2,4]", "{{1,2,3},{4,5,6,7}}", "constant has 3 elements in dimension 1, expected 4"},
      {"f32[2]", "{1,2,3}", "constant has more than 2 elements in dimension 0, expected 2"},
      {"f32[3,0]", "{}", "constant has 0 elements in dimension 0, expected 3"},
      {"f32[2,2]", "{1,2,3,4}", "element is inside 1 brace, expected 2 for f32[2,2]"},
      {"f32[]", "{1}", "braces are nested 1 deep, expected 0 for f32[]"},
      {"f32[2,3]", "{{...},{...}}", "... inside nested braces"},
      {"s4[]", "8", "value 8 is out of range for s4, which holds -8 to 7"},
      {"u32[]", "-1", "value -1 is out of range for u32, which holds 0 to 4294967295"},
      {"s64[]", "18446744073709551616", "integer does not fit into 64 bits"},
      {"f16[]", "65520", "value 65520 is out of range for f16, which holds -65504 to 65504"},
      {"f64[]", "1e400", "number is beyond the range of f64"},
      {"s32[]", "1.5", "expected an integer for an element of type s32"},
      {"f32[]", "nan(0x800000)", "payload of nan is larger than 0x7fffff, the most that f32 holds"},
      {"f8e4m3fn[]", "nan(0x1)", "nan of type f8e4m3fn holds no payload"},
      {"f32[]", "0x10", "expected a number, found `0x10`"},
      {"f32[2]", "{1", "expected }, found the end of the text"},
      {"c64[]", "1", "expected ( of a complex number such as (1, 2), found `1`"},
      {"(f32[],s32[])", "(1)", "constant has 1 tuple element, expected 2"},
      {"token[]", "0", "constant has shape token[], expected an array or a tuple"},
      {"f32[?]", "{1}", "constant of shape f32[?] has too many elements"},
      {"f32[1000000000000]", "0", "more bytes in one array than the limit of 1099511627776"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Reprint(c.shape, c.text), std::string("error: ") + c.printed) << c.shape << c.text;
  }
}

TEST(LiteralText, TakesNoMemoryForWhatIsOnlyDeclared) {
  EXPECT_FALSE(Read("f32[100000000000]", "{{1}}"));
  EXPECT_FALSE(Read("f32[100000000000]", "{1, 2}"));
  Parsed<Literal> lone = Read("f32[100000000000]", "7");
  ASSERT_TRUE(lone);
  EXPECT_TRUE(lone->elided());
  Parsed<Literal> zeros = Read("f32[1000000]", "0");
  ASSERT_TRUE(zeros);
  EXPECT_FALSE(zeros->elided());
  EXPECT_EQ(zeros->data<float>()[999999], 0.0f);
}

TEST(LiteralText, ExactKeepsWhatXlaLoses) {
  Parsed<Literal> literal = Read("c64[3]", "{(-0.0,1),(10,-0.0),(-nan(0x400000),4)}");
  ASSERT_TRUE(literal);
  std::string out;
  AppendLiteral(out, *literal, false, true);
  EXPECT_EQ(out, "{(-0.0, 1), (10, -0.0), (-nan(0x400000), 4)}");
  EXPECT_EQ(*Read("c64[3]", out), *literal);
}

// Every bit pattern of every narrow float type reads back from its print.
TEST(LiteralText, NarrowFloatsReadBack) {
  for (const FloatFormat& f : kFloatFormats) {
    const int64_t count = int64_t{1} << f.bits;
    std::vector<std::byte> bytes;
    for (int64_t i = 0; i < count; ++i) {
      bytes.push_back(static_cast<std::byte>(i & 0xff));
      if (f.bits == 16) bytes.push_back(static_cast<std::byte>(i >> 8));
    }
    Literal literal = Literal::Dense(Shape::Array(f.type, {count}), std::move(bytes));
    std::string out;
    AppendLiteral(out, literal, false, true);
    Parsed<Literal> back = Read(ToString(literal.shape()), out);
    ASSERT_TRUE(back) << ToString(f.type) << back.error().message;
    EXPECT_EQ(*back, literal) << ToString(f.type);
  }
}

TEST(Literal, ComparesBitsAndNotLayouts) {
  const float values[] = {1, 2, 3, 4};
  Literal a = Literal::Of<float>(Shape::Array(ElementType::kF32, {2, 2}), values);
  Literal b = a;
  b.set_layout(Layout{{0, 1}, nullptr});
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a == Literal::Of<float>(Shape::Array(ElementType::kF32, {4}), values));
  EXPECT_FALSE(a == Literal::Elided(a.shape()));
  EXPECT_TRUE(Literal::Tuple({a, Literal::Elided(a.shape())}).elided());
  std::string out;
  AppendElement(out, a, 3);
  EXPECT_EQ(out, "4");
}

TEST(Escapes, AsAbslCEscape) {
  std::string out;
  AppendEscaped(out, std::string_view("a\"b'c\\d\n\r\t\x01\x7f\xc3\xa4\0z", 16));
  EXPECT_EQ(out, "a\\\"b\\'c\\\\d\\n\\r\\t\\001\\177\\303\\244\\000z");
}

TEST(Doubles, SixDigitsOrExact) {
  const std::tuple<double, const char*, const char*> cases[] = {
      {0.123456789, "0.123457", "0.123456789"},
      {123456789, "1.23457e+08", "123456789"},
      {1e-5, "1e-05", "1e-05"},
      {0.1, "0.1", "0.1"},
      {1e300, "1e+300", "1e+300"},
      {-0.0, "-0", "-0"},
  };
  for (const auto& [value, six, exact] : cases) {
    std::string a, b;
    AppendDouble(a, value);
    AppendDouble(b, value, true);
    EXPECT_EQ(a, six);
    EXPECT_EQ(b, exact);
  }
}

}  // namespace
}  // namespace hloscope::hlo
