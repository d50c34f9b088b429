// Tests of made-up inputs: each row is a module and what must hold of one of its parameters.
#include "core/replay/inputs/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "core/eval/numbers/wide.h"
#include "core/hlo/text/text.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;

std::shared_ptr<const hlo::Module> Parse(const std::string& body) {
  const std::string text = body.find("ENTRY") != std::string::npos
                               ? "HloModule m\n" + body
                               : "HloModule m\nENTRY e {\n" + body + "\n}\n";
  hlo::ParseResult parsed = hlo::ParseText(text);
  for (const hlo::Diagnostic& d : parsed.diagnostics) ADD_FAILURE() << d.message << "\n" << text;
  return parsed.module;
}

GeneratedInputs Make(const std::string& body, uint64_t seed = 1, bool large = false) {
  InputOptions options;
  options.seed = seed;
  options.large_floats = large;
  const auto module = Parse(body);
  if (module == nullptr) return {};
  auto inputs = MakeInputs(*module, options);
  EXPECT_TRUE(inputs.has_value());
  return inputs.has_value() ? *std::move(inputs) : GeneratedInputs();
}

std::vector<double> Values(const Literal& literal) {
  const auto type = literal.shape().element_type();
  std::vector<double> values(literal.bytes().size() / static_cast<size_t>(hlo::StorageBytes(type)));
  eval::LoadAs<double>(type, literal.bytes().data(), values.data(), std::ssize(values));
  return values;
}

using Check = std::function<bool(const std::vector<double>&)>;
Check Within(double low, double high) {
  return [=](const auto& values) {
    return std::ranges::all_of(values, [=](double v) { return low <= v && v <= high; });
  };
}
Check All(double value) { return Within(value, value); }
bool IsDistinct(const std::vector<double>& values) {
  return std::set<double>(values.begin(), values.end()).size() == values.size();
}
bool IsSorted(const std::vector<double>& values) { return std::ranges::is_sorted(values); }
bool HasNoZero(const std::vector<double>& values) {
  return std::ranges::find(values, 0.0) == values.end();
}

constexpr char kReducers[] = R"(
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] maximum(a, b) }
last { a = f32[] parameter(0) ROOT b = f32[] parameter(1) }
less { a = f32[] parameter(0) b = f32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)
  ROOT s = pred[] compare(a, b), direction=LT }
)";

