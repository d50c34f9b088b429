// Files of jax.export (tests/dump/exports, written by JAX), whole and damaged; its expressions of
// dimension variables against Python's integers.
#include "core/dump/readers/jax_export.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/dump/listing/sniff.h"
#include "core/dump/readers/symbolic_shapes.h"
#include "tests/base/paths.h"

namespace hloscope::dump {
namespace {

std::string ReadFixture(const std::string& name) {
  std::ifstream in(SourcePath("tests/dump/exports/" + name + ".export"), std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

std::vector<std::string> Shapes(const JaxExport& exported, const std::vector<uint32_t>& list) {
  std::vector<std::string> shapes;
  for (const uint32_t k : list) shapes.push_back(ToString(exported.arrays[k]));
  return shapes;
}

using Texts = std::vector<std::string>;
using Numbers = std::vector<uint32_t>;

TEST(JaxExportTest, ReadsWhatJaxWrote) {
  for (const std::string name : {"fixed", "version_2"}) {
    const std::string bytes = ReadFixture(name);
    EXPECT_EQ(Sniff(bytes), FileKind::kJaxExport) << name;
    const auto read = ReadJaxExport(bytes);
    ASSERT_TRUE(read.has_value()) << name << ": " << read.error().message;
    EXPECT_EQ(read->function, "<lambda>");
    EXPECT_EQ(Shapes(*read, read->arguments), (Texts{"f32[2,3]", "s32[5]", "f32[3]"}));
    EXPECT_EQ(Shapes(*read, read->results), (Texts{"f32[2,3]", "f32[]"}));
    EXPECT_EQ(read->kept, (Numbers{0, 2}));
    EXPECT_EQ(read->platforms, (std::vector<std::string_view>{"cpu"}));
    EXPECT_EQ(read->devices, 1u);
    EXPECT_EQ(read->calling_convention, 10u);
    EXPECT_FALSE(read->takes_platform());
    EXPECT_FALSE(read->is_symbolic());
    EXPECT_TRUE(read->module.starts_with("ML\xefR"));
  }
}

TEST(JaxExportTest, ReadsPlatformsDevicesTypesAndGradients) {
  const auto read = [](const std::string& name, std::string& bytes) {
    bytes = ReadFixture(name);
    return ReadJaxExport(bytes).value_or(JaxExport());
  };
  std::string bytes;
  EXPECT_EQ(read("platforms", bytes).platforms,
            (std::vector<std::string_view>{"tpu", "cpu", "cuda"}));
  EXPECT_TRUE(read("platforms", bytes).takes_platform());
  EXPECT_EQ(read("devices", bytes).devices, 4u);
  const JaxExport types = read("types", bytes);
  EXPECT_EQ(Shapes(types, types.arguments), (Texts{"s4[3]", "pred[2]", "f8e4m3fn[2]", "u32[2]"}));
  EXPECT_EQ(read("gradient", bytes).vjp_order, 2u);
  const JaxExport symbolic = read("symbolic", bytes);
  EXPECT_EQ(Shapes(symbolic, symbolic.arguments), (Texts{"f32[a,b]", "f32[2*a + 1]"}));
  EXPECT_TRUE(symbolic.is_symbolic());
  EXPECT_EQ(DimensionVariablesOf(symbolic), (Texts{"a", "b"}));
}

// Every file cut off anywhere, and with every byte replaced by values that make offsets far, is
// read or refused with a reason.
TEST(JaxExportTest, TakesDamagedFiles) {
  for (const std::string name : {"fixed", "symbolic", "gradient"}) {
    const std::string bytes = ReadFixture(name);
    for (size_t size = 0; size < bytes.size(); ++size) {
      const std::string cut(bytes, 0, size);
      const auto read = ReadJaxExport(cut);
      EXPECT_TRUE(read || !read.error().message.empty());
      (void)LooksLikeJaxExport(cut);
    }
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (const char value : {'\x00', '\x01', '\x7f', '\x80', '\xff'}) {
        std::string damaged = bytes;
        damaged[at] = value;
        const auto read = ReadJaxExport(damaged);
        if (!read) {
          EXPECT_FALSE(read.error().message.empty());
          continue;
        }
        (void)ResolveShapes(*read, {{"a", 2}, {"b", 3}}, {});
      }
    }
  }
}

TEST(JaxExportTest, IsRecognisedByItsFirstBytes) {
  const std::string bytes = ReadFixture("fixed");
  const size_t module = bytes.find("ML\xefR");
  EXPECT_TRUE(LooksLikeJaxExport(bytes.substr(0, module + 4)));
  EXPECT_FALSE(LooksLikeJaxExport(bytes.substr(0, module + 3)));
  EXPECT_FALSE(LooksLikeJaxExport(std::string(1000, '\0')));
  EXPECT_FALSE(LooksLikeJaxExport(std::string(1000, '\x04')));
  EXPECT_FALSE(LooksLikeJaxExport(""));
}

TEST(SymbolicShapesTest, ExpressionsAreThoseOfPython) {
  const std::vector<DimensionVariable> variables = {{"a", 7}, {"b", 3}, {"größe", 5}};
  // The values are Python's, with // for floordiv and % for mod.
  const std::pair<std::string_view, int64_t> rows[] = {
      {"4", 4},
      {"a", 7},
      {"2*b + 1", 7},
      {"- b + 2*a", 11},
      {"a*b^2 - 3", 60},
      {"floordiv(- a, 2)", -4},
      {"mod(- a, b)", 2},
      {"mod(a, - b)", -2},
      {"floordiv(a + b, 2)*2 + mod(a + b, 2)", 10},
      {"max(a, b) - min(a, 2*b)", 1},
      {"non_negative(b - a)", 0},
      {"größe + 1", 6},
      {"-1*a^0 + 2", 1},
  };
  for (const auto& [text, value] : rows) {
    const auto got = EvaluateDimension(text, variables);
    ASSERT_TRUE(got.has_value()) << text << ": " << got.error().message;
    EXPECT_EQ(*got, value) << text;
  }
  for (const std::string_view wrong :
       {"", "c", "a +", "a b", "mod(a)", "mod(a, 0)", "floordiv(a, b", "a^99", "a^b", "pow(a, b)",
        "9223372036854775807 + a", "99999999999999999999", "(a)"}) {
    EXPECT_FALSE(EvaluateDimension(wrong, variables).has_value()) << wrong;
  }
  EXPECT_FALSE(EvaluateDimension(std::string(100000, '-'), variables).has_value());
  std::string deep;
  for (int k = 0; k < 100000; ++k) deep += "max(";
  EXPECT_FALSE(EvaluateDimension(deep, variables).has_value());
}

TEST(SymbolicShapesTest, ShapesComeFromVariablesAndArrays) {
  const std::string bytes = ReadFixture("symbolic");  // f32[a,b], f32[2*a + 1]
  const auto read = ReadJaxExport(bytes);
  ASSERT_TRUE(read.has_value());
  const std::vector<Dimensions> expected = {{2, 3}, {5}};
  EXPECT_EQ(ResolveShapes(*read, {{"a", 2}, {"b", 3}}, {}).value_or(std::vector<Dimensions>()),
            expected);
  const std::vector<std::optional<Dimensions>> both = {Dimensions{2, 3}, Dimensions{5}};
  EXPECT_EQ(ResolveShapes(*read, {}, both).value_or(std::vector<Dimensions>()), expected);
  const std::vector<std::optional<Dimensions>> first = {Dimensions{2, 3}};
  EXPECT_EQ(ResolveShapes(*read, {}, first).value_or(std::vector<Dimensions>()), expected);
  const std::vector<std::optional<Dimensions>> last = {std::nullopt, Dimensions{5}};
  EXPECT_EQ(ResolveShapes(*read, {{"a", 2}, {"b", 3}}, last).value_or(std::vector<Dimensions>()),
            expected);

  const auto refused = [&](std::vector<DimensionVariable> variables,
                           const std::vector<std::optional<Dimensions>>& known) {
    const auto shapes = ResolveShapes(*read, std::move(variables), known);
    return shapes ? "" : shapes.error().message;
  };
  EXPECT_EQ(refused({{"a", 2}}, {}), "in0 is f32[a,b]: the dimension variable b has no value");
  EXPECT_EQ(refused({{"a", 2}, {"b", 3}, {"c", 1}}, {}),
            "--shape c=1: there is no such dimension variable");
  EXPECT_EQ(refused({{"a", 4}}, first), "in0: the array is [2,3], expected f32[a,b] with a = 4");
  const std::vector<std::optional<Dimensions>> odd = {Dimensions{2, 3}, Dimensions{6}};
  EXPECT_EQ(refused({}, odd), "in1: the array is [6], expected f32[2*a + 1] with 2*a + 1 = 5");
  const std::vector<std::optional<Dimensions>> flat = {Dimensions{6}};
  EXPECT_EQ(refused({}, flat), "in0: the array is [6], expected f32[a,b]");
}

}  // namespace
}  // namespace hloscope::dump
