// Shapes and layouts: reading, printing, comparing.
#include "core/hlo/shape.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

Parsed<Shape> Read(std::string_view text, const Limits& limits = {}) {
  TextCursor cursor(text);
  Parsed<Shape> shape = ReadShape(cursor, limits);
  if (shape && !cursor.AtEnd()) return std::unexpected(cursor.Expected("the end"));
  return shape;
}

Shape MustRead(std::string_view text) {
  Parsed<Shape> shape = Read(text);
  EXPECT_TRUE(shape) << text << ": " << shape.error().message;
  return shape ? *shape : Shape();
}

TEST(ShapeText, PrintsWhatXlaPrints) {
  const std::pair<const char*, const char*> cases[] = {
      {"f32[]", "f32[]"},
      {"f32[8,128]", "f32[8,128]"},
      {"f32 [ 2 , 3 ] { 1 , 0 }", "f32[2,3]{1,0}"},
      {"f32[?,<=3]{1,0}", "f32[?,<=3]{1,0}"},
      {"f32[02]", "f32[2]"},
      {"f32[]{:S(5)}", "f32[]{:S(5)}"},
      {"f32[]{:}", "f32[]"},
      {"f32[2]{0:S(0)L(1)}", nullptr},
      {"f32[2]{0:L(1)S(0)}", "f32[2]{0}"},
      {"f32[2]{0:D(D,C+)T(8)}", "f32[2]{0:T(8)}"},
      {"f32[2]{0:T()}", "f32[2]{0:T()}"},
      {"f32[2]{0:M(-4)}", "f32[2]{0}"},
      {"f32[2,3]{1,0:T(8,128)(*,2)L(4)#(u32)*(u64)E(4)S(5)SC(1:16,32)(0:3)M(7)}",
       "f32[2,3]{1,0:T(8,128)(*,2)L(4)#(u32)*(u64)E(4)S(5)SC(1:16,32)(0:3)M(7)}"},
      {"token[]", "token[]"},
      {"opaque[]", "opaque[]"},
      {"b(f32[4]{0:S(1)})", "b(f32[4]{0:S(1)})"},
      {"()", "()"},
      {"((),(s4[2]))", "((), (s4[2]))"},
      {"(f32[],f32[],f32[],f32[],f32[],/*x*/f32[2]{0})",
       "(f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[2]{0})"},
      {"token[]{:S(5)}", nullptr},
      {"token[3]", nullptr},
      {"f32[-1]", nullptr},
      {"f32[<=?]", nullptr},
      {"f32[2,]", nullptr},
      {"f32[9223372036854775808]", nullptr},
      {"f32[2]{0:S(5)E(4)}", nullptr},
      {"f32[2]{0:T(-3)}", nullptr},
      {"f32[2]{0:P(f32[2])}", nullptr},
      {"f32[2,2]{0,0}", nullptr},
      {"f32[2]{-1}", nullptr},
      {"f32[2]{:S(5)}", nullptr},
      {"f32[2]{0}{0}", nullptr},
      {"(f32[2],)", nullptr},
      {"(", nullptr},
      {"b(token[])", nullptr},
      {"b(b(f32[]))", nullptr},
      {"b()", nullptr},
      {"tuple[]", nullptr},
      {"F32[2]", nullptr},
      {"", nullptr},
  };
  for (auto [text, expected] : cases) {
    Parsed<Shape> shape = Read(text);
    if (expected == nullptr) {
      EXPECT_FALSE(shape) << text << " read as " << ToString(*shape);
    } else if (shape) {
      EXPECT_EQ(ToString(*shape), expected) << text;
    } else {
      ADD_FAILURE() << text << ": " << shape.error().message;
    }
  }
}

TEST(ShapeText, LeavesABraceThatBeginsNoLayout) {
  TextCursor cursor("f32[2] { ROOT x");
  ASSERT_TRUE(ReadShape(cursor, {}));
  EXPECT_EQ(cursor.Peek(), '{');
}

TEST(ShapeText, ErrorsSayWhatAndWhere) {
  Parsed<Shape> shape = Read("f32[2,-7]");
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().message, "dimension size -7 is negative");
  EXPECT_EQ(shape.error().offset, 6u);
}

TEST(ShapeText, LayoutAloneMayHaveAPhysicalShape) {
  TextCursor cursor("{0:P(f32[3]{0})}");
  Parsed<Layout> layout = ReadLayout(cursor, {});
  ASSERT_TRUE(layout) << layout.error().message;
  std::string out;
  AppendTo(out, *layout);
  EXPECT_EQ(out, "{0:P(f32[3]{0})}");
}

TEST(ShapeText, CountsNestingRankAndArity) {
  Limits limits;
  std::string deep(static_cast<size_t>(limits.nesting), '(');
  std::string closed(deep.size(), ')');
  EXPECT_TRUE(Read(deep + closed));
  EXPECT_FALSE(Read("(" + deep + closed + ")"));
  EXPECT_FALSE(Read(std::string(1'000'000, '(')));
  limits.rank = 2;
  EXPECT_TRUE(Read("f32[1,1]", limits));
  EXPECT_FALSE(Read("f32[1,1,1]", limits));
  limits.tuple_arity = 2;
  EXPECT_TRUE(Read("((),())", limits));
  EXPECT_FALSE(Read("((),(),())", limits));
}

