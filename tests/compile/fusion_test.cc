// Tests of fusion: what shares a kernel, what does not and why, and that no graph makes a cycle.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/compile/compile.h"
#include "core/compile/kernel_rules.h"
#include "tests/compile/meaning.h"
#include "tests/hlo/parsed.h"

namespace hloscope::compile {
namespace {

using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Parsed;

constexpr const char* kSum =
    "HloModule m\nsum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
    "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT l = pred[] compare(a, b), "
    "direction=LT }\n";

Compilation Compiled(const std::string& entry, bool for_gpu = false) {
  CompileOptions options;
  options.verify = true;
  options.gpu_kernels = for_gpu;
  auto compiled = Compile(Parsed(kSum + entry), options);
  EXPECT_TRUE(compiled.has_value());
  return compiled ? *compiled : Compilation();
}

// "loop_negate_fusion/2", by kernel: its name or opcode and how many values it yields.
std::vector<std::string> Kernels(const Compilation& compiled) {
  std::vector<std::string> kernels;
  for (const InstructionId id : compiled.kernels) {
    const bool is_fusion = (*compiled.module)[id].opcode == Opcode::kFusion;
    kernels.push_back(fmt::format(
        "{}/{}", is_fusion ? compiled.module->name(id) : ToString((*compiled.module)[id].opcode),
        std::max<size_t>(1, compiled.module->shape(id).elements().size())));
  }
  return kernels;
}

using Names = std::vector<std::string>;

// The reason of the decision on two instructions of the module before fusion.
std::string Reason(const Compilation& compiled, std::string_view producer,
                   std::string_view consumer) {
  for (const FusionDecision& d : compiled.decisions) {
    if (compiled.before_fusion->name(d.producer) == producer &&
        compiled.before_fusion->name(d.consumer) == consumer) {
      return (d.is_fused ? "fused: " : "not fused: ") + d.reason;
    }
  }
  return "no decision";
}

// Even where a library multiplies matrices.
TEST(Fusion, ProductsOfMatrixAndVectorAreSummedUp) {
  const auto kernels = [](const char* left, const char* out) {
    CompileOptions options;
    options.library_calls = true;
    const auto compiled = Compile(Parsed(fmt::format(R"(HloModule m
ENTRY e {{ x = f32[{},512] parameter(0) y = f32[512,512] parameter(1)
  ROOT r = f32[{}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }})",
                                                     left, out)),
                                  options);
    EXPECT_TRUE(compiled.has_value());
    return Kernels(*compiled);
  };
  EXPECT_EQ(kernels("1", "1,512"), Names{"input_reshape_multiply_reduce_fusion/1"});
  EXPECT_TRUE(kernels("16", "16,512").empty());
}

// One query over cached values of shape batch, position, head, feature: the values are read as they
// lie.
TEST(Fusion, CachedValuesAreNotTransposed) {
  CompileOptions options;
  options.library_calls = true;
  const auto compiled = Compile(Parsed(R"(HloModule m
ENTRY e { p = f32[1,16,1,4096] parameter(0) v = f32[1,4096,16,64] parameter(1)
  ROOT r = f32[1,16,1,64] dot(p, v), lhs_batch_dims={0,1}, rhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_contracting_dims={1} })"),
                                options);
  ASSERT_TRUE(compiled.has_value());
  EXPECT_EQ(compiled->kernels.size(), 1u) << ::testing::PrintToString(Kernels(*compiled));
}

TEST(Fusion, SumOfProductsIsOneKernel) {
  const auto compiled = Compiled(R"(ENTRY e {
  x = f32[1024,1024] parameter(0) y = f32[1024,1024] parameter(1) z = f32[1024,1024] parameter(2)
  p = f32[1024,1024] multiply(y, z) q = f32[1024,1024] add(x, p) zero = f32[] constant(0)
  ROOT r = f32[] reduce(q, zero), dimensions={0,1}, to_apply=sum })");
  EXPECT_EQ(Kernels(compiled), Names{"input_multiply_add_reduce_fusion/1"});
  EXPECT_EQ(Reason(compiled, "p", "r"), "fused: 8.4 MB moved less");
}

TEST(Fusion, ExpensiveFunctionsAreComputedOnce) {
  const auto compiled = Compiled(R"(ENTRY e {
  x = f32[512,512] parameter(0) t = f32[512,512] tanh(x) zero = f32[] constant(0)
  s = f32[512] reduce(t, zero), dimensions={0}, to_apply=sum
  b = f32[512,512] broadcast(s), dimensions={1} ROOT r = f32[512,512] subtract(t, b) })");
  EXPECT_EQ(Kernels(compiled), (Names{"tanh/1", "reduce/1", "loop_subtract_fusion/1"}));
  EXPECT_EQ(Reason(compiled, "t", "r"),
            "not fused: 2 users, 524288 elements computed instead of 262144");
}

