// Tests of the rules of algebraic simplification, each by what it makes of a small module.
#include <gtest/gtest.h>

#include <string>

#include "tests/compile/expression.h"

namespace hloscope::compile {
namespace {

struct RuleCase {
  const char*
      body;  // of the entry; parameters x, y: f32[4,6]; i, j: s32[4,6]; u: u32[4,6]; p: pred[4,6]
  const char* expected;
};

// Rules that must fit, then cases in which none may.
const RuleCase kCases[] = {
    {"z = f32[] constant(-0.0) b = f32[4,6] broadcast(z), dimensions={} ROOT r = f32[4,6] add(x, "
     "b)",
     "x"},
    {"z = f32[] constant(0) b = f32[4,6] broadcast(z), dimensions={} ROOT r = f32[4,6] add(x, b)",
     "add(x, broadcast{}(0))"},
    {"z = f32[] constant(0) b = f32[4,6] broadcast(z), dimensions={} ROOT r = f32[4,6] subtract(x, "
     "b)",
     "x"},
    {"z = s32[] constant(0) b = s32[4,6] broadcast(z), dimensions={} ROOT r = s32[4,6] add(b, i)",
     "i"},
    {"z = f32[] constant(1) b = f32[4,6] broadcast(z), dimensions={} ROOT r = f32[4,6] multiply(b, "
     "x)",
     "x"},
    {"z = s32[] constant(0) b = s32[4,6] broadcast(z), dimensions={} ROOT r = s32[4,6] multiply(i, "
     "b)",
     "broadcast{}(0)"},
    {"z = f32[] constant(0) b = f32[4,6] broadcast(z), dimensions={} ROOT r = f32[4,6] multiply(x, "
     "b)",
     "multiply(x, broadcast{}(0))"},
    {"z = f32[] constant(8) b = f32[4,6] broadcast(z), dimensions={} ROOT r = f32[4,6] divide(x, "
     "b)",
     "multiply(x, broadcast{}(0.125))"},
    {"z = f32[] constant(3) b = f32[4,6] broadcast(z), dimensions={} ROOT r = f32[4,6] divide(x, "
     "b)",
     "divide(x, broadcast{}(3))"},
    {"z = u32[] constant(8) b = u32[4,6] broadcast(z), dimensions={} ROOT r = u32[4,6] divide(u, "
     "b)",
     "shift-right-logical(u, broadcast{}(3))"},
    {"z = s32[] constant(8) b = s32[4,6] broadcast(z), dimensions={} ROOT r = s32[4,6] divide(i, "
     "b)",
     "divide(i, broadcast{}(8))"},
    {"z = u32[] constant(8) b = u32[4,6] broadcast(z), dimensions={} ROOT r = u32[4,6] "
     "remainder(u, "
     "b)",
     "and(u, broadcast{}(7))"},
    {"z = f32[] constant(2) b = f32[4,6] broadcast(z), dimensions={} ROOT r = f32[4,6] power(x, b)",
     "multiply(x, x)"},
    {"n = f32[4,6] negate(x) ROOT r = f32[4,6] negate(n)", "x"},
    {"n = pred[4,6] not(p) ROOT r = pred[4,6] not(n)", "p"},
    {"n = f32[4,6] negate(x) ROOT r = f32[4,6] abs(n)", "abs(x)"},
    {"ROOT r = f32[4,6] maximum(x, x)", "x"},
    {"z = f32[] constant(-inf) b = f32[4,6] broadcast(z), dimensions={} ROOT r = f32[4,6] "
     "maximum(x, b)",
     "x"},
    {"ROOT r = s32[4,6] subtract(i, i)", "broadcast{}(0)"},
    {"ROOT r = f32[4,6] subtract(x, x)", "subtract(x, x)"},
    {"ROOT r = pred[4,6] compare(i, i), direction=LE", "broadcast{}(true)"},
    {"ROOT r = pred[4,6] compare(x, x), direction=EQ", "compare{EQ}(x, x)"},
    {"z = pred[] constant(true) b = pred[4,6] broadcast(z), dimensions={} ROOT r = pred[4,6] "
     "and(p, "
     "b)",
     "p"},
    {"z = s32[] constant(-1) b = s32[4,6] broadcast(z), dimensions={} ROOT r = s32[4,6] or(i, b)",
     "broadcast{}(-1)"},
    {"z = pred[] constant(false) b = pred[4,6] broadcast(z), dimensions={} ROOT r = f32[4,6] "
     "select(b, x, y)",
     "y"},
    {"n = pred[4,6] not(p) ROOT r = f32[4,6] select(n, x, y)", "select(p, y, x)"},
    {"ROOT r = f32[4,6] select(p, x, x)", "x"},
    {"w = f64[4,6] convert(x) ROOT r = f32[4,6] convert(w)", "x"},
    {"w = bf16[4,6] convert(x) ROOT r = f32[4,6] convert(w)",
     "convert f32[4,6](convert bf16[4,6](x))"},
    {"w = s64[4,6] convert(i) ROOT r = f32[4,6] convert(w)", "convert f32[4,6](i)"},
    {"w = f32[4,6] convert(i) ROOT r = s32[4,6] convert(w)",
     "convert s32[4,6](convert f32[4,6](i))"},
    {"w = f64[4,6] convert(i) ROOT r = s64[4,6] convert(w)", "convert s64[4,6](i)"},
    {"w = f64[4,6] convert(i) ROOT r = u32[4,6] convert(w)",
     "convert u32[4,6](convert f64[4,6](i))"},
    {"w = f64[4,6] convert(i) ROOT r = s8[4,6] convert(w)", "convert s8[4,6](convert f64[4,6](i))"},
    {"w = s32[4,6] bitcast-convert(x) ROOT r = u32[4,6] bitcast-convert(w)", "bitcast-convert(x)"},
    {"w = f32[24] reshape(x) ROOT r = f32[4,6] reshape(w)", "x"},
    {"w = f32[24] reshape(x) ROOT r = f32[2,12] reshape(w)", "reshape(x)"},
    {"w = f32[6,4] transpose(x), dimensions={1,0} ROOT r = f32[4,6] transpose(w), dimensions={1,0}",
     "x"},
    {"w = f32[4,1,6] reshape(x) ROOT r = f32[4,6,1] transpose(w), dimensions={0,2,1}",
     "reshape(x)"},
    {"b = f32[4,6,2] broadcast(x), dimensions={0,1} ROOT r = f32[2,4,6] transpose(b), "
     "dimensions={2,0,1}",
     "broadcast{1,2}(x)"},
    {"b = f32[3,4,6] broadcast(x), dimensions={1,2} ROOT r = f32[3,7,4,6] broadcast(b), "
     "dimensions={0,2,3}",
     "broadcast{2,3}(x)"},
    {"ROOT r = f32[4,6] broadcast(x), dimensions={0,1}", "x"},
    {"ROOT r = f32[1,4,6] broadcast(x), dimensions={1,2}", "reshape(x)"},
    {"w = f32[4,1,6] reshape(x) ROOT r = f32[4,1,6,9] broadcast(w), dimensions={0,1,2}",
     "broadcast{0,2}(x)"},
    {"b = f32[4,6,9] broadcast(x), dimensions={0,1} ROOT r = f32[4,6,9] exponential(b)",
     "broadcast{0,1}(exponential(x))"},
    {"b = f32[4,6,9] broadcast(x), dimensions={0,1} z = f32[] constant(3) c = f32[4,6,9] "
     "broadcast(z), dimensions={} ROOT r = f32[4,6,9] multiply(b, c)",
     "broadcast{0,1}(multiply(x, broadcast{}(3)))"},
    {"b = f32[4,6,4] broadcast(x), dimensions={0,1} c = f32[4,6,4] broadcast(x), dimensions={2,1} "
     "ROOT r = f32[4,6,4] multiply(b, c)",
     "multiply(broadcast{0,1}(x), broadcast{2,1}(x))"},
    {"w = f32[4,6,1] reshape(x) ROOT r = f32[4,6,1] exponential(w)", "reshape(exponential(x))"},
    {"ROOT r = f32[4,6] slice(x), slice={[0:4], [0:6]}", "x"},
    {"s = f32[3,3] slice(x), slice={[1:4], [0:6:2]} ROOT r = f32[1,2] slice(s), slice={[1:2], "
     "[1:3]}",
     "slice{2,3,1,2,5,2}(x)"},
    {"c = f32[8,6] concatenate(x, y), dimensions={0} ROOT r = f32[2,6] slice(c), slice={[5:7], "
     "[0:6]}",
     "slice{1,3,1,0,6,1}(y)"},
    {"z = s32[] constant(9) o = s32[] constant(-3) ROOT r = f32[1,6] dynamic-slice(x, z, o), "
     "dynamic_slice_sizes={1,6}",
     "slice{3,4,1,0,6,1}(x)"},
    {"z = s32[] constant(1) ROOT r = f32[4,6] dynamic-update-slice(x, y, z, z)", "y"},
    {"z = f32[] constant(5) ROOT r = f32[4,6] pad(x, z), padding=0_0x0_0", "x"},
    {"z = f32[] constant(5) ROOT r = f32[3,5] pad(x, z), padding=-1_0x0_-1",
     "slice{1,4,1,0,5,1}(x)"},
    {"ROOT r = f32[4,6] concatenate(x), dimensions={1}", "x"},
    {"c = f32[8,6] concatenate(x, y), dimensions={0} ROOT r = f32[12,6] concatenate(c, x), "
     "dimensions={0}",
     "concatenate{0}(x, y, x)"},
    {"w = f32[4,6] reverse(x), dimensions={0,1} ROOT r = f32[4,6] reverse(w), dimensions={1,0}",
     "x"},
    {"w = f32[4,1,6] reshape(x) z = f32[] constant(-0.0) ROOT r = f32[4,6] reduce(w, z), "
     "dimensions={1}, to_apply=sum",
     "x"},
    {"w = f32[4,1,6] reshape(x) z = f32[] constant(0) ROOT r = f32[4,6] reduce(w, z), "
     "dimensions={1}, to_apply=sum",
     "add(broadcast{}(0), x)"},
    {"t = (f32[4,6], s32[4,6]) tuple(x, i) ROOT r = s32[4,6] get-tuple-element(t), index=1", "i"},
    {"t = (f32[4,6], s32[4,6]) tuple(x, i) o = (f32[4,6], s32[4,6]) opt-barrier(t) a = f32[4,6] "
     "get-tuple-element(o), index=0 b = s32[4,6] get-tuple-element(o), index=1 ROOT r = (f32[4,6], "
     "s32[4,6]) tuple(a, b)",
     "opt-barrier(tuple(x, i))"},
    {"ROOT r = f32[4,6] while(x), condition=never, body=twice", "x"},
    {"t = f32[6,4] transpose(x), dimensions={1,0} ROOT r = f32[6,6] dot(t, y), "
     "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "dot{0}{0}(x, y)"},
    {"d = f32[6,6] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0} ROOT r = f32[6,6] "
     "transpose(d), dimensions={1,0}",
     "dot{0}{0}(y, x)"},
    {"a = f32[3,6] slice(x), slice={[1:4], [0:6]} n = f32[3,6] negate(a) z = s32[] constant(0) "
     "ROOT r = f32[4,6] dynamic-update-slice(x, n, z, z)",
     "select(pad{0,1,0,0,0,0}(broadcast{}(true), false), "
     "pad{0,1,0,0,0,0}(negate(slice{1,4,1,0,6,1}(x)), "
     "0), x)"},
    {"a = f32[1,6] slice(x), slice={[1:2], [0:6]} n = f32[1,6] negate(a) z = s32[] constant(0) "
     "ROOT r = f32[4,6] dynamic-update-slice(x, n, z, z)",
     "dynamic-update-slice(x, negate(slice{1,2,1,0,6,1}(x)), 0, 0)"},
    {"a = f32[3,6] slice(y), slice={[1:4], [0:6]} z = s32[] constant(0) "
     "ROOT r = f32[4,6] dynamic-update-slice(x, a, z, z)",
     "dynamic-update-slice(x, slice{1,4,1,0,6,1}(y), 0, 0)"},
    {"k = s32[2] constant({1,2}) v = f32[2,3] slice(y), slice={[0:2], [0:3]} ROOT r = f32[4,6] "
     "scatter(x, k, v), update_window_dims={0,1}, inserted_window_dims={}, "
     "scatter_dims_to_operand_dims={0,1}, index_vector_dim=0, to_apply=second",
     "dynamic-update-slice(x, slice{0,2,1,0,3,1}(y), 1, 2)"},
    {"o = s32[] constant(1) k = s32[1] broadcast(o), dimensions={} v = f32[1,6] slice(y), "
     "slice={[0:1], [0:6]} w = f32[6] reshape(v) ROOT r = f32[4,6] scatter(x, k, w), "
     "update_window_dims={0}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=0, to_apply=sum",
     "dynamic-update-slice(x, add(slice{1,2,1,0,6,1}(x), slice{0,1,1,0,6,1}(y)), 1, 0)"},
    {"k = s32[2] constant({3,2}) v = f32[2,3] slice(y), slice={[0:2], [0:3]} ROOT r = f32[4,6] "
     "scatter(x, k, v), update_window_dims={0,1}, inserted_window_dims={}, "
     "scatter_dims_to_operand_dims={0,1}, index_vector_dim=0, to_apply=second",
     "scatter{}{0,1}{0,1}(x, {3, 2}, slice{0,2,1,0,3,1}(y))"},
    // Two windows, and a computation that rounds.
    {"k = s32[2,0] constant({{}, {}}) w = f32[2,4,6] broadcast(y), dimensions={1,2} ROOT r = "
     "f32[4,6] scatter(x, k, w), update_window_dims={1,2}, inserted_window_dims={}, "
     "scatter_dims_to_operand_dims={}, index_vector_dim=1, to_apply=sum",
     "scatter{}{}{1,2}(x, { {}, {} }, broadcast{1,2}(y))"},
    {"k = s32[2] constant({1,2}) v = f32[2,3] slice(y), slice={[0:2], [0:3]} ROOT r = f32[4,6] "
     "scatter(x, k, v), update_window_dims={0,1}, inserted_window_dims={}, "
     "scatter_dims_to_operand_dims={0,1}, index_vector_dim=0, to_apply=narrow",
     "scatter{}{0,1}{0,1}(x, {1, 2}, slice{0,2,1,0,3,1}(y))"},
    {"k = s32[2] constant({1,2}) v = f32[2,3] slice(y), slice={[0:2], [0:3]} ROOT r = f32[4,6] "
     "scatter(x, k, v), update_window_dims={0,1}, inserted_window_dims={}, "
     "scatter_dims_to_operand_dims={0,1}, index_vector_dim=0, to_apply=turned",
     "scatter{}{0,1}{0,1}(x, {1, 2}, slice{0,2,1,0,3,1}(y))"},
    {"a = f32[3,6] slice(x), slice={[1:4], [0:6]} n = f32[3,6] negate(a) z = s32[] constant(9) "
     "ROOT r = f32[4,6] dynamic-update-slice(x, n, z, z)",
     "select(pad{1,0,0,0,0,0}(broadcast{}(true), false), pad{1,0,0,0,0,0}(negate(slice{1,4,1,0,6,"
     "1}(x)), 0), x)"},
};

TEST(Simplify, Rules) {
  for (const RuleCase& each : kCases) {
    std::string text = R"(HloModule m
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
narrow { a = f16[] parameter(0) b = f16[] parameter(1) ROOT s = f16[] add(a, b) }
turned { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] subtract(b, a) }
second { a = f32[] parameter(0) ROOT b = f32[] parameter(1) }
never { a = f32[4,6] parameter(0) ROOT c = pred[] constant(false) }
twice { a = f32[4,6] parameter(0) ROOT s = f32[4,6] add(a, a) }
ENTRY e {
  x = f32[4,6] parameter(0) y = f32[4,6] parameter(1) i = s32[4,6] parameter(2)
  j = s32[4,6] parameter(3) u = u32[4,6] parameter(4) p = pred[4,6] parameter(5)
)";
    text += std::string(each.body) + "\n}";
    EXPECT_EQ(Expression(*AfterPass("algebraic-simplification", text)), each.expected) << each.body;
  }
}

}  // namespace
}  // namespace hloscope::compile
