// Tests of what can stand inside a kernel and what a kernel can be.
#include "core/compile/kernel_rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/compile/library_rules.h"
#include "core/compile/ordered_choice.h"
#include "tests/hlo/parsed.h"

namespace hloscope::compile {
namespace {

using hlo::InstructionId;
using hlo::Module;
using hlo::Named;
using hlo::Parsed;

constexpr const char* kText = R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
mixed { a = f32[] parameter(0) b = f32[] parameter(1) c = f16[] convert(a) d = f16[] convert(b) e = f16[] add(c, d) ROOT s = f32[] convert(e) }
pair {
  a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)
  lt = pred[] compare(a, b), direction=LT
  v = f32[] select(lt, a, b) w = s32[] select(lt, i, j)
  ROOT t = (f32[], s32[]) tuple(v, w)
}
deep { a = f32[] parameter(0) v = f32[4] broadcast(a), dimensions={} z = f32[] constant(0) ROOT s = f32[] reduce(v, z), dimensions={0}, to_apply=add }
sum_exp { p = f32[4,8] parameter(0) e = f32[4,8] exponential(p) z = f32[] constant(0) ROOT r = f32[4] reduce(e, z), dimensions={1}, to_apply=add }
middle { p = f32[4,8] parameter(0) z = f32[] constant(0) r = f32[4] reduce(p, z), dimensions={1}, to_apply=add ROOT e = f32[4] exponential(r) }
two { p = f32[4,8] parameter(0) z = f32[] constant(0) r = f32[4] reduce(p, z), dimensions={1}, to_apply=add q = f32[4] reduce(p, z), dimensions={1}, to_apply=add ROOT t = (f32[4], f32[4]) tuple(r, q) }
two_ways { p = f32[4,4] parameter(0) z = f32[] constant(0) r = f32[4] reduce(p, z), dimensions={1}, to_apply=add q = f32[4] reduce(p, z), dimensions={0}, to_apply=add ROOT t = (f32[4], f32[4]) tuple(r, q) }
both { p = f32[4,8] parameter(0) n = f32[4,8] negate(p) e = f32[4,8] exponential(p) ROOT t = (f32[4,8], f32[4,8]) tuple(n, e) }
update { p = f32[4,8] parameter(0) u = f32[1,8] parameter(1) i = s32[] parameter(2) n = f32[1,8] negate(u) ROOT d = f32[4,8] dynamic-update-slice(p, n, i, i) }
update_read { p = f32[4,8] parameter(0) i = s32[] parameter(1) u = f32[1,8] slice(p), slice={[0:1], [0:8]} ROOT d = f32[4,8] dynamic-update-slice(p, u, i, i) }
ENTRY e {
  x = f32[4,8] parameter(0)
  c = c64[4] parameter(1)
  d = f32[<=4] parameter(2)
  n = f32[0] parameter(3)
  nibbles = s4[4] parameter(4)
  i = s32[] parameter(5)
  u = f32[1,8] parameter(6)
  h = bf16[4,8] parameter(7)
  k = s32[4,8] parameter(8)
  z = f32[] constant(0)
  few = f32[2] constant({1, 2})
  far = f32[4] constant({...})
  exp = f32[4,8] exponential(x)
  exp_c = c64[4] exponential(c)
  exp_d = f32[<=4] exponential(d)
  exp_n = f32[0] exponential(n)
  not_nibbles = s4[4] not(nibbles)
  mixed_add = f32[4,8] add(x, h)
  wide = f32[4,8] convert(h)
  bits = s32[4,8] bitcast-convert(x)
  halves = u16[4,8,2] bitcast-convert(x)
  flat = f32[32]{0} bitcast(f32[4,8]{1,0} x)
  turned = f32[8,4]{0,1} bitcast(f32[4,8]{1,0} x)
  some = f32[1,8] dynamic-slice(x, i, i), dynamic_slice_sizes={1,8}
  filled = f32[3] pad(n, z), padding=3_0
  sum = f32[4] reduce(x, z), dimensions={1}, to_apply=add
  sum_mixed = f32[4] reduce(x, z), dimensions={1}, to_apply=mixed
  largest = (f32[4], s32[4]) reduce(x, k, z, i), dimensions={1}, to_apply=pair
  sum_n = f32[] reduce(n, z), dimensions={0}, to_apply=add
  mapped = f32[4,8] map(x, x), dimensions={0,1}, to_apply=add
  mapped_deep = f32[4,8] map(x), dimensions={0,1}, to_apply=deep
  updated = f32[4,8] dynamic-update-slice(x, u, i, i)
  f_sum_exp = f32[4] fusion(x), kind=kInput, calls=sum_exp
  f_middle = f32[4] fusion(x), kind=kLoop, calls=middle
  f_two = (f32[4], f32[4]) fusion(x), kind=kInput, calls=two
  square = f32[4,4] slice(x), slice={[0:4], [0:4]}
  f_two_ways = (f32[4], f32[4]) fusion(square), kind=kInput, calls=two_ways
  f_both = (f32[4,8], f32[4,8]) fusion(x), kind=kLoop, calls=both
  f_custom = f32[4] fusion(x), kind=kCustom, calls=sum_exp
  f_update = f32[4,8] fusion(x, u, i), kind=kLoop, calls=update
  f_update_read = f32[4,8] fusion(x, i), kind=kLoop, calls=update_read
  ROOT t = (f32[4,8]) tuple(exp)
})";