TEST(Fusion, CheapProducersAreComputedAgain) {
  const auto compiled = Compiled(R"(ENTRY e {
  x = f32[512,512] parameter(0) t = f32[512,512] negate(x) zero = f32[] constant(0)
  s = f32[512] reduce(t, zero), dimensions={0}, to_apply=sum
  b = f32[512,512] broadcast(s), dimensions={1} ROOT r = f32[512,512] subtract(t, b) })");
  EXPECT_EQ(Kernels(compiled),
            (Names{"input_negate_reduce_fusion/1", "loop_negate_subtract_fusion/1"}));
}

// A row is gone through again while it is in the cache: what is kept is not written.
TEST(Fusion, RowsAreReducedAndReadInOneKernel) {
  const auto compiled = Compiled(R"(ENTRY e {
  x = f32[512,512] parameter(0) t = f32[512,512] tanh(x) zero = f32[] constant(0)
  s = f32[512] reduce(t, zero), dimensions={1}, to_apply=sum q = f32[512] sqrt(s)
  b = f32[512,512] broadcast(q), dimensions={0} ROOT r = f32[512,512] subtract(t, b) })");
  EXPECT_EQ(Kernels(compiled), Names{"loop_tanh_reduce_sqrt_subtract_fusion/1"});
}

// What another kernel reads in between would wait for what it is itself waited for.
TEST(Fusion, RowsThatOthersReadInBetweenStayApart) {
  const auto compiled = Compiled(R"(ENTRY e {
  x = f32[512,512] parameter(0) zero = f32[] constant(0)
  s = f32[512] reduce(x, zero), dimensions={1}, to_apply=sum
  w = f32[512] sort(s), dimensions={0}, to_apply=less
  b = f32[512,512] broadcast(w), dimensions={0} c = f32[512,512] broadcast(s), dimensions={0}
  d = f32[512,512] add(b, c) ROOT r = f32[512,512] subtract(x, d) })");
  EXPECT_EQ(Kernels(compiled), (Names{"reduce/1", "sort/1", "add/1", "loop_subtract_fusion/1"}));
}

TEST(Fusion, ExpensiveFunctionsAreNotFusedIntoBroadcasts) {
  const auto compiled = Compiled(R"(ENTRY e {
  x = f32[512] parameter(0) y = f32[512,512] parameter(1) n = f32[512] negate(x) q = f32[512] sqrt(n)
  b = f32[512,512] broadcast(q), dimensions={0} ROOT r = f32[512,512] subtract(y, b) })");
  EXPECT_EQ(Kernels(compiled), (Names{"loop_negate_sqrt_fusion/1", "loop_subtract_fusion/1"}));
}

TEST(Fusion, SiblingsThatReadTheSameBecomeOne) {
  const auto compiled = Compiled(R"(ENTRY e {
  x = f32[512,512] parameter(0) zero = f32[] constant(0) q = f32[512,512] multiply(x, x)
  s = f32[512] reduce(x, zero), dimensions={1}, to_apply=sum
  v = f32[512] reduce(q, zero), dimensions={1}, to_apply=sum
  w = f32[512] reduce(q, zero), dimensions={0}, to_apply=sum
  ROOT r = (f32[512], f32[512], f32[512]) tuple(s, v, w) })");
  EXPECT_EQ(Kernels(compiled),
            (Names{"input_multiply_reduce_fusion/2", "input_multiply_reduce_fusion.1/1"}));
}

TEST(Fusion, ProducersJoinTheirReaders) {
  const auto compiled = Compiled(R"(ENTRY e {
  x = f32[512,512] parameter(0) y = f32[512,512] parameter(1)
  a = f32[512,512] tanh(x) b = f32[512,512] add(a, y)
  ROOT r = (f32[512,512], f32[512,512]) tuple(a, b) })");
  EXPECT_EQ(Kernels(compiled), Names{"loop_tanh_add_fusion/2"});
}