TEST(MakeInputs, SatisfiesTheConstraintsOfUses) {
  const double inf = std::numeric_limits<double>::infinity();
  struct Row {
    const char* what;
    std::string body;
    size_t parameter;
    Check holds;
  };
  const std::string reducers = kReducers;
  const Row rows[] = {
      {"nothing asked", "ROOT p = f32[100] parameter(0)", 0, Within(-0.1, 0.2)},
      {"index of dynamic-slice out of an asynchronous chain that a barrier hands on",
       "copied { q = s32[] parameter(0) ROOT c = s32[] copy(q) }\n"
       "ENTRY e {\n  x = f32[10] parameter(0)\n  p = s32[] parameter(1)\n"
       "  start = ((s32[]), s32[], s32[]) async-start(p), calls=copied\n"
       "  kept = ((s32[]), s32[], s32[]) opt-barrier(start)\n"
       "  at = s32[] async-done(kept)\n"
       "  ROOT r = f32[8] dynamic-slice(x, at), dynamic_slice_sizes={8}\n}\n",
       1, Within(0, 2)},
      {"index of dynamic-slice through convert and reshape",
       "x = f32[10] parameter(0) i = s8[1] parameter(1) c = s32[1] convert(i) r = s32[] "
       "reshape(c)\n"
       "ROOT d = f32[4] dynamic-slice(x, r), dynamic_slice_sizes={4}",
       1, Within(0, 6)},
      {"index plus a number",
       "x = f32[10] parameter(0) i = s32[] parameter(1) c = s32[] constant(3)\n"
       "s = s32[] add(i, c) ROOT d = f32[4] dynamic-slice(x, s), dynamic_slice_sizes={4}",
       1, Within(-3, 3)},
      {"index that may count from the end",
       "x = f32[10] parameter(0) i = s32[] parameter(1) z = s32[] constant(0) n = s32[] "
       "constant(10)\n"
       "l = pred[] compare(i, z), direction=LT s = s32[] add(i, n) w = s32[] select(l, s, i)\n"
       "ROOT d = f32[1] dynamic-slice(x, w), dynamic_slice_sizes={1}",
       1, Within(0, 9)},
      {"sorted gather indices",
       "x = f32[100] parameter(0) i = s32[50,1] parameter(1) ROOT g = f32[50] gather(x, i),\n"
       "offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1,\n"
       "slice_sizes={1}, indices_are_sorted=true",
       1, [](const auto& v) { return IsSorted(v) && Within(0, 99)(v) && v.front() != v.back(); }},
      {"unique scatter indices",
       reducers +
           "ENTRY e { x = f32[60] parameter(0) i = s32[50,1] parameter(1)\n"
           "u = f32[50] parameter(2) ROOT s = f32[60] scatter(x, i, u), update_window_dims={},\n"
           "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1,\n"
           "unique_indices=true, to_apply=add }",
       1, [](const auto& v) { return IsDistinct(v) && Within(0, 59)(v); }},
      {"scatter whose order would show",
       reducers +
           "ENTRY e { x = f32[60] parameter(0) i = s32[50,1] parameter(1)\n"
           "u = f32[50] parameter(2) ROOT s = f32[60] scatter(x, i, u), update_window_dims={},\n"
           "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1,\n"
           "to_apply=last }",
       1, IsDistinct},
      {"initial value of a sum",
       reducers + "ENTRY e { x = f32[60] parameter(0) i = f32[] parameter(1)\n"
                  "ROOT r = f32[] reduce(x, i), dimensions={0}, to_apply=add }",
       1, All(0)},
      {"initial value of a maximum",
       reducers + "ENTRY e { x = f32[60] parameter(0) i = f32[] parameter(1)\n"
                  "ROOT r = f32[] reduce(x, i), dimensions={0}, to_apply=max }",
       1, All(-inf)},
      {"sort keys narrowed on the way",
       reducers + "ENTRY e { x = f32[300] parameter(0) v = s32[300] parameter(1)\n"
                  "n = bf16[300] convert(x) k = f32[300] convert(n)\n"
                  "ROOT s = (f32[300], s32[300]) sort(k, v), dimensions={0}, to_apply=less }",
       0, IsDistinct},
      {"argument of log", "x = bf16[100] parameter(0) ROOT l = bf16[100] log(x)", 0,
       Within(0.009, 1)},
      {"argument of log behind a fusion",
       "f { p = f32[9] parameter(0) ROOT l = f32[9] log(p) }\n"
       "ENTRY e { x = f32[9] parameter(0) n = f32[9] negate(x)\n"
       "ROOT r = f32[9] fusion(n), kind=kLoop, calls=f }",
       0, Within(-1, -0.009)},
      {"divisor", "x = s8[200] parameter(0) y = s8[200] parameter(1) ROOT d = s8[200] divide(x, y)",
       1, HasNoZero},
      {"bound of a loop",
       "c { t = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(t), index=0\n"
       "n = s32[] get-tuple-element(t), index=1 ROOT l = pred[] compare(i, n), direction=LT }\n"
       "b { t = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(t), index=0\n"
       "n = s32[] get-tuple-element(t), index=1 o = s32[] constant(1) j = s32[] add(i, o)\n"
       "ROOT r = (s32[], s32[]) tuple(j, n) }\n"
       "ENTRY e { z = s32[] constant(5) n = s32[] parameter(0) t = (s32[], s32[]) tuple(z, n)\n"
       "ROOT w = (s32[], s32[]) while(t), condition=c, body=b }",
       0, Within(5, 13)},
      {"loop whose counter and bound move together",
       "c { t = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(t), index=0\n"
       "n = s32[] get-tuple-element(t), index=1 ROOT l = pred[] compare(i, n), direction=LT }\n"
       "b { t = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(t), index=0\n"
       "n = s32[] get-tuple-element(t), index=1 o = s32[] constant(1) j = s32[] add(i, o)\n"
       "m = s32[] add(n, o) ROOT r = (s32[], s32[]) tuple(j, m) }\n"
       "ENTRY e { z = s32[] constant(5) n = s32[] parameter(0) t = (s32[], s32[]) tuple(z, n)\n"
       "ROOT w = (s32[], s32[]) while(t), condition=c, body=b }",
       0, Within(-5, 5)},
      {"branch of a conditional",
       "t { ROOT p = f32[] parameter(0) }\nf { q = f32[] parameter(0) ROOT n = f32[] negate(q) }\n"
       "ENTRY e { i = s32[] parameter(0) x = f32[] parameter(1)\n"
       "ROOT c = f32[] conditional(i, x, x), branch_computations={t, f} }",
       0, Within(0, 1)},
      {"group sizes",
       "x = f32[20,4] parameter(0) y = f32[3,4,5] parameter(1) g = s32[3] parameter(2)\n"
       "ROOT d = f32[20,5] ragged-dot(x, y, g), lhs_contracting_dims={1},\n"
       "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}",
       2, [](const auto& v) { return Within(0, 20)(v) && v[0] + v[1] + v[2] <= 20; }},
      {"size of a dynamic dimension",
       "x = f32[20] parameter(0) n = s32[] parameter(1)\n"
       "ROOT s = f32[<=20] set-dimension-size(x, n), dimensions={0}",
       1, Within(1, 20)},
      {"positive definite matrix",
       "x = f32[2,2] parameter(0) ROOT c = f32[2,2] cholesky(x), lower=true", 0,
       [](const auto& v) { return v[1] == v[2] && v[0] > 0 && v[0] * v[3] > v[1] * v[2]; }},
      {"triangular matrix",
       "x = f32[2,2] parameter(0) y = f32[2,3] parameter(1) ROOT c = f32[2,3] triangular-solve(x, "
       "y),\n"
       "left_side=true, lower=true, transpose_a=NO_TRANSPOSE",
       0, [](const auto& v) { return v[0] >= 1 && v[3] >= 1; }},
  };
  for (const Row& row : rows) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const GeneratedInputs inputs = Make(row.body, seed);
      ASSERT_GT(inputs.literals.size(), row.parameter) << row.what;
      const std::vector<double> values = Values(inputs.literals[row.parameter]);
      EXPECT_TRUE(row.holds(values)) << row.what << ": " << ::testing::PrintToString(values);
      EXPECT_TRUE(inputs.warnings.empty()) << row.what << ": " << inputs.warnings[0];
    }
  }
}

