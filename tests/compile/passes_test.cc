// Tests of the passes but fusion and algebraic simplification, and of what Compile says of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/work_count.h"
#include "core/compile/compile.h"
#include "core/compile/kernel_rules.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/verify/verifier.h"
#include "tests/compile/expression.h"
#include "tests/hlo/parsed.h"

namespace hloscope::compile {
namespace {

using hlo::Named;
using hlo::Parsed;

TEST(Passes, DeadCodeGoesAndEffectsStay) {
  const auto module = AfterPass("dead-code-elimination", R"(HloModule m
unused { a = f32[] parameter(0) ROOT b = f32[] negate(a) }
ENTRY e {
  x = f32[4] parameter(0)
  dead = f32[4] exponential(x)
  t = token[] after-all()
  out = token[] outfeed(x, t)
  ROOT r = f32[4] negate(x)
})");
  EXPECT_EQ(module->computations().size(), 1u);
  EXPECT_EQ(module->instructions().size(), 4u);
}

TEST(Passes, CallsAndFusionsAreInlined) {
  const auto module = AfterPass("inlining", R"(HloModule m
inner { a = f32[4] parameter(0) ROOT b = f32[4] negate(a) }
outer { a.1 = f32[4] parameter(0) c = f32[4] call(a.1), to_apply=inner ROOT d = f32[4] exponential(c) }
fused { p = f32[4] parameter(1) q = f32[4] parameter(0) ROOT s = f32[4] subtract(p, q) }
kept { p.1 = f32[4] parameter(0) ROOT s.1 = f32[4] cosine(p.1) }
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] call(x), to_apply=outer
  z = f32[4] call(y), to_apply=outer
  k = f32[4] fusion(z), kind=kCustom, calls=kept
  ROOT r = f32[4] fusion(x, k), kind=kLoop, calls=fused
})");
  EXPECT_EQ(Expression(*module),
            "subtract(cosine(exponential(negate(exponential(negate(x))))), x)");
  EXPECT_EQ(module->computations().size(), 1u);
}

// Each get-tuple-element asked the shape of its whole tuple.
TEST(Passes, WorkGrowsAsTheElementsOfATuple) {
  const auto work = [](int elements) {
    std::string shape, body, names;
    for (int k = 0; k < elements; ++k) {
      shape += fmt::format("{}f32[]", k == 0 ? "" : ", ");
      body += fmt::format(
          " g{0} = f32[] get-tuple-element(p), index={0}\n n{0} = f32[] negate(g{0})\n", k);
      names += fmt::format("{}n{}", k == 0 ? "" : ", ", k);
    }
    const auto module = Parsed(fmt::format(
        "HloModule m\nENTRY e {{\n p = ({0}) parameter(0)\n{1} ROOT r = ({0}) tuple({2})\n}}\n",
        shape, body, names));
    const uint64_t before = WorkCount();
    EXPECT_TRUE(Compile(module).has_value());
    return static_cast<double>(WorkCount() - before);
  };
  const double one = work(250), two = work(500), four = work(1000);
  EXPECT_LT(four - two, 2.7 * (two - one));
}