TEST(Fusion, NoProducerJoinsAReaderThatAlsoDependsOnItOtherwise) {
  const auto compiled = Compiled(R"(ENTRY e {
  x = f32[64,64] parameter(0) a = f32[64,64] tanh(x)
  d = f32[64,64] dot(a, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[64,64] add(a, d)
  ROOT r = (f32[64,64], f32[64,64]) tuple(a, b) })");
  EXPECT_EQ(Kernels(compiled), (Names{"tanh/1", "add/1"}));
}

TEST(Fusion, UpdatesInPlaceTakeTheUpdateIn) {
  const std::string text = R"(ENTRY e {
  x = f32[64,64] parameter(0) u = f32[1,64] parameter(1) i = s32[] parameter(2) z = s32[] constant(0)
  n = f32[1,64] negate(u) ROOT r = f32[64,64] dynamic-update-slice(x, n, i, z) })";
  const auto compiled = Compiled(text);
  EXPECT_EQ(Kernels(compiled), Names{"loop_negate_dynamic_update_slice_fusion/1"});
}

TEST(Fusion, WhatIsUpdatedInPlaceIsNotReadInTheKernel) {
  const auto compiled = Compiled(R"(ENTRY e {
  x = f32[64,64] parameter(0) i = s32[] parameter(1) z = s32[] constant(0)
  cut = f32[1,64] dynamic-slice(x, i, z), dynamic_slice_sizes={1,64}
  n = f32[1,64] negate(cut) ROOT r = f32[64,64] dynamic-update-slice(x, n, z, z) })");
  EXPECT_EQ(Kernels(compiled),
            (Names{"dynamic-slice/1", "loop_negate_dynamic_update_slice_fusion/1"}));
  EXPECT_EQ(Reason(compiled, "cut", "r"), "not fused: x is updated in place and read here");
}

TEST(Fusion, LoopsAreFusedInside) {
  const auto compiled = Compiled(R"(
body { p = (f32[64], s32[]) parameter(0) v = f32[64] get-tuple-element(p), index=0
  i = s32[] get-tuple-element(p), index=1 one = s32[] constant(1) j = s32[] add(i, one)
  n = f32[64] negate(v) c = f32[64] cosine(n) ROOT t = (f32[64], s32[]) tuple(c, j) }
condition { p.1 = (f32[64], s32[]) parameter(0) i.1 = s32[] get-tuple-element(p.1), index=1
  ten = s32[] constant(10) ROOT l = pred[] compare(i.1, ten), direction=LT }
ENTRY e { x = (f32[64], s32[]) parameter(0)
  ROOT w = (f32[64], s32[]) while(x), condition=condition, body=body })");
  EXPECT_EQ(Kernels(compiled), (Names{"add/1", "loop_negate_cosine_fusion/1", "compare/1"}));
}

TEST(Fusion, KernelsStaySmall) {
  std::string text = "ENTRY e { v0 = f32[8] parameter(0)\n";
  for (int k = 1; k <= 1000; ++k) text += fmt::format("v{} = f32[8] cosine(v{})\n", k, k - 1);
  text += "ROOT r = f32[8] negate(v1000) }";
  const auto compiled = Compiled(text);
  EXPECT_EQ(compiled.kernels.size(), 5u);
  for (const hlo::Computation& c : compiled.module->computations()) {
    EXPECT_LE(c.instruction_count, 210u);
  }
  // On a GPU a launch costs more than code: the rounds of Threefry are one kernel.
  EXPECT_EQ(Compiled(text, true).kernels.size(), 2u);
}

// Stages of Runge and Kutta's method, over two parts of so many elements.
std::string Stages(int count, int part) {
  std::string body, last = "x";
  for (int k = 0; k < count; ++k) {
    body += fmt::format(
        "  a_{0} = f32[{1}] slice({2}), slice={{[0:{1}]}} b_{0} = f32[{1}] slice({2}), "
        "slice={{[{1}:{3}]}} y_{0} = f32[{1}] multiply(a_{0}, b_{0}) "
        "z_{0} = f32[{1}] add(y_{0}, b_{0}) w_{0} = f32[{1}] subtract(z_{0}, a_{0}) "
        "c_{0} = f32[{3}] concatenate(z_{0}, w_{0}), dimensions={{0}} "
        "v_{0} = f32[{3}] add(c_{0}, {2})\n",
        k, part, last, 2 * part);
    last = fmt::format("v_{}", k);
  }
  return fmt::format(
      "ENTRY e {{\n  x = f32[{0}] parameter(0)\n{1}  ROOT r = f32[{0}] negate({2}) }}", 2 * part,
      body, last);
}