TEST(MakeInputs, TakesTheTighterOfUsesThatExcludeOneAnother) {
  const GeneratedInputs inputs = Make(
      "x = f32[10] parameter(0) i = s32[] parameter(1) c = s32[] constant(-20)\n"
      "j = s32[] add(i, c) a = f32[8] dynamic-slice(x, i), dynamic_slice_sizes={8}\n"
      "b = f32[1] dynamic-slice(x, j), dynamic_slice_sizes={1}\n"
      "ROOT t = (f32[8], f32[1]) tuple(a, b)");
  EXPECT_EQ(inputs.warnings.size(), 1u);
  EXPECT_TRUE(Within(0, 2)(Values(inputs.literals[1])));
}

TEST(MakeInputs, SaysHowMuchInputsTakeThatAreTooLarge) {
  const auto module = Parse(R"(
    a = f32[1024,1024] parameter(0)
    b = (f32[1024], s8[4096]) parameter(1)
    ROOT r = f32[1024,1024] negate(a))");
  InputOptions options;
  options.limits.archive_bytes = (4 << 20) + 8191;
  const auto too_large = MakeInputs(*module, options);
  ASSERT_FALSE(too_large.has_value());
  EXPECT_NE(too_large.error().message.find("need 4202496 bytes"), std::string::npos);
  ++options.limits.archive_bytes;
  EXPECT_TRUE(MakeInputs(*module, options).has_value());
  options.limits.tensor_bytes = 4 << 20;
  EXPECT_TRUE(MakeInputs(*module, options).has_value());
  --options.limits.tensor_bytes;
  EXPECT_FALSE(MakeInputs(*module, options).has_value());
}

TEST(MakeInputs, DependsOnTheSeedAlone) {
  const char* body =
      "x = f32[64] parameter(0) y = s64[8] parameter(1) z = c64[8] parameter(2)\n"
      "ROOT t = (f32[64], s64[8], c64[8]) tuple(x, y, z)";
  EXPECT_EQ(Make(body, 3).literals, Make(body, 3).literals);
  EXPECT_NE(Make(body, 3).literals, Make(body, 4).literals);
  // These bits are the same on every machine.
  EXPECT_EQ(Values(Make("ROOT p = f64[1] parameter(0)", 1).literals[0])[0], -0.049786372976425686);
  EXPECT_EQ(Values(Make("ROOT p = s32[2] parameter(0)", 1).literals[0]),
            (std::vector<double>{1142369217, 1321047739}));
}

TEST(MakeInputs, LargeFloatsReachOverTheWholeRange) {
  const auto values = Values(Make("ROOT p = f32[1000] parameter(0)", 1, true).literals[0]);
  const auto beyond = [&](double low, double high) {
    return std::ranges::count_if(
        values, [=](double v) { return low <= std::abs(v) && std::abs(v) <= high; });
  };
  EXPECT_GT(beyond(1e30, 4e38), 50);
  EXPECT_GT(beyond(1e-38, 1e-30), 50);
}