TEST(Shape, DefaultLayoutsReachEveryArray) {
  Shape shape = MustRead("(f32[2,3], (s32[4]{0:S(5)}, token[]), b(f32[5,6]))").WithDefaultLayouts();
  EXPECT_EQ(ToString(shape), "(f32[2,3]{1,0}, (s32[4]{0:S(5)}, token[]), b(f32[5,6]{1,0}))");
  EXPECT_EQ(ToString(shape, false), "(f32[2,3], (s32[4], token[]), b(f32[5,6]))");
  EXPECT_EQ(ToString(shape.WithoutLayouts()), ToString(shape, false));
}

TEST(Shape, CountsAndSizes) {
  EXPECT_EQ(MustRead("(f32[2,3], s4[5], token[], c128[2])").ByteSize(), 24 + 5 + 32);
  EXPECT_EQ(MustRead("f32[0,4611686018427387904,8]").ElementCount(), 0);
  EXPECT_EQ(MustRead("f32[4611686018427387904,8]").ElementCount(), std::nullopt);
  EXPECT_EQ(MustRead("f32[4611686018427387904]").ByteSize(), std::nullopt);
  EXPECT_EQ(MustRead("f32[?]").ElementCount(), std::nullopt);
  EXPECT_EQ(MustRead("f32[<=7]").ElementCount(), 7);
}

TEST(Shape, LeavesInOrder) {
  Shape shape = MustRead("(f32[1], (), ((s32[2], token[])), pred[])");
  std::string seen;
  for (const auto& [index, leaf] : shape.Leaves()) {
    for (int64_t i : index) seen += std::to_string(i);
    seen += ':' + ToString(*leaf) + ' ';
  }
  EXPECT_EQ(seen, "0:f32[1] 200:s32[2] 201:token[] 3:pred[] ");
  EXPECT_EQ(MustRead("f32[1]").LeafCount(), 1u);
  EXPECT_TRUE(MustRead("()").Leaves().empty());
}

TEST(Shape, ElementsKnowTheirLeaves) {
  Shape shape = MustRead("(f32[1], (), ((s32[2], token[])), pred[])");
  const auto leaves = shape.Leaves();
  EXPECT_EQ(shape.LeafCount(), leaves.size());
  const std::vector<const Shape*> shapes = shape.LeafShapes();
  ASSERT_EQ(shapes.size(), leaves.size());
  for (size_t i = 0; i < shapes.size(); ++i) EXPECT_EQ(shapes[i], leaves[i].second);
  const auto range = [&](size_t i) {
    const LeafRange found = shape.ElementLeaves(i);
    return std::pair(found.begin, found.end);
  };
  EXPECT_EQ(range(0), std::pair(size_t{0}, size_t{1}));
  EXPECT_EQ(range(1), std::pair(size_t{1}, size_t{1}));
  EXPECT_EQ(range(2), std::pair(size_t{1}, size_t{3}));
  EXPECT_EQ(range(3), std::pair(size_t{3}, size_t{4}));
  shape.RemoveElement(2);
  EXPECT_EQ(shape.LeafCount(), 2u);
  EXPECT_EQ(range(2), std::pair(size_t{1}, size_t{2}));
  EXPECT_EQ(MustRead("()").LeafCount(), 0u);
  EXPECT_TRUE(MustRead("()").LeafShapes().empty());
}

TEST(Shape, ComparesAsAsked) {
  const ShapeComparison layouts{.layouts = true};
  const ShapeComparison any_type{.element_types = false};
  const ShapeComparison mixed{.float_precision = false};
  const ShapeComparison bounds{.dynamic_dimensions = false};
  const std::tuple<const char*, const char*, ShapeComparison, bool> cases[] = {
      {"f32[2]{0}", "f32[2]", {}, true},
      {"f32[2]{0}", "f32[2]", layouts, false},
      {"f32[2]{0:T(8)}", "f32[2]{0}", layouts, false},
      {"(f32[2], s32[])", "(f32[2], s32[])", {}, true},
      {"(f32[2], (s32[]))", "(f32[2], (u32[]))", {}, false},
      {"(f32[2], (s32[]))", "(f32[2], (u32[]))", any_type, true},
      {"f32[2]", "bf16[2]", mixed, true},
      {"f32[2]", "s32[2]", mixed, false},
      {"f32[<=2]", "f32[2]", {}, false},
      {"f32[<=2]", "f32[2]", bounds, true},
      {"f32[?]", "f32[2]", bounds, true},
      {"f32[3]", "f32[2]", bounds, false},
      {"f32[]", "()", any_type, false},
      {"token[]", "opaque[]", any_type, false},
      {"b(f32[2])", "b(f32[3])", {}, false},
  };
  for (const auto& [a, b, how, expected] : cases) {
    EXPECT_EQ(Compatible(MustRead(a), MustRead(b), how), expected) << a << " and " << b;
  }
}

TEST(Shape, EqualShapesHashAlike) {
  const char* texts[] = {"f32[2]", "f32[<=2]", "f32[2]{0}",     "f32[2]{0:S(1)}",
                         "s32[2]", "(f32[2])", "((f32[2]))",    "f32[]",
                         "()",     "f32[2,1]", "f32[2,1]{1,0}", "f32[2,1]{0,1}"};
  for (const char* a : texts) {
    for (const char* b : texts) {
      bool same = std::string_view(a) == b;
      EXPECT_EQ(MustRead(a) == MustRead(b), same) << a << " " << b;
      EXPECT_EQ(MustRead(a).Hash() == MustRead(b).Hash(), same) << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace hloscope::hlo