// What a stage reads is read four times by the one after it: 4^20 in one loop. Small arrays are
// computed once; large ones are written once in every few stages.
TEST(Fusion, RecomputationIsBounded) {
  EXPECT_EQ(Kernels(Compiled(Stages(20, 2))).size(), 1u);
  EXPECT_GE(Kernels(Compiled(Stages(20, 4000))).size(), 10u);
}

// A loop over few elements is a loop: it would divide 30 times as often.
TEST(Fusion, SmallLoopsComputeExpensiveFunctionsOnce) {
  const auto compiled = Compiled(R"(ENTRY e {
  x = f32[16] parameter(0) y = f32[16,30] parameter(1) z = f32[16] parameter(2)
  d = f32[16] divide(x, z) b = f32[16,30] broadcast(d), dimensions={0}
  ROOT r = f32[16,30] multiply(b, y) })");
  EXPECT_EQ(Kernels(compiled), (Names{"divide/1", "loop_multiply_fusion/1"}));
}

TEST(Fusion, ManyPartsAreCopied) {
  std::string parameters, parts;
  for (int k = 0; k < 9; ++k) {
    parameters += fmt::format("  p_{0} = f32[900] parameter({0})\n", k);
    parts += fmt::format("{}p_{}", k == 0 ? "" : ", ", k);
  }
  const auto compiled =
      Compiled(fmt::format("ENTRY e {{\n{}  c = f32[8100] concatenate({}), dimensions={{0}}\n"
                           "  ROOT r = f32[8100] negate(c) }}",
                           parameters, parts));
  EXPECT_EQ(Kernels(compiled), (Names{"concatenate/1", "negate/1"}));
  EXPECT_EQ(Reason(compiled, "c", "r"), "not fused: it has 9 parts");
}

TEST(Fusion, SlicesThatArePutTogetherAreCopiedWhereTheyLie) {
  std::string slices, parts;
  for (int k = 0; k < 9; ++k) {
    slices += fmt::format(
        "  s_{0} = f32[16,100] slice(x), slice={{[0:16], [{0}:{1}]}}\n  r_{0} = f32[16,1,100] "
        "reshape(s_{0})\n",
        k, k + 100);
    parts += fmt::format("{}r_{}", k == 0 ? "" : ", ", k);
  }
  const auto compiled = Compiled(fmt::format(
      "ENTRY e {{\n  x = f32[16,200] parameter(0)\n{}  ROOT c = f32[16,9,100] concatenate({}), "
      "dimensions={{1}} }}",
      slices, parts));
  EXPECT_EQ(Kernels(compiled), (Names{"loop_slice_reshape_concatenate_fusion/1"}));
  // Every other element is no row.
  const auto strided = Compiled(fmt::format(
      "ENTRY e {{\n  x = f32[16,200] parameter(0)\n{}  o = f32[16,100] slice(x), slice={{[0:16], "
      "[0:200:2]}}\n  q = f32[16,1,100] reshape(o)\n  ROOT c = f32[16,10,100] concatenate({}, q), "
      "dimensions={{1}} }}",
      slices, parts));
  EXPECT_EQ(Kernels(strided), (Names{"slice/1", "loop_slice_reshape_concatenate_fusion/1"}));
}

// What another part is taken from has to be an array in memory: the first slice is made.
TEST(Fusion, SlicesOfSlicesThatArePutTogetherAreCopied) {
  std::string slices, parts = "q_0, c";
  for (int k = 0; k < 9; ++k) {
    slices += fmt::format(
        "  s_{0} = f32[32,64] slice(x), slice={{[{1}:{2}], [0:64]}}\n  q_{0} = f32[2048] "
        "reshape(s_{0})\n",
        k, k * 16, k * 16 + 32);
    if (k > 0) parts += fmt::format(", q_{}", k);
  }
  const auto compiled =
      Compiled(fmt::format("ENTRY e {{\n  x = f32[4096,64] parameter(0)\n{}  c = f32[1024] "
                           "slice(q_0), slice={{[0:1024]}}\n"
                           "  ROOT o = f32[19456] concatenate({}), dimensions={{0}} }}",
                           slices, parts));
  EXPECT_EQ(Kernels(compiled), (Names{"slice/1", "loop_reshape_slice_concatenate_fusion/1"}));
  EXPECT_EQ(Reason(compiled, "s_0", "o"), "not fused: o copies its parts");
}