// 30 computations that each call the next one twice are 2^30 of them.
TEST(Passes, CallsThatComeToTooManyCopiesStay) {
  std::string text = "HloModule m\nc0 { x0 = f32[4] parameter(0) ROOT y0 = f32[4] negate(x0) }\n";
  for (int i = 1; i <= 30; ++i) {
    text += fmt::format(
        "c{0} {{ x{0} = f32[4] parameter(0) m{0} = f32[4] call(x{0}), to_apply=c{1} "
        "ROOT y{0} = f32[4] call(m{0}), to_apply=c{1} }}\n",
        i, i - 1);
  }
  const auto module =
      AfterPass("inlining",
                text + "ENTRY e { x = f32[4] parameter(0) ROOT r = f32[4] call(x), to_apply=c30 }");
  EXPECT_GT(module->instructions().size(), 1'000u);
  EXPECT_LT(module->instructions().size(), 50'000u);
}

TEST(Passes, CalleesWithEffectsAreNotInlined) {
  const auto module = AfterPass("inlining", R"(HloModule m
random { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r.1 = f32[4] rng(a, b), distribution=rng_uniform }
ENTRY e {
  x = f32[] parameter(0)
  ROOT r = f32[4] call(x, x), to_apply=random
})");
  EXPECT_EQ(Expression(*module), "call(x, x)");
}

TEST(Passes, WhatDependsOnConstantsAloneIsComputedOnce) {
  const auto module = AfterPass("constant-folding", R"(HloModule m
sum { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
ENTRY e {
  x = f32[] parameter(0)
  v = f32[4] constant({1, 2, 3, 4})
  z = f32[] constant(0.5)
  w = f32[4] multiply(v, v)
  t = f32[] reduce(w, z), dimensions={0}, to_apply=sum
  i = s32[4096] iota(), iota_dimension=0
  b = s32[4096] add(i, i)
  a = f32[] multiply(x, t)
  k = f32[4] broadcast(a), dimensions={}
  h = f32[4] broadcast(z), dimensions={}
  g = f32[4] add(h, h)
  l = f32[4] add(g, k)
  ROOT r = (f32[4], s32[4096], f32[4]) tuple(l, b, w)
})");
  // Not the many elements made of none, nor the equal ones that a broadcast makes.
  EXPECT_EQ(Expression(*module),
            "tuple(add(add(broadcast{}(0.5), broadcast{}(0.5)), broadcast{}(multiply(x, 30.5))), "
            "add(iota(), iota()), {1, 4, 9, 16})");
}

TEST(Passes, TheKnownBranchOfAConditionalTakesItsPlace) {
  for (const auto& [index, expected] :
       {std::pair("0", "negate(x)"), std::pair("1", "cosine(x)"), std::pair("7", "cosine(x)")}) {
    const auto module = AfterPass("conditional-simplification", std::string(R"(HloModule m
n { p = f32[4] parameter(0) ROOT q = f32[4] negate(p) }
c { p.1 = f32[4] parameter(0) ROOT q.1 = f32[4] cosine(p.1) }
ENTRY e {
  x = f32[4] parameter(0)
  i = s32[] constant()") + index + R"()
  ROOT r = f32[4] conditional(i, x, x), branch_computations={n, c}
})");
    EXPECT_EQ(Expression(*module), "call(x)");
    const Result<Compilation> compiled = Compile(module, {.disabled_passes = {"fusion"}});
    ASSERT_TRUE(compiled.has_value());
    EXPECT_EQ(Expression(*compiled->module), expected);
  }
}

// Operands of 8 TiB, more than any machine's memory.
TEST(Passes, LibraryCallsAreLoweredByShapesAlone) {
  const auto module = AfterPass("custom-calls", R"(HloModule m
ENTRY e {
  x = f64[1048576,1048576] parameter(0)
  ROOT c = f64[1048576,1048576] custom-call(x, x), custom_call_target="__cublas$gemm", backend_config={"alpha_real":1,"beta":0,"dot_dimension_numbers":{"lhs_batch_dimensions":[],"lhs_contracting_dimensions":["1"],"rhs_batch_dimensions":[],"rhs_contracting_dimensions":["0"]}}
})");
  EXPECT_EQ(Expression(*module), "dot{1}{0}(x, x)");
}

TEST(Passes, BitcastsBecomeWhatTheyMean) {
  const auto module = AfterPass("layout-normalization", R"(HloModule m
ENTRY e {
  x = f32[4,6]{0,1} parameter(0)
  c = f32[4,6]{1,0} copy(x)
  a = f32[24]{0} bitcast(x)
  b = f32[24]{0} bitcast(c)
  d = f32[6,4]{1,0} bitcast(x)
  ROOT t = (f32[24]{0}, f32[24]{0}, f32[6,4]{1,0}) tuple(a, b, d)
})");
  EXPECT_EQ(Expression(*module),
            "tuple(reshape(transpose{1,0}(x)), reshape(x), transpose{1,0}(x))");
  EXPECT_EQ(ToString(module->shape(Named(*module, "x"))), "f32[4,6]{1,0}");
}

TEST(Passes, BitcastsToAnotherTypeBecomeBitcastConverts) {
  const auto module = AfterPass("layout-normalization", R"(HloModule m
less {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  a = s32[] bitcast(p)
  b = s32[] bitcast(q)
  ROOT c = pred[] compare(a, b), direction=LT
}
ENTRY e {
  x = f32[4,6]{0,1} parameter(0)
  b = s32[24]{0} bitcast(x)
  s = f32[4,6]{0,1} sort(x), dimensions={0}, to_apply=less
  ROOT t = (s32[24]{0}, f32[4,6]{0,1}) tuple(b, s)
})");
  EXPECT_EQ(Expression(*module), "tuple(bitcast-convert(reshape(transpose{1,0}(x))), sort{0}(x))");
  EXPECT_TRUE(IsKernel(*module, Named(*module, "s")));
}

TEST(Passes, LayoutsOfCustomCallsStay) {
  const auto module = AfterPass("layout-normalization", R"(HloModule m
ENTRY e {
  x = f32[4,6]{0,1} parameter(0)
  ROOT c = f32[4,6]{0,1} custom-call(x), custom_call_target="t"
})");
  EXPECT_EQ(ToString(module->shape(module->entry().root)), "f32[4,6]{0,1}");
}

TEST(Passes, MapsBecomeElementwise) {
  const auto module = AfterPass("legalization", R"(HloModule m
body { a = f32[] parameter(0) two = f32[] constant(2) b = f32[] multiply(a, two) ROOT c = f32[] exponential(b) }
ENTRY e { x = f32[4] parameter(0) ROOT r = f32[4] map(x), dimensions={0}, to_apply=body })");
  EXPECT_EQ(Expression(*module), "exponential(multiply(x, broadcast{}(2)))");
}

TEST(Passes, NumbersOfTheOnlyDeviceAreConstants) {
  const auto module = AfterPass("device-numbers", R"(HloModule m
ENTRY e {
  r.1 = u32[] replica-id()
  p = u32[] partition-id()
  ROOT t = (u32[], u32[]) tuple(r.1, p)
})");
  EXPECT_EQ(Expression(*module), "tuple(0, 0)");
  const auto several = AfterPass("device-numbers", R"(HloModule m, replica_count=2
ENTRY e {
  r.1 = u32[] replica-id()
  p = u32[] partition-id()
  ROOT t = (u32[], u32[]) tuple(r.1, p)
})");
  EXPECT_EQ(Expression(*several), "tuple(replica-id(), 0)");
}

TEST(Passes, DynamicArraysAreArraysOfTheirBounds) {
  const auto module = AfterPass("dynamic-dimensions", R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
cond { p = (f32[<=8], s32[]) parameter(0) i = s32[] get-tuple-element(p), index=1 n.1 = s32[] constant(3) ROOT l = pred[] compare(i, n.1), direction=LT }
body {
  p.1 = (f32[<=8], s32[]) parameter(0)
  x.1 = f32[<=8] get-tuple-element(p.1), index=0
  i.1 = s32[] get-tuple-element(p.1), index=1
  one = s32[] constant(1)
  j = s32[] add(i.1, one)
  y = f32[<=8] exponential(x.1)
  ROOT q = (f32[<=8], s32[]) tuple(y, j)
}
ENTRY e {
  x = f32[8] parameter(0)
  n = s32[] parameter(1)
  d = f32[<=8] set-dimension-size(x, n), dimensions={0}
  zero = s32[] constant(0)
  start = (f32[<=8], s32[]) tuple(d, zero)
  w = (f32[<=8], s32[]) while(start), condition=cond, body=body
  z = f32[<=8] get-tuple-element(w), index=0
  k = f32[] constant(2)
  ROOT s = f32[] reduce(z, k), dimensions={0}, to_apply=add
})");
  for (const hlo::Instruction& i : module->instructions()) {
    EXPECT_TRUE((*module)[i.shape].is_static()) << (*module)[i.name];
  }
  EXPECT_TRUE(hlo::Verify(*module).empty());
}

// Whether the sizes hold the elements is asked while it runs.
TEST(Passes, DynamicReshapesAreGathersWithACheck) {
  const auto module = AfterPass("dynamic-dimensions", R"(HloModule m
ENTRY e {
  x = f32[6,2] parameter(0)
  n = s32[] parameter(1)
  d = f32[<=6,2] set-dimension-size(x, n), dimensions={0}
  two = s32[] constant(2)
  total = s32[] multiply(n, two)
  r = f32[<=12] dynamic-reshape(d, total)
  twelve = s32[] constant(12)
  ROOT w = f32[12] set-dimension-size(r, twelve), dimensions={0}
})");
  for (const hlo::Instruction& i : module->instructions()) {
    EXPECT_TRUE((*module)[i.shape].is_static()) << (*module)[i.name];
    EXPECT_NE(i.opcode, hlo::Opcode::kDynamicReshape);
  }
  EXPECT_EQ((*module)[(*module)[module->entry_id()].root].opcode, hlo::Opcode::kConditional);
  EXPECT_TRUE(hlo::Verify(*module).empty());
}

// A size that no shape declares would be lost: the module stays as it is.
TEST(Passes, ArraysDeclaredStaticThatAreShorterStay) {
  const auto module = AfterPass("dynamic-dimensions", R"(HloModule m
ENTRY e {
  x = f32[8] parameter(0)
  n = s32[] parameter(1)
  d = f32[<=8] set-dimension-size(x, n), dimensions={0}
  ROOT s = f32[8] set-dimension-size(d, n), dimensions={0}
})");
  EXPECT_EQ(Expression(*module), "set-dimension-size{0}(set-dimension-size{0}(x, n), n)");
}

TEST(Passes, EmptyArraysAreConstants) {
  const auto module = AfterPass("empty-arrays", R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[0,4] parameter(0)
  y = f32[4,3] parameter(1)
  z = f32[] parameter(2)
  n = f32[0,4] negate(x)
  d = f32[0,3] dot(n, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  q = f32[4,4] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  r = f32[4] reduce(x, z), dimensions={0}, to_apply=add
  p = f32[2,4] pad(x, z), padding=1_1x0_0
  c = f32[2,4] concatenate(x, p), dimensions={0}
  ROOT t = (f32[0,3], f32[4,4], f32[4], f32[2,4]) tuple(d, q, r, c)
})");
  EXPECT_EQ(Expression(*module), "tuple({  }, broadcast{}(0), broadcast{}(z), broadcast{}(z))");
}

// A row times a matrix, and a matrix times a column: sums run where the matrix has them.
TEST(Passes, AMatrixIsNotTransposedForOneRow) {
  const auto of = [](const char* x, const char* w, const char* result, int left, int right) {
    return Expression(*AfterPass(
        "dot-decomposition",
        fmt::format("HloModule m\nENTRY e {{\n  x = s32[{}] parameter(0)\n  w = s32[{}] "
                    "parameter(1)\n  ROOT d = s32[{}] dot(x, w), lhs_contracting_dims={{{}}}, "
                    "rhs_contracting_dims={{{}}}\n}}\n",
                    x, w, result, left, right)));
  };
  EXPECT_EQ(of("1,16", "16,32", "1,32", 1, 0),
            "reduce{1}(multiply(broadcast{0,1}(x), broadcast{1,2}(w)), 0)");
  EXPECT_EQ(of("1,16", "32,16", "1,32", 1, 1),
            "reduce{2}(multiply(broadcast{0,2}(x), broadcast{1,2}(w)), 0)");
  EXPECT_EQ(of("16,32", "16,1", "32,1", 0, 0),
            "reduce{0}(multiply(broadcast{0,1}(x), broadcast{0,2}(w)), 0)");
  // Rows of two elements are nothing for vectors.
  EXPECT_EQ(of("16,32", "16,2", "32,2", 0, 0),
            "reduce{2}(multiply(broadcast{0,2}(transpose{1,0}(x)), "
            "broadcast{1,2}(transpose{1,0}(w))), 0)");
}

// Also where what is summed up stands on both sides of its rows, which oneDNN cannot read.
TEST(Passes, AMatrixOfSeveralDimensionsTimesAVectorIsReduced) {
  EXPECT_EQ(Expression(*AfterPass("dot-decomposition", R"(HloModule m
ENTRY e {
  x = f32[64,512,16] parameter(0)
  y = f32[64,16] parameter(1)
  ROOT d = f32[512] dot(x, y), lhs_contracting_dims={0,2}, rhs_contracting_dims={0,1}
})")),
            "reduce{1,2}(multiply(broadcast{0,1,2}(transpose{1,0,2}(x)), broadcast{1,2}(y)), 0)");
}

// Their operands are read many times, and converted once.
TEST(Passes, LargeProductsOfNarrowFloatsAreWidened) {
  const auto of = [](const char* type, int size) {
    return Expression(*AfterPass(
        "dot-decomposition",
        fmt::format("HloModule m\nENTRY e {{\n  x = {0}[{1},{1}] parameter(0)\n  y = {0}[{1},{1}] "
                    "parameter(1)\n  ROOT d = {0}[{1},{1}] dot(x, y), lhs_contracting_dims={{1}}, "
                    "rhs_contracting_dims={{0}}\n}}\n",
                    type, size)));
  };
  EXPECT_EQ(of("f8e5m2", 64),
            "convert f8e5m2[64,64](dot{1}{0}(convert f32[64,64](x), convert f32[64,64](y)))");
  EXPECT_EQ(of("f16", 64),
            "convert f16[64,64](dot{1}{0}(convert f32[64,64](x), convert f32[64,64](y)))");
  EXPECT_EQ(of("bf16", 64), "dot{1}{0}(x, y)");  // the library takes it
  EXPECT_EQ(of("f16", 16), "dot{1}{0}(x, y)");
  EXPECT_EQ(Expression(*AfterPass("dot-decomposition", R"(HloModule m
ENTRY e {
  x = f32[64,64] parameter(0)
  y = f32[64,64] parameter(1)
  ROOT d = f64[64,64] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})")),
            "dot{1}{0}(convert f64[64,64](x), convert f64[64,64](y))");
}

// Matrices of 3×3, many of them: no vector runs along three columns.
TEST(Passes, ShortSumsOfShortRowsAreWrittenOut) {
  EXPECT_EQ(Expression(*AfterPass("dot-decomposition", R"(HloModule m
ENTRY e {
  x = f32[50,3,2] parameter(0)
  y = f32[50,3,2] parameter(1)
  ROOT d = f32[50,3,3] dot(x, y), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}
})")),
            "add(add(broadcast{}(0), "
            "multiply(broadcast{0,1}(reshape(slice{0,50,1,0,3,1,0,1,1}(x))), "
            "broadcast{0,2}(reshape(slice{0,50,1,0,3,1,0,1,1}(y))))), "
            "multiply(broadcast{0,1}(reshape(slice{0,50,1,0,3,1,1,2,1}(x))), "
            "broadcast{0,2}(reshape(slice{0,50,1,0,3,1,1,2,1}(y)))))");
}

// Kernels run vectors along columns. The library reads either order.
TEST(Passes, ColumnsOfRightOperandsLieSideBySide) {
  const auto of = [](const char* type, int rows, const char* y, int summed) {
    return Expression(*AfterPass(
        "dot-operand-transposition",
        fmt::format("HloModule m\nENTRY e {{\n  x = {0}[{1},64] parameter(0)\n  y = {0}[{2}] "
                    "parameter(1)\n  ROOT d = {0}[{1},32] dot(x, y), lhs_contracting_dims={{1}}, "
                    "rhs_contracting_dims={{{3}}}\n}}\n",
                    type, rows, y, summed)));
  };
  EXPECT_EQ(of("f64", 65, "32,64", 1), "dot{1}{0}(x, transpose{1,0}(y))");
  EXPECT_EQ(of("f64", 65, "64,32", 0), "dot{1}{0}(x, y)");
  EXPECT_EQ(of("f64", 64, "32,64", 1), "dot{1}{1}(x, y)");
  EXPECT_EQ(of("f32", 65, "32,64", 1), "dot{1}{1}(x, y)");
}

// A phase of results for each part of the kernel that meets elements of the input, and no holes.
TEST(Passes, ConvolutionsOfInputsWithHolesAreDoneInPhases) {
  const auto of = [](const std::string& result, const std::string& window) {
    return Expression(*AfterPass(
        "convolution-normalization",
        "HloModule m\nENTRY e {\n  x = f32[1,8,3] parameter(0)\n  k = f32[3,3,4] parameter(1)\n  "
        "ROOT c = f32[1," +
            result + ",4] convolution(x, k), window={size=3 " + window +
            "}, dim_labels=b0f_0io->b0f\n}\n"));
  };
  EXPECT_EQ(of("16", "pad=1_2 lhs_dilate=2"),
            "reshape(concatenate{2}(reshape(convolution(x, slice{1,3,2,0,3,1,0,4,1}(k))), "
            "reshape(convolution(x, slice{0,3,2,0,3,1,0,4,1}(k)))))");
  // Results that no part of the kernel gives, and steps of the window, are left as they are: zeros
  // in the holes would not be left out.
  for (const auto& [result, window] :
       {std::pair("29", "pad=1_1 lhs_dilate=4"), std::pair("8", "pad=1_1 stride=2 lhs_dilate=2")}) {
    EXPECT_EQ(of(result, window), "convolution(x, k)");
  }
}

// Integers of 8 bits where f32 holds each sum of their products: 1024 of the largest of s8.
TEST(Passes, ProductsOfBytesAreWidenedWhereTheyAreExact) {
  const auto of = [](const char* type, int depth) {
    return Expression(*AfterPass(
        "dot-decomposition",
        fmt::format("HloModule m\nENTRY e {{\n  x = {0}[64,{1}] parameter(0)\n  y = {0}[{1},64] "
                    "parameter(1)\n  ROOT d = s32[64,64] dot(x, y), lhs_contracting_dims={{1}}, "
                    "rhs_contracting_dims={{0}}\n}}\n",
                    type, depth)));
  };
  EXPECT_EQ(of("s8", 1024),
            "convert s32[64,64](dot{1}{0}(convert f32[64,1024](x), convert f32[1024,64](y)))");
  EXPECT_EQ(of("s8", 1025), "dot{1}{0}(x, y)");
  EXPECT_EQ(of("u8", 258),
            "convert s32[64,64](dot{1}{0}(convert f32[64,258](x), convert f32[258,64](y)))");
  EXPECT_EQ(of("u8", 259), "dot{1}{0}(x, y)");
  EXPECT_EQ(of("s16", 64), "dot{1}{0}(x, y)");
}

TEST(Passes, NarrowMatricesAreFactoredAndSolvedInDouble) {
  const auto module = AfterPass("rounding-legalization", R"(HloModule m
ENTRY e {
  x = bf16[4,4] parameter(0)
  y = bf16[4,2] parameter(1)
  c = bf16[4,4] cholesky(x), lower=true
  ROOT r = bf16[4,2] triangular-solve(c, y), left_side=true, lower=true, transpose_a=NO_TRANSPOSE
})");
  EXPECT_EQ(Expression(*module),
            "convert bf16[4,2](triangular-solve(convert f64[4,4](convert bf16[4,4](cholesky("
            "convert f64[4,4](x)))), convert f64[4,2](y)))");
}

TEST(Passes, PartsOfBytesAreShifted) {
  const auto module = AfterPass("legalization", R"(HloModule m
ENTRY e {
  x = s8[4] parameter(0)
  ROOT r = s4[4,2] bitcast-convert(x)
})");
  EXPECT_EQ(Expression(*module),
            "bitcast-convert(convert u4[4,2](shift-right-logical(broadcast{0}(bitcast-convert(x)), "
            "multiply(iota(), broadcast{}(4)))))");
}

TEST(Passes, EqualInstructionsAreOne) {
  const auto module = AfterPass("common-subexpressions", R"(HloModule m
one { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
two { c = f32[] parameter(0) d = f32[] parameter(1) ROOT t = f32[] add(c, d) }
ENTRY e {
  x = f32[4] parameter(0)
  z0 = f32[] constant(0)
  z1 = f32[] constant(0)
  z2 = f32[] constant(-0.0)
  a0 = f32[] reduce(x, z0), dimensions={0}, to_apply=one
  a1 = f32[] reduce(x, z1), dimensions={0}, to_apply=two, metadata={op_name="elsewhere"}
  a2 = f32[] reduce(x, z2), dimensions={0}, to_apply=two
  far0 = f32[4] constant({...})
  far1 = f32[4] constant({...})
  lo = f32[] constant(0)
  r0 = f32[4] rng(z0, a0), distribution=rng_uniform
  r1 = f32[4] rng(z0, a0), distribution=rng_uniform
  ROOT r = (f32[], f32[], f32[], f32[4], f32[4], f32[4], f32[4]) tuple(a0, a1, a2, far0, far1, r0, r1)
})");
  const auto operands = module->operands(module->entry().root);
  EXPECT_EQ(operands[0], operands[1]);
  EXPECT_NE(operands[0], operands[2]);
  EXPECT_NE(operands[3], operands[4]);
  EXPECT_NE(operands[5], operands[6]);
}

TEST(Passes, ControlDependenciesHold) {
  const auto module = AfterPass("common-subexpressions", R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  a = f32[4] exponential(x)
  b = f32[4] exponential(x), control-predecessors={a}
  ROOT t = (f32[4], f32[4]) tuple(a, b)
})");
  const auto operands = module->operands(module->entry().root);
  EXPECT_NE(operands[0], operands[1]);
}

TEST(Compile, ProvenanceStagesAndNames) {
  const auto module = Parsed(R"(HloModule m
callee { a = f32[4] parameter(0) b = f32[4] exponential(a) ROOT c = f32[4] negate(b) }
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] call(x), to_apply=callee
  n = f32[4] negate(y)
  d = f32[4] cosine(x)
  ROOT r = f32[4] add(n, x)
})");
  CompileOptions options;
  options.keep_stages = true;
  options.verify = true;
  const auto compiled = Compile(module, options);
  ASSERT_TRUE(compiled.has_value());
  const auto now = [&](const char* name) { return compiled->new_id[Named(*module, name).index]; };
  EXPECT_FALSE(now("d").valid());
  ASSERT_TRUE(now("b").valid());
  EXPECT_EQ((*compiled->module)[now("b")].opcode, hlo::Opcode::kExp);
  // n is −(−b) and so b; r is what the kernel yields.
  EXPECT_EQ(now("n"), now("b"));
  EXPECT_EQ((*compiled->module)[now("r")].opcode, hlo::Opcode::kFusion);
  EXPECT_EQ(compiled->module->name(now("r")), "loop_exponential_add_fusion");
  ASSERT_EQ(compiled->kernels.size(), 1u);
  EXPECT_EQ(compiled->kernels[0], now("r"));
  std::vector<std::string> passes;
  for (const Stage& stage : compiled->stages) passes.push_back(stage.pass);
  EXPECT_EQ(passes, (std::vector<std::string>{"dead-code-elimination", "inlining",
                                              "algebraic-simplification", "fusion"}));
  options.disabled_passes = {"fusion"};
  const auto unfused = Compile(module, options);
  ASSERT_TRUE(unfused.has_value());
  EXPECT_EQ(unfused->kernels.size(), 2u);
  options.disabled_passes = {"fusoin"};
  const auto unknown = Compile(module, options);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_TRUE(unknown.error().message.contains("`fusoin`"));
}

// A loop of `turns` from 0, over a counter, a sum, an array that nobody wants and one that is only
// read.
std::string LoopOf(int turns, const std::string& sum) {
  return R"(HloModule m
condition {
  s = (s32[], f32[8,8], f32[8], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant()" +
         std::to_string(turns) + R"()
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s.1 = (s32[], f32[8,8], f32[8], f32[8,8]) parameter(0)
  i.1 = s32[] get-tuple-element(s.1), index=0
  one = s32[] constant(1)
  next = s32[] add(i.1, one)
  x = f32[8,8] get-tuple-element(s.1), index=1
  unwanted = f32[8] get-tuple-element(s.1), index=2
  w = f32[8,8] get-tuple-element(s.1), index=3
  more = f32[8] exponential(unwanted)
  )" + sum +
         R"(
  ROOT t = (s32[], f32[8,8], f32[8], f32[8,8]) tuple(next, y, more, w)
}
ENTRY e {
  p = f32[8,8] parameter(0)
  q = f32[8,8] parameter(1)
  zero = s32[] constant(0)
  u = f32[8] constant({1,2,3,4,5,6,7,8})
  start = (s32[], f32[8,8], f32[8], f32[8,8]) tuple(zero, p, u, q)
  loop = (s32[], f32[8,8], f32[8], f32[8,8]) while(start), condition=condition, body=body
  a = f32[8,8] get-tuple-element(loop), index=1
  b = f32[8,8] get-tuple-element(loop), index=3
  ROOT r = (f32[8,8], f32[8,8]) tuple(a, b)
})";
}

TEST(Passes, LoopsThatRunNeverOrOnceAreNone) {
  const std::string sum = "y = f32[8,8] add(x, w)";
  EXPECT_EQ(Expression(*AfterPass("loop-simplification", LoopOf(0, sum))),
            "tuple(get-tuple-element{1}(tuple(0, p, {1, 2, 3, 4, 5, 6, 7, 8}, q)), q)");
  const auto once = AfterPass("loop-simplification", LoopOf(1, sum));
  EXPECT_EQ(once->instructions()[hlo::Named(*once, "call").index].opcode, hlo::Opcode::kCall);
}

TEST(Passes, LoopsCarryOnlyWhatIsWanted) {
  const auto module = AfterPass("loop-simplification", LoopOf(5, "y = f32[8,8] add(x, w)"));
  const hlo::InstructionId loop = [&] {
    for (uint32_t k = 0; k < module->instructions().size(); ++k) {
      if (module->instructions()[k].opcode == hlo::Opcode::kWhile) return hlo::InstructionId(k);
    }
    return hlo::InstructionId();
  }();
  ASSERT_TRUE(loop.valid());
  EXPECT_EQ(hlo::ToString(module->shape(loop), false), "(s32[], f32[8,8], f32[8,8])");
  EXPECT_EQ(Expression(*module).find("exponential"), std::string::npos);
}

TEST(Passes, HoistsLoopInvariantCode) {
  const auto module = AfterPass(
      "loop-simplification",
      LoopOf(5,
             "v = f32[8,8] dot(w, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
             "  k = f32[8,8] tanh(v)\n  y = f32[8,8] add(x, k)"));
  for (uint32_t k = 0; k < module->instructions().size(); ++k) {
    const hlo::InstructionId id(k);
    const bool is_moved =
        (*module)[id].opcode == hlo::Opcode::kDot || (*module)[id].opcode == hlo::Opcode::kTanh;
    if (is_moved) {
      EXPECT_EQ((*module)[id].computation, module->entry_id());
    }
    if ((*module)[id].opcode == hlo::Opcode::kWhile) {
      EXPECT_EQ(hlo::ToString(module->shape(id), false), "(s32[], f32[8,8], f32[8,8])");
    }
  }
}

// A loop of that many turns, each of which makes `body` of x[N].
std::string ElementwiseLoop(int turns, int elements, const std::string& body) {
  std::string text = R"(HloModule m
condition {
  s = (s32[], u32[N]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  end = s32[] constant(TURNS)
  ROOT more = pred[] compare(i, end), direction=LT
}
body {
  s.1 = (s32[], u32[N]) parameter(0)
  i.1 = s32[] get-tuple-element(s.1), index=0
  one = s32[] constant(1)
  next = s32[] add(i.1, one)
  x = u32[N] get-tuple-element(s.1), index=1
  BODY
  ROOT t = (s32[], u32[N]) tuple(next, y)
}
ENTRY e {
  p = u32[N] parameter(0)
  zero = s32[] constant(0)
  copied = s32[] copy(zero)
  start = (s32[], u32[N]) tuple(copied, p)
  loop = (s32[], u32[N]) while(start), condition=condition, body=body
  ROOT r = u32[N] get-tuple-element(loop), index=1
})";
  const auto put = [&](std::string_view name, const std::string& value) {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name)) {
      text.replace(at, name.size(), value);
    }
  };
  put("BODY", body);
  put("TURNS", std::to_string(turns));
  put("[N]", "[" + std::to_string(elements) + "]");
  return text;
}

bool HasLoop(const hlo::Module& module) {
  return std::ranges::any_of(module.instructions(), [](const hlo::Instruction& i) {
    return i.opcode == hlo::Opcode::kWhile;
  });
}

TEST(Passes, ShortElementwiseLoopsOverLargeArraysAreUnrolled) {
  const std::string sum = "y = u32[N] add(x, x)";
  const auto module = AfterPass("loop-unrolling", ElementwiseLoop(3, 8192, sum));
  EXPECT_EQ(Expression(*module), "add(add(add(p, p), add(p, p)), add(add(p, p), add(p, p)))");
  EXPECT_FALSE(HasLoop(*AfterPass("loop-unrolling", ElementwiseLoop(8, 8192, sum))));
}

TEST(Passes, OtherLoopsAreNotUnrolled) {
  const std::string sum = "y = u32[N] add(x, x)";
  EXPECT_TRUE(HasLoop(*AfterPass("loop-unrolling", ElementwiseLoop(9, 8192, sum))));
  EXPECT_TRUE(HasLoop(*AfterPass("loop-unrolling", ElementwiseLoop(3, 64, sum))));
  EXPECT_TRUE(HasLoop(*AfterPass(
      "loop-unrolling", ElementwiseLoop(3, 8192, "y = u32[N] reverse(x), dimensions={0}"))));
  std::string many = "y0 = u32[N] add(x, x)\n";
  for (int k = 0; k < 80; ++k) {
    many += "  y" + std::to_string(k + 1) + " = u32[N] xor(x, y" + std::to_string(k) + ")\n";
  }
  EXPECT_TRUE(HasLoop(
      *AfterPass("loop-unrolling", ElementwiseLoop(8, 8192, many + "  y = u32[N] copy(y80)"))));
}

// Where the processor adds up products of bytes they are not converted for a library, if the kernel
// finds those that are summed up side by side on the left.
TEST(Passes, DotsOfBytesAreKernelsWhereThereIsAnInstruction) {
  struct Form {
    const char *left, *right, *result, *attributes;
    bool has_kernel;
  };
  const Form kForms[] = {
      {"s8[64,128]", "s8[128,64]", "s32[64,64]",
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}", true},
      {"s8[64,128]", "u8[64,128]", "s32[64,64]",
       "lhs_contracting_dims={1}, rhs_contracting_dims={1}", true},
      {"s8[1024,512]", "s8[1024,512]", "s32[512,512]",
       "lhs_contracting_dims={0}, rhs_contracting_dims={0}", false},
      {"s8[128,64,3]", "s8[3,128,64]", "s32[64,64]",
       "lhs_contracting_dims={0,2}, rhs_contracting_dims={1,0}", false},
      {"s8[64,16,64,2]", "s8[16,64]", "s32[64,64,2,64]",
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}", false},
      {"s8[4,64,2,16]", "s8[4,16,256]", "s32[4,64,2,256]",
       "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={3}, "
       "rhs_contracting_dims={1}",
       true},
  };
  for (const Form& form : kForms) {
    const auto module =
        hlo::Parsed(fmt::format("HloModule m\nENTRY e {{\n  a = {} parameter(0)\n  b = {} "
                                "parameter(1)\n  ROOT d = {} dot(a, "
                                "b), {}\n}}\n",
                                form.left, form.right, form.result, form.attributes));
    for (const bool byte_kernels : {false, true}) {
      CompileOptions options;
      options.byte_kernels = byte_kernels;
      const auto compiled = Compile(module, options);
      ASSERT_TRUE(compiled.has_value());
      const bool is_converted = std::ranges::any_of(
          compiled->module->instructions(),
          [](const hlo::Instruction& i) { return i.opcode == hlo::Opcode::kConvert; });
      EXPECT_EQ(is_converted, !byte_kernels || !form.has_kernel)
          << form.left << " · " << form.right << ", " << byte_kernels;
    }
  }
}

}  // namespace
}  // namespace hloscope::compile