TEST(KernelRules, Elemental) {
  const auto module = Parsed(kText);
  for (const char* name : {"x", "few", "exp", "exp_c", "not_nibbles", "wide", "bits", "flat",
                           "some", "mapped", "square"}) {
    EXPECT_TRUE(IsElemental(*module, Named(*module, name))) << name;
  }
  for (const char* name : {"far", "exp_d", "exp_n", "mixed_add", "halves", "turned", "filled",
                           "sum", "mapped_deep", "updated", "t", "f_both"}) {
    EXPECT_FALSE(IsElemental(*module, Named(*module, name))) << name;
  }
}

TEST(KernelRules, Kernels) {
  const auto module = Parsed(kText);
  for (const char* name : {"exp", "exp_c", "sum", "sum_mixed", "largest", "updated", "f_sum_exp",
                           "f_two", "f_both", "f_middle", "f_update"}) {
    EXPECT_TRUE(IsKernel(*module, Named(*module, name))) << name;
  }
  for (const char* name :
       {"x", "few", "flat", "sum_n", "f_two_ways", "f_custom", "f_update_read"}) {
    EXPECT_FALSE(IsKernel(*module, Named(*module, name))) << name;
  }
}

// Not every refusal is one of the opcode.
TEST(KernelRules, SayWhyThereIsNoKernel) {
  std::string comparator = "compare {\n", arrays, parameters, shapes;
  for (int k = 0; k < 32; ++k) {
    for (const char* side : {"a", "b"}) {
      comparator += fmt::format("  {}{} = f32[] parameter({})\n", side, k, 2 * k + (*side == 'b'));
    }
    arrays += fmt::format("{}x{}", k == 0 ? "" : ", ", k);
    shapes += fmt::format("{}f32[8]", k == 0 ? "" : ", ");
    parameters += fmt::format("  x{} = f32[8] parameter({})\n", k, k);
  }
  const auto module = Parsed(fmt::format(
      "HloModule m\n{}  ROOT c = pred[] compare(a0, b0), direction=LT\n}}\nENTRY e {{\n{}"
      "  h = bf16[8] parameter(32)\n  mixed = f32[8] add(x0, h)\n"
      "  ROOT s = ({}) sort({}), dimensions={{0}}, to_apply=compare\n}}\n",
      comparator, parameters, shapes, arrays));
  EXPECT_EQ(WhyNoKernel(*module, Named(*module, "s")),
            "the computation that it applies has more than 64 instructions");
  EXPECT_EQ(WhyNoKernel(*module, Named(*module, "mixed")), "unsupported element type");
}

// By what each chooses: the value, then its number.
TEST(OrderedChoice, IsProvedOrRefused) {
  constexpr const char* kComparisons = R"(ge = pred[] compare(a, b), direction=GE
  gt = pred[] compare(a, b), direction=GT
  eq = pred[] compare(a, b), direction=EQ
  lost = pred[] compare(a, a), direction=NE
  before = pred[] compare(i, j), direction=LT
  larger = pred[] or(gt, lost)
  first = pred[] and(eq, before)
  either = pred[] or(larger, first)
  not_ge = pred[] not(ge))";
  const struct {
    const char *value, *number;
    bool is_choice;
  } rows[] = {
      {"select(larger, a, b)", "select(either, i, j)", true},  // JAX's argmax
      {"select(ge, a, b)", "select(ge, i, j)", true},
      {"select(gt, a, b)", "select(gt, i, j)", true},  // the last of equal ones
      {"select(not_ge, a, b)", "select(not_ge, i, j)", true},
      {"select(before, a, b)", "select(before, i, j)", true},
      {"select(ge, a, b)", "select(before, i, j)", true},  // each by itself
      {"select(before, a, b)", "select(ge, i, j)", false},
      {"select(ge, a, b)", "select(not_ge, i, j)", false},
      {"add(a, b)", "select(ge, i, j)", false},
  };
  for (const auto& row : rows) {
    const auto module = Parsed(fmt::format(R"(HloModule m
f {{
  a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)
  {}
  v = f32[] {}
  n = s32[] {}
  ROOT t = (f32[], s32[]) tuple(v, n)
}}
ENTRY e {{ x = f32[2] parameter(0) k = s32[2] iota(), iota_dimension=0 z = f32[] constant(0) o = s32[] constant(0)
  ROOT r = (f32[], s32[]) reduce(x, k, z, o), dimensions={{0}}, to_apply=f }})",
                                           kComparisons, row.value, row.number));
    const auto root = module->entry().root;
    const auto applied = module->GetComputation((*module)[root], hlo::AttributeKey::kToApply);
    EXPECT_EQ(IsOrderedChoice(*module, applied), row.is_choice) << row.value << row.number;
  }
}

// Signals of one feature, as numpy.convolve has them; with many features oneDNN is faster.
TEST(KernelRules, ConvolutionsOfFewFeaturesAlongSpaceAreKernels) {
  const auto is_library_call = [](int features, const char* order) {
    const bool is_last = std::string_view(order) == "b0f_oi0->b0f";
    const auto module = hlo::Parsed(fmt::format(
        "HloModule m\nENTRY e {{\n  x = f32[{0}] parameter(0)\n  k = f32[{1},{1},5] parameter(1)\n"
        "  ROOT c = f32[{0}] convolution(x, k), window={{size=5 pad=2_2}}, dim_labels={2}\n}}\n",
        is_last ? fmt::format("4,100,{}", features) : fmt::format("4,{},100", features), features,
        order));
    return IsLibraryCall(*module, module->entry().root);
  };
  EXPECT_FALSE(is_library_call(1, "bf0_oi0->bf0"));
  EXPECT_FALSE(is_library_call(5, "bf0_oi0->bf0"));
  EXPECT_TRUE(is_library_call(6, "bf0_oi0->bf0"));
  EXPECT_TRUE(is_library_call(5, "b0f_oi0->b0f"));
}

}  // namespace
}  // namespace hloscope::compile