TEST(Fusion, KernelsReadFewValues) {
  std::string text = "ENTRY e { v0 = f32[8] parameter(0)\n";
  for (int k = 1; k <= 300; ++k) {
    text += fmt::format("p{0} = f32[8] parameter({0}) v{0} = f32[8] add(v{1}, p{0})\n", k, k - 1);
  }
  const auto compiled = Compiled(text + "ROOT r = f32[8] negate(v300) }");
  EXPECT_LE(compiled.kernels.size(), 6u);
  for (const InstructionId id : compiled.kernels) {
    EXPECT_LE(compiled.module->operands(id).size(), 64u);
  }
}

// Graphs of everything that makes kernels and what parts them.
std::string RandomGraph(std::mt19937& random) {
  const auto below = [&](size_t end) { return random() % end; };
  std::string text = std::string(kSum) + "ENTRY e {\n";
  std::vector<std::string> matrices, vectors;
  for (int k = 0; k < 3; ++k) {
    matrices.push_back(fmt::format("p{}", k));
    text += fmt::format("p{0} = f32[8,8] parameter({0})\n", k);
  }
  text += "q = f32[8] parameter(3)\nzero = f32[] constant(0)\n";
  vectors.emplace_back("q");
  const size_t count = 5 + below(60);
  for (size_t k = 0; k < count; ++k) {
    const std::string name = fmt::format("v{}", k);
    const std::string &a = matrices[below(matrices.size())], &b = matrices[below(matrices.size())];
    const std::string &c = vectors[below(vectors.size())], &d = vectors[below(vectors.size())];
    std::vector<std::string>* made = &matrices;
    const size_t kind = below(12);
    if (kind == 0) {
      text += fmt::format("{} = f32[8,8] tanh({})\n", name, a);
    } else if (kind == 1) {
      text += fmt::format(
          "{} = f32[8,8] dot({}, {}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n",
          name, a, b);
    } else if (kind == 2) {
      text += fmt::format("{} = f32[8,8] broadcast({}), dimensions={{{}}}\n", name, c, below(2));
    } else if (kind == 3) {
      text += fmt::format("{} = f32[8,8] transpose({}), dimensions={{1,0}}\n", name, a);
    } else if (kind <= 6) {
      text += fmt::format("{} = f32[8,8] {}({}, {})\n", name, kind == 4 ? "add" : "subtract", a, b);
    } else if (kind <= 8) {
      text += fmt::format("{} = f32[8] reduce({}, zero), dimensions={{{}}}, to_apply=sum\n", name,
                          a, below(2));
      made = &vectors;
    } else if (kind == 9) {
      text += fmt::format("{} = f32[8] maximum({}, {})\n", name, c, d);
      made = &vectors;
    } else if (kind == 10) {
      text += fmt::format("{} = f32[8,8] clamp({}, {}, {})\n", name, a, b, a);
    } else {
      text += fmt::format("{} = f32[8] negate({})\n", name, c);
      made = &vectors;
    }
    made->push_back(name);
  }
  return text +
         fmt::format("ROOT r = (f32[8,8], f32[8,8], f32[8], f32[8,8]) tuple({}, {}, {}, {})\n}}",
                     matrices.back(), matrices[below(matrices.size())], vectors.back(),
                     matrices[below(matrices.size())]);
}

TEST(Fusion, RandomGraphsMakeNoCycles) {
  std::mt19937 random(3);
  for (int k = 0; k < 400; ++k) {
    const std::string text = RandomGraph(random);
    const Meaning meaning = CompareMeaning(Parsed(text), {}, 0, 5);
    ASSERT_TRUE(meaning.was_run) << meaning.why_not << meaning.problem << "\n" << text;
    ASSERT_EQ(meaning.problem, "") << text;
    ASSERT_TRUE(meaning.same_bits) << text;
    for (uint32_t i = 0; i < meaning.compilation.module->instructions().size(); ++i) {
      const InstructionId id(i);
      if ((*meaning.compilation.module)[id].opcode != Opcode::kFusion) continue;
      EXPECT_TRUE(IsKernel(*meaning.compilation.module, id)) << text;
    }
  }
}

}  // namespace
}  // namespace hloscope::compile