TEST(MakeInputs, EdgeValuesAreTriedWhereNothingBreaks) {
  InputOptions options;
  options.seed = 3;
  options.edge_values = true;
  const auto module = Parse(R"(
less {
  s = (s32[], s32[], f32[256]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  ROOT c = pred[] compare(i, n), direction=LT
}
step {
  s = (s32[], s32[], f32[256]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  n = s32[] get-tuple-element(s), index=1
  v = f32[256] get-tuple-element(s), index=2
  ROOT t = (s32[], s32[], f32[256]) tuple(j, n, v)
}
ENTRY e {
  x = f32[256] parameter(0)
  at = s32[50,1] parameter(1)
  trips = s32[] parameter(2)
  up = s32[40] parameter(3)
  zero = s32[] constant(0)
  start = (s32[], s32[], f32[256]) tuple(zero, trips, x)
  w = (s32[], s32[], f32[256]) while(start), condition=less, body=step
  g = f32[50] gather(x, at), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0},
    index_vector_dim=1, slice_sizes={1}
  h = f32[40] gather(x, up), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0},
    index_vector_dim=1, slice_sizes={1}, indices_are_sorted=true
  ROOT r = ((s32[], s32[], f32[256]), f32[50], f32[40]) tuple(w, g, h)
})");
  const auto inputs = MakeInputs(*module, options);
  ASSERT_TRUE(inputs.has_value());
  const std::vector<double> x = Values(inputs->literals[0]), at = Values(inputs->literals[1]);
  EXPECT_TRUE(std::ranges::any_of(x, [](double v) { return std::isnan(v); }));
  EXPECT_TRUE(std::ranges::any_of(x, [](double v) { return std::isinf(v); }));
  EXPECT_TRUE(std::ranges::any_of(x, [](double v) { return v != 0 && std::abs(v) < 0x1p-126; }));
  EXPECT_TRUE(std::ranges::find(at, 256) != at.end());
  EXPECT_TRUE(std::ranges::find(at, -1) != at.end());
  EXPECT_GT(std::ranges::count_if(at, [](double v) { return 0 <= v && v < 256; }), 25);
  // A loop that ends, and what the module promises of its indices.
  EXPECT_TRUE(Within(0, 1000)(Values(inputs->literals[2])));
  EXPECT_TRUE(IsSorted(Values(inputs->literals[3])));
  EXPECT_TRUE(Within(0, 255)(Values(inputs->literals[3])));
}

TEST(MakeInputs, EqualBoundsGetEqualLiveSizes) {
  const auto inputs =
      Make("x = f32[<=100] parameter(0) y = f32[<=100] parameter(1) ROOT s = f32[<=100] add(x, y)");
  ASSERT_EQ(inputs.literals.size(), 2u);
  ASSERT_EQ(inputs.literals[0].dynamic_sizes().size(), 1u);
  EXPECT_EQ(inputs.literals[0].dynamic_sizes()[0], inputs.literals[1].dynamic_sizes()[0]);
}

// Which use stands first does not matter, and the warning names what is satisfied.
TEST(Inputs, DoNotDependOnTheOrderOfInstructions) {
  const std::string reducers =
      "add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b)\n}\n"
      "mul {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] multiply(a, "
      "b)\n}\n";
  const std::string sum = "  s = f32[] reduce(p, z), dimensions={0}, to_apply=add\n";
  const std::string product = "  m = f32[] reduce(p, z), dimensions={0}, to_apply=mul\n";
  const auto module = [&](const std::string& first, const std::string& second) {
    return reducers + "ENTRY e {\n  p = f32[4] parameter(0)\n  z = f32[] parameter(1)\n" + first +
           second + "  ROOT t = (f32[], f32[]) tuple(s, m)\n}\n";
  };
  const GeneratedInputs a = Make(module(sum, product)), b = Make(module(product, sum));
  ASSERT_EQ(a.literals.size(), 2u);
  EXPECT_EQ(Values(a.literals[1]), Values(b.literals[1]));
  EXPECT_EQ(Values(a.literals[0]), Values(b.literals[0]));
  EXPECT_EQ(a.warnings, b.warnings);
  EXPECT_EQ(a.warnings, std::vector<std::string>{"constraints on generated inputs conflict: z: "
                                                 "[0, 0] and [1, 1]; [0, 0] is satisfied"});
}

// Three uses that exclude one another in pairs, in every order.
TEST(Inputs, OfThreeUsesTheSameAreSatisfied) {
  std::vector<std::string> uses = {"  a = f32[4] dynamic-slice(x, i), dynamic_slice_sizes={4}\n",
                                   "  b = f32[2] dynamic-slice(y, i), dynamic_slice_sizes={2}\n",
                                   "  c = s32[] divide(one, i)\n"};
  std::ranges::sort(uses);
  std::set<std::vector<double>> seen;
  do {
    seen.insert(Values(Make("  x = f32[8] parameter(0)\n  y = f32[4] parameter(1)\n  i = s32[] "
                            "parameter(2)\n  one = s32[] constant(1)\n" +
                            uses[0] + uses[1] + uses[2] +
                            "  ROOT t = (f32[4], f32[2], s32[]) tuple(a, b, c)")
                           .literals[2]));
  } while (std::ranges::next_permutation(uses).found);
  EXPECT_EQ(seen.size(), 1u);
}

}  // namespace
}  // namespace hloscope::replay
