// Why kernels differ: what XLA did wrong is told from what the simulated GPU does wrong, whatever
// step of it is broken, and from arithmetic that may differ.
#include "core/debug/explain/kernels/explain_kernel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "core/debug/explain/diverge/initial_values.h"
#include "core/debug/explain/kernels/exact_meaning.h"
#include "core/debug/explain/kernels/rounding_budget.h"
#include "core/debug/explain/kernels/split_products.h"
#include "core/debug/explain/kernels/value_signatures.h"
#include "core/debug/explain/kernels/wrong_elements.h"
#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/step_changer.h"
#include "tests/hlo/parsed.h"

namespace hloscope::debug {
namespace {

using hlo::Literal;
using ptx::Instruction;
using ptx::Operation;
using ptx::Slot;
using ptx::Step;
using ptx::Warp;

// 64 threads; %r2 and %r3 are an element of each operand, what is left in %r4 is stored.
std::string PtxOf(const std::string& instructions) {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 .ptr "
         ".align 16 k_0, .param .u64 .ptr .align 16 k_1, .param .u64 .ptr .align 128 "
         "k_2)\n.reqntid "
         "64, 1, 1\n{\n.reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<40>;\n.reg .b64 "
         "%rd<20>;\n"
         ".shared .align 16 .b8 sh[256];\n"
         "ld.param.b64 %rd1, [k_0];\nld.param.b64 %rd2, [k_1];\nld.param.b64 %rd3, [k_2];\n"
         "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd4, %r1, 4;\nadd.s64 %rd5, %rd1, %rd4;\n"
         "ld.global.b32 %r2, [%rd5];\nadd.s64 %rd6, %rd2, %rd4;\nld.global.b32 %r3, [%rd6];\n" +
         instructions + "\nadd.s64 %rd7, %rd3, %rd4;\nst.global.b32 [%rd7], %r4;\nret;\n}\n";
}

std::string ModuleOf(const std::string& type, const std::string& body) {
  return fmt::format(
      "HloModule m\nfused {{\n  p0 = {0}[64] parameter(0)\n  p1 = {0}[64] parameter(1)\n{1}}}\n"
      "ENTRY e {{\n  a = {0}[64] parameter(0)\n  b = {0}[64] parameter(1)\n"
      "  ROOT fusion = {0}[64] fusion(a, b), kind=kLoop, calls=fused\n}}\n",
      type, body);
}

struct Meaning {
  std::string type, hlo, ptx;
  Operation broken = Operation::kNop;
};

KernelQuestion QuestionOf(const Meaning& meaning) {
  KernelQuestion question;
  question.alone = hlo::Parsed(ModuleOf(meaning.type, meaning.hlo));
  const hlo::Shape shape = question.alone->shape(question.alone->entry().root);
  question.results = {shape};
  replay::KernelCase& kernels = question.kernels;
  kernels.instruction = "fusion";
  kernels.code = {{"k.ptx", PtxOf(meaning.ptx)}};
  kernels.launches = {{0, "k", {1, 1, 1}, {64, 1, 1}, 0, {{0, 0, 256}, {1, 0, 256}, {2, 0, 256}}}};
  kernels.operands = {{0, 0, 256}, {1, 0, 256}};
  kernels.results = {{2, 0, 256}};
  for (int operand = 0; operand < 2; ++operand) {
    std::vector<std::byte> bytes(256);
    for (int i = 0; i < 64; ++i) {
      const float f = 0.3f * static_cast<float>(i + 1) + 1.7f * static_cast<float>(operand);
      const int32_t n = 1000 * i + 77 * (operand + 1);
      std::memcpy(bytes.data() + 4 * i, meaning.type == "f32" ? static_cast<const void*>(&f) : &n,
                  4);
    }
    kernels.memory.push_back(bytes);
    question.arguments.push_back(Literal::Dense(shape, bytes));
  }
  kernels.memory.emplace_back(256, std::byte{0xff});
  // As if another compilation were right: that alone must not do.
  question.other_compilations = [] {
    return std::vector<DivergeTry>{{"compiled with other tiles", true, ""}};
  };
  return question;
}

std::optional<KernelExplanation> Explained(const KernelQuestion& question) {
  RunSpec request;
  request.reference.name = replay::ReferencePlatform().name;
  request.budget.threads = 1;
  auto explained = ExplainKernel(question, request, {});
  EXPECT_TRUE(explained.has_value()) << explained.error().ToString();
  return explained.has_value() ? *std::move(explained) : std::nullopt;
}

// One kind of step adds a bit to what it writes.
class Breaker : public ptx::StepChanger {
 public:
  explicit Breaker(Operation operation) : operation_(operation) { usual_.clear(); }
  Step Changed(const Instruction& instruction, Step usual) const override {
    if (instruction.operation != operation_) return usual;
    usual_[operation_] = usual;
    return [](Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) {
      usual_[in.operation](warp, in, slots, mask);
      for (uint32_t lane = 0; lane < ptx::kLanes; ++lane) {
        if ((mask >> lane & 1) == 0) continue;
        if (slots[0].bytes == 0) {
          const uint32_t turned = ~ptx::ReadMask(warp, slots[0]);
          ptx::WriteMask(warp, slots[0], turned, 1u << lane);
        } else if (slots[0].bytes == 4) {
          ptx::WriteLane(warp, slots[0], lane, ptx::ReadLane(warp, slots[0], lane) + 0x100000);
        } else if (slots[0].bytes == 2) {
          ptx::WriteLane(warp, slots[0], lane, ptx::ReadLane(warp, slots[0], lane) + 0x20);
        }
      }
    };
  }

 private:
  Operation operation_;
  static inline std::map<Operation, Step> usual_;
};

std::vector<Meaning> Meanings() {
  const auto binary = [](const std::string& type, const std::string& opcode) {
    return fmt::format("  ROOT r = {}[64] {}(p0, p1)\n", type, opcode);
  };
  const auto unary = [](const std::string& type, const std::string& opcode) {
    return fmt::format("  ROOT r = {}[64] {}(p0)\n", type, opcode);
  };
  const std::string sum = "  m = f32[64] multiply(p0, p1)\n  ROOT r = f32[64] add(m, p1)\n";
  const std::string choice =
      "  c = pred[64] compare(p0, p1), direction=GT\n  ROOT r = f32[64] select(c, p0, p1)\n";
  const std::string reversed = "  ROOT r = f32[64] reverse(p0), dimensions={0}\n";
  const std::string rounded = "  b = bf16[64] convert(p0)\n  ROOT r = f32[64] convert(b)\n";
  const std::string shifted =
      "  c = s32[] constant(3)\n  b = s32[64] broadcast(c), dimensions={}\n"
      "  ROOT r = s32[64] shift-left(p0, b)\n";
  const std::string widened = "  s = s32[64] convert(p0)\n  ROOT r = f32[64] convert(s)\n";
  const std::string exchange =
      "mov.b32 %r5, sh;\nshl.b32 %r6, %r1, 2;\nadd.s32 %r7, %r5, %r6;\n"
      "st.shared.b32 [%r7], %r2;\nbar.sync 0;\nsub.s32 %r8, 252, %r6;\nadd.s32 %r9, %r5, %r8;\n"
      "ld.shared.b32 %r4, [%r9];";
  const std::string swap =
      "xor.b32 %r5, %r1, 31;\nand.b32 %r5, %r5, 31;\nshfl.sync.idx.b32 %r6, %r2, %r5, 31, -1;\n"
      "mov.b32 %r7, sh;\nshl.b32 %r8, %r1, 2;\nxor.b32 %r9, %r8, 128;\nadd.s32 %r10, %r7, %r9;\n"
      "st.shared.b32 [%r10], %r6;\nbar.sync 0;\nadd.s32 %r11, %r7, %r8;\n"
      "ld.shared.b32 %r4, [%r11];";
  return {
      {"f32", binary("f32", "add"), "add.rn.f32 %r4, %r2, %r3;", Operation::kAdd},
      {"f32", binary("f32", "subtract"), "sub.rn.f32 %r4, %r2, %r3;", Operation::kSub},
      {"f32", binary("f32", "multiply"), "mul.rn.f32 %r4, %r2, %r3;", Operation::kMul},
      {"f32", binary("f32", "divide"), "div.rn.f32 %r4, %r2, %r3;", Operation::kDiv},
      {"f32", binary("f32", "maximum"), "max.NaN.f32 %r4, %r2, %r3;", Operation::kMax},
      {"f32", binary("f32", "minimum"), "min.NaN.f32 %r4, %r2, %r3;", Operation::kMin},
      {"f32", sum, "fma.rn.f32 %r4, %r2, %r3, %r3;", Operation::kFma},
      {"f32", choice, "setp.gt.f32 %p1, %r2, %r3;\nselp.b32 %r4, %r2, %r3, %p1;", Operation::kSetp},
      {"f32", choice, "setp.gt.f32 %p1, %r2, %r3;\nselp.b32 %r4, %r2, %r3, %p1;", Operation::kSelp},
      {"f32", unary("f32", "negate"), "neg.f32 %r4, %r2;", Operation::kNeg},
      {"f32", unary("f32", "abs"), "abs.f32 %r4, %r2;", Operation::kAbs},
      {"f32", unary("f32", "sqrt"), "sqrt.rn.f32 %r4, %r2;", Operation::kSqrt},
      {"f32", rounded, "cvt.rn.bf16.f32 %rs1, %r2;\nmov.b32 %r4, {0, %rs1};", Operation::kCvt},
      {"f32", rounded, "cvt.rn.bf16.f32 %rs1, %r2;\nmov.b16 %rs2, 0;\nmov.b32 %r4, {%rs2, %rs1};",
       Operation::kPack},
      {"f32", widened, "cvt.rzi.s32.f32 %r5, %r2;\ncvt.rn.f32.s32 %r4, %r5;", Operation::kCvt},
      {"f32", reversed, exchange, Operation::kLd},
      {"f32", reversed, swap, Operation::kShfl},
      {"s32", binary("s32", "add"), "add.s32 %r4, %r2, %r3;", Operation::kAdd},
      {"s32", binary("s32", "multiply"), "mul.lo.s32 %r4, %r2, %r3;", Operation::kMul},
      {"s32", binary("s32", "and"), "and.b32 %r4, %r2, %r3;", Operation::kAnd},
      {"s32", binary("s32", "or"), "or.b32 %r4, %r2, %r3;", Operation::kOr},
      {"s32", binary("s32", "xor"), "xor.b32 %r4, %r2, %r3;", Operation::kXor},
      {"s32", binary("s32", "divide"), "div.s32 %r4, %r2, %r3;", Operation::kDiv},
      {"s32", shifted, "shl.b32 %r4, %r2, 3;", Operation::kShl},
      {"s32", unary("s32", "not"), "not.b32 %r4, %r2;", Operation::kNot},
      {"s32", unary("s32", "popcnt"), "popc.b32 %r4, %r2;", Operation::kPopc},
      {"s32", unary("s32", "copy"), "prmt.b32 %r4, %r2, %r2, 0x3210U;", Operation::kPrmt},
  };
}

template <typename T>
std::vector<int64_t> Counts(hlo::ElementType type, std::vector<T> actual, std::vector<T> expected,
                            std::vector<T> once_more) {
  const hlo::Shape shape = hlo::Shape::Array(type, {static_cast<int64_t>(actual.size())});
  return FurtherInitialValues(Literal::Of<T>(shape, actual), Literal::Of<T>(shape, expected),
                              Literal::Of<T>(shape, once_more));
}

TEST(InitialValues, AreCountedByWhatOneMoreMakes) {
  using enum hlo::ElementType;
  // Of a sum, where one element hardly says anything.
  EXPECT_EQ(Counts<float>(kF32, {1e9f, 10 + 93 * 3.5f}, {1e9f, 10}, {1e9f, 13.5f}).front(), 93);
  const float product = 2 * std::pow(1.25f, 31.0f);
  EXPECT_EQ(Counts<float>(kF32, {product}, {2}, {2.5f}).back(), 31);
  // Around the ends of the type.
  EXPECT_EQ(Counts<int8_t>(kS8, {static_cast<int8_t>(5 + 93 * 7)}, {5}, {12}).front(), 93);
  EXPECT_EQ(Counts<float>(kF32, {12}, {10}, {10}), std::vector<int64_t>());
  EXPECT_EQ(Counts<float>(kF32, {9}, {10}, {11}), std::vector<int64_t>());
}

TEST(ExplainKernel, RightKernelsNeedNoExplanation) {
  for (const Meaning& meaning : Meanings()) {
    KernelQuestion question = QuestionOf(meaning);
    EXPECT_FALSE(Explained(question).has_value()) << meaning.ptx;
    question.demand =
        MeansEveryBit(*question.alone) ? KernelDemand::kEveryBit : KernelDemand::kRoundings;
    EXPECT_FALSE(Explained(question).has_value()) << meaning.ptx;
  }
}

TEST(ExplainKernel, AFaultOfTheSimulatedGpuIsNeverXlas) {
  for (const Meaning& meaning : Meanings()) {
    KernelQuestion question = QuestionOf(meaning);
    const Breaker breaker(meaning.broken);
    question.fault = &breaker;
    const auto explained = Explained(question);
    ASSERT_TRUE(explained.has_value()) << meaning.ptx;
    EXPECT_EQ(explained->cause, Cause::kUnexplained) << meaning.ptx;
    EXPECT_FALSE(explained->confirmed);
    EXPECT_FALSE(explained->finding.reference_agrees);
    EXPECT_FALSE(explained->finding.reference_difference.empty()) << meaning.ptx;
  }
}

Meaning SwappedOperands() {
  return {"f32", "  ROOT r = f32[64] subtract(p0, p1)\n", "sub.rn.f32 %r4, %r3, %r2;"};
}

TEST(ExplainKernel, AWrongKernelIsAMiscompileWhereAnotherCompilationIsRight) {
  KernelQuestion question = QuestionOf(SwappedOperands());
  const auto explained = Explained(question);
  ASSERT_TRUE(explained.has_value());
  EXPECT_EQ(explained->cause, Cause::kMiscompile);
  EXPECT_TRUE(explained->confirmed);
  EXPECT_TRUE(explained->finding.reference_agrees);
  EXPECT_GT(explained->finding.reference_checked, 64);
  EXPECT_EQ(explained->tries.back().what, "compiled with other tiles");
  const auto without = [&](std::vector<DivergeTry> tries) {
    question.other_compilations = [tries] { return tries; };
    return Explained(question)->cause;
  };
  EXPECT_EQ(without({{"compiled with other tiles", false, ""}}), Cause::kUnexplained);
  EXPECT_EQ(without({}), Cause::kUnexplained);
}

TEST(ExplainKernel, NamesTheThreadTheLineAndTheValues) {
  KernelQuestion question =
      QuestionOf({"f32", "  s = f32[64] subtract(p0, p1)\n  ROOT r = f32[64] multiply(s, p1)\n",
                  "sub.rn.f32 %r5, %r2, %r3;\nmul.rn.f32 %r4, %r5, %r2;"});
  const auto explained = Explained(question);
  ASSERT_TRUE(explained.has_value());
  const KernelFinding& finding = explained->finding;
  EXPECT_EQ(finding.kernel, "k");
  ASSERT_EQ(finding.index.size(), 1u);
  EXPECT_EQ(finding.thread[0], finding.index[0]);
  EXPECT_EQ(finding.line, 24u);
  EXPECT_EQ(finding.stores, 1);
  ASSERT_GE(finding.slice.size(), 6u);
  EXPECT_EQ(finding.slice.back().text, "st.global.b32 [%rd7], %r4");
  const auto line = std::ranges::find(finding.slice, "sub.rn.f32 %r5, %r2, %r3", &KernelLine::text);
  ASSERT_NE(line, finding.slice.end());
  EXPECT_EQ(line->instruction, "s");
  EXPECT_TRUE(line->same_bits);
  EXPECT_NE(line->values.find("%r5 = "), std::string::npos);
}

// Where in the order of suspicion the line is; 0: the slice has no such line.
uint32_t RankOf(const KernelFinding& finding, const std::string& text) {
  const auto line = std::ranges::find(finding.slice, text, &KernelLine::text);
  return line == finding.slice.end() ? 0 : line->rank;
}

TEST(ExplainKernel, RanksLinesAfterACorrectValueLast) {
  const auto explained = Explained(
      QuestionOf({"f32", "  s = f32[64] subtract(p0, p1)\n  ROOT r = f32[64] multiply(s, p1)\n",
                  "sub.rn.f32 %r5, %r2, %r3;\nmov.b32 %r6, %r2;\nmul.rn.f32 %r4, %r5, %r6;"}));
  ASSERT_TRUE(explained.has_value());
  const KernelFinding& finding = explained->finding;
  const uint32_t wrong = RankOf(finding, "mov.b32 %r6, %r2");
  EXPECT_GT(wrong, 0u);
  EXPECT_LT(wrong, RankOf(finding, "sub.rn.f32 %r5, %r2, %r3"));
  EXPECT_LT(wrong, RankOf(finding, "ld.global.b32 %r3, [%rd6]"));
}

TEST(ExplainKernel, WhereANanBeginsIsLookedAtFirst) {
  const auto explained = Explained(
      QuestionOf({"f32", "  m = f32[64] multiply(p0, p1)\n  ROOT r = f32[64] add(m, p1)\n",
                  "mul.rn.f32 %r5, %r2, 0f7F800000;\nsub.rn.f32 %r6, %r5, %r5;\n"
                  "add.rn.f32 %r7, %r6, %r3;\nmul.rn.f32 %r8, %r7, %r7;\n"
                  "add.rn.f32 %r4, %r8, %r3;"}));
  ASSERT_TRUE(explained.has_value());
  EXPECT_EQ(RankOf(explained->finding, "mul.rn.f32 %r5, %r2, 0f7F800000"), 1u);
}

TEST(ExplainKernel, WhatOnlyWrongElementsComeFromIsLookedAtFirst) {
  const auto explained = Explained(
      QuestionOf({"f32", "  ROOT r = f32[64] add(p0, p1)\n",
                  "setp.lt.u32 %p1, %r1, 40;\nsub.rn.f32 %r5, %r2, %r3;\nmov.b32 %r6, %r5;\n"
                  "add.rn.f32 %r4, %r2, %r3;\n@%p1 bra L;\nmov.b32 %r4, %r6;\nL:\n"}));
  ASSERT_TRUE(explained.has_value());
  const KernelFinding& finding = explained->finding;
  EXPECT_GE(finding.index[0], 40);
  // Every element comes from the store, which is nearer.
  for (const char* const line :
       {"mov.b32 %r4, %r6", "mov.b32 %r6, %r5", "sub.rn.f32 %r5, %r2, %r3"}) {
    EXPECT_GT(RankOf(finding, line), 0u) << line;
    EXPECT_LT(RankOf(finding, line), RankOf(finding, "st.global.b32 [%rd7], %r4")) << line;
  }
}

TEST(RoundingBudget, WhatComesFromOneSumIsNearerByChanceTogether) {
  const hlo::Shape shape = hlo::Shape::Array(hlo::ElementType::kF32, {100, 100});
  // Of as many elements each are nearer in the first, and then in the second, up to `differing`.
  const auto chance = [&](int together, int differing) {
    std::vector<float> first(10000, 1.0f), second(10000, 1.0f);
    for (int i = 0; i < differing; ++i)
      (i / together % 2 == 0 ? second : first)[static_cast<size_t>(i)] = 2.0f;
    const std::vector meant{Literal::Of<float>(shape, std::vector<float>(10000, 0.0f))};
    return NearerTo(meant, {Literal::Of<float>(shape, first)}, {Literal::Of<float>(shape, second)})
        .chance;
  };
  EXPECT_NEAR(chance(1, 10000), 100, 1);
  EXPECT_GT(chance(100, 10000), 500);
  // Of few sums three quarters of what is possible is four times the chance.
  EXPECT_NEAR(4 * chance(40, 400), 0.756 * 400, 1);
  EXPECT_NEAR(chance(1, 400), 20, 1);
}

TEST(WrongElements, LieAsOnTheDevice) {
  hlo::Shape shape = hlo::Shape::Array(hlo::ElementType::kF32, {2, 3});
  const Literal meant = Literal::Of<float>(shape, std::vector<float>{1, 2, 3, 4, 5, 6});
  const Literal actual = Literal::Of<float>(shape, std::vector<float>{1, 12, 3.00001f, 4, 5.5f, 9});
  const std::vector<uint8_t> rows{0, 1, 0, 0, 2, 1};
  EXPECT_EQ(WrongElements(actual, meant, shape, {}), rows);
  shape.set_layout({.minor_to_major = {0, 1}, .extras = {}});
  const std::vector<uint8_t> columns{0, 0, 1, 2, 0, 1};
  EXPECT_EQ(WrongElements(actual, meant, shape, {}), columns);
}

TEST(ExplainKernel, AMissingStoreIsNamedWithItsGuard) {
  Meaning meaning{"f32", "  ROOT r = f32[64] add(p0, p1)\n",
                  "add.rn.f32 %r4, %r2, %r3;\nsetp.lt.u32 %p1, %r1, 60;\n@!%p1 ret;"};
  const auto explained = Explained(QuestionOf(meaning));
  ASSERT_TRUE(explained.has_value());
  const KernelFinding& finding = explained->finding;
  EXPECT_EQ(finding.stores, 0);
  EXPECT_GT(RankOf(finding, "@!%p1 ret") + RankOf(finding, "st.global.b32 [%rd7], %r4"), 0u);
}

TEST(ExplainKernel, ArithmeticThatMayDifferIsNamed) {
  // x · x − x · x: fma keeps of one product what the other loses.
  const auto explained = Explained(
      QuestionOf({"f32",
                  "  m = f32[64] multiply(p0, p0)\n  n = f32[64] multiply(p0, p0)\n"
                  "  s = f32[64] subtract(m, n)\n  c = f32[] constant(1048576)\n"
                  "  b = f32[64] broadcast(c), dimensions={}\n  ROOT r = f32[64] multiply(s, b)\n",
                  "mul.rn.f32 %r5, %r2, %r2;\nneg.f32 %r5, %r5;\nfma.rn.f32 %r6, %r2, %r2, %r5;\n"
                  "mul.rn.f32 %r4, %r6, 0f49800000;"}));
  ASSERT_TRUE(explained.has_value());
  EXPECT_EQ(explained->cause, Cause::kFma);
  ASSERT_FALSE(explained->finding.look_first.empty());
  const LookFirst& first = explained->finding.look_first[0];
  EXPECT_EQ(first.text, "fma.rn.f32 %r6, %r2, %r2, %r5");
  EXPECT_EQ(first.why, "explains the difference: each fma as a product and a sum, both rounded");
  const auto flushed = Explained(
      QuestionOf({"f32",
                  "  c = f32[] constant(1e-39)\n  b = f32[64] broadcast(c), dimensions={}\n"
                  "  t = f32[64] multiply(p0, b)\n  d = f32[] constant(1e-38)\n"
                  "  e = f32[64] broadcast(d), dimensions={}\n  ROOT r = f32[64] divide(t, e)\n",
                  "mul.rn.ftz.f32 %r5, %r2, 0f000AE398;\ndiv.rn.f32 %r4, %r5, 0f006CE3EE;"}));
  ASSERT_TRUE(flushed.has_value());
  EXPECT_EQ(flushed->cause, Cause::kDenormals);
  EXPECT_TRUE(flushed->confirmed);
}

TEST(SplitProducts, SharesOfKMayDifferPartsMayNotChangePlaces) {
  const hlo::Shape shape = hlo::Shape::Array(hlo::ElementType::kF32, {2, 3});
  const auto literal = [&](std::initializer_list<float> values) {
    return Literal::Of<float>(shape, std::vector(values));
  };
  const ErrorBounds bounds{1e-4, 1e-4};
  const Literal meant = literal({1, 2, 3, 10, 20, 30});
  EXPECT_TRUE(SameSums(literal({4, 5, 6, 7, 17, 27}), meant, bounds));
  EXPECT_FALSE(SameSums(literal({4, 5, 6, 7, 17, 28}), meant, bounds));
  EXPECT_FALSE(SameSums(literal({10, 20, 30, 1, 2, 3}), meant, bounds));
}

TEST(ExplainKernel, NamesTheLineThatLeavesElementsUnwritten) {
  // Two blocks of 32 threads; the second begins 16 elements too early, and what it stores is right.
  KernelQuestion question =
      QuestionOf({"f32", "  ROOT r = f32[64] add(p0, p1)\n", "add.rn.f32 %r4, %r2, %r3;"});
  std::string& text = question.kernels.code[0].text;
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace(".reqntid 64", ".reqntid 32");
  replace("mov.u32 %r1, %tid.x;",
          "mov.u32 %r20, %ctaid.x; shl.b32 %r21, %r20, 4; mov.u32 %r22, %tid.x; "
          "add.s32 %r1, %r21, %r22;");
  question.kernels.launches[0].blocks = {2, 1, 1};
  question.kernels.launches[0].threads = {32, 1, 1};
  const auto found = Explained(question);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->finding.stores, 0);
  ASSERT_FALSE(found->finding.look_first.empty());
  const LookFirst& first = found->finding.look_first[0];
  EXPECT_NE(first.why.find("all elements are as expected"), std::string::npos) << first.why;
  EXPECT_NE(first.text.find("shl.b32 %r21, %r20, 4"), std::string::npos) << first.text;
}

TEST(ExplainKernel, ALineHasToMakeAllResultsRight) {
  // Thrice instead of twice. The factor of one would make the first result right, not the second.
  KernelQuestion question = QuestionOf({"f32", "  ROOT r = f32[64] add(p0, p1)\n",
                                        "mul.rn.f32 %r5, %r2, 0f40400000;\n"
                                        "mul.rn.f32 %r4, %r5, 0f3F800000;\n"
                                        "add.rn.f32 %r6, %r5, %r3;\n"
                                        "ld.param.b64 %rd8, [k_3];\nadd.s64 %rd9, %rd8, %rd4;\n"
                                        "st.global.b32 [%rd9], %r6;"});
  question.alone = hlo::Parsed(
      "HloModule m\nfused {\n  p0 = f32[64] parameter(0)\n  p1 = f32[64] parameter(1)\n"
      "  c = f32[] constant(2)\n  b = f32[64] broadcast(c), dimensions={}\n"
      "  m = f32[64] multiply(p0, b)\n  s = f32[64] add(m, p1)\n"
      "  ROOT t = (f32[64], f32[64]) tuple(m, s)\n}\nENTRY e {\n  a = f32[64] parameter(0)\n"
      "  b = f32[64] parameter(1)\n"
      "  ROOT f = (f32[64], f32[64]) fusion(a, b), kind=kLoop, calls=fused\n}\n");
  std::string& text = question.kernels.code[0].text;
  const std::string last = ".param .u64 .ptr .align 128 k_2";
  text.insert(text.find(last) + last.size(), ", .param .u64 .ptr .align 128 k_3");
  question.results.push_back(question.results[0]);
  question.kernels.memory.push_back(question.kernels.memory[2]);
  question.kernels.launches[0].arguments.push_back({3, 0, 256});
  question.kernels.results.push_back({3, 0, 256});
  const auto found = Explained(question);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->finding.result, 0);
  ASSERT_FALSE(found->finding.look_first.empty());
  EXPECT_EQ(found->finding.look_first[0].text, "mul.rn.f32 %r5, %r2, 0f40400000");
}

TEST(SplitProducts, OnlyPartsThatWereCutFromK) {
  const auto is_split = [](const std::string& parameters, const std::string& body) {
    const auto module = hlo::Parsed("HloModule m\nENTRY e {\n" + parameters + body + "}\n");
    return MayBeSplitProduct(*module, module->shape(module->entry().root));
  };
  const std::string plain = "  a = f32[8,32] parameter(0)\n  b = f32[32,6] parameter(1)\n";
  EXPECT_FALSE(is_split(plain,
                        "  ROOT d = f32[8,6] dot(a, b), lhs_contracting_dims={1}, "
                        "rhs_contracting_dims={0}\n"));
  const std::string dot =
      "  ROOT d = f32[4,8,6] dot(x, y), lhs_batch_dims={1}, lhs_contracting_dims={2}, "
      "rhs_batch_dims={0}, rhs_contracting_dims={1}\n";
  EXPECT_TRUE(is_split(plain, "  x = f32[8,4,8] reshape(a)\n  y = f32[4,8,6] reshape(b)\n" + dot));
  EXPECT_TRUE(is_split(plain,
                       "  r = f32[8,4,8] reshape(a)\n  x = f32[8,4,8] negate(r)\n"
                       "  y = f32[4,8,6] reshape(b)\n" +
                           dot));
  EXPECT_FALSE(is_split("  x = f32[8,4,8] parameter(0)\n  y = f32[4,8,6] parameter(1)\n", dot));
}

std::optional<KernelExplanation> Held(const Meaning& meaning, KernelDemand demand) {
  KernelQuestion question = QuestionOf(meaning);
  question.demand = demand;
  return Explained(question);
}

TEST(ExplainKernel, WithinTheBoundsEveryBitIsMeantWhereNothingRounds) {
  // A neighbour's value is as good as its own by any bound, but not the same.
  const Meaning off{"f32", "  ROOT r = f32[64] maximum(p0, p0)\n", "add.s32 %r4, %r2, 1;"};
  EXPECT_TRUE(MeansEveryBit(*QuestionOf(off).alone));
  EXPECT_FALSE(Held(off, KernelDemand::kBounds).has_value());
  const auto found = Held(off, KernelDemand::kEveryBit);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->finding.line, 23u);
  EXPECT_EQ(found->worst.mismatched, 64);
  for (const char* rounds :
       {"  m = f32[64] multiply(p0, p1)\n  ROOT r = f32[64] add(m, p1)\n",
        "  ROOT r = f32[64] exponential(p0)\n", "  ROOT r = f32[64] divide(p0, p1)\n"}) {
    EXPECT_FALSE(MeansEveryBit(*QuestionOf({"f32", rounds, ""}).alone)) << rounds;
  }
}

TEST(ExplainKernel, WithinTheBoundsRoundingsMoveOnlySoFar) {
  const std::string sum = "  m = f32[64] multiply(p0, p1)\n  ROOT r = f32[64] subtract(m, p1)\n";
  const std::string apart = "mul.rn.f32 %r5, %r2, %r3;\nsub.rn.f32 %r4, %r5, %r3;";
  const std::string further = apart + "\nmul.rn.f32 %r4, %r4, 0f3F800054;";  // 1 + 1e-5
  EXPECT_FALSE(Held({"f32", sum, apart}, KernelDemand::kRoundings).has_value());
  EXPECT_FALSE(Held({"f32", sum, further}, KernelDemand::kBounds).has_value());
  const auto found = Held({"f32", sum, further}, KernelDemand::kRoundings);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->cause, Cause::kUnexplained);
  EXPECT_TRUE(found->finding.reference_agrees);
}

TEST(ExplainKernel, AnApproximationExplainsNoMoreThanItsOwnBound) {
  const std::string root = "  s = f32[64] rsqrt(p0)\n  ROOT r = f32[64] multiply(s, p1)\n";
  const std::string near = "rsqrt.approx.f32 %r5, %r2;\nmul.rn.f32 %r4, %r5, %r3;";
  const std::string further = near + "\nmul.rn.f32 %r4, %r4, 0f3F800054;";  // 1 + 1e-5
  EXPECT_FALSE(Held({"f32", root, near}, KernelDemand::kRoundings).has_value());
  const auto found = Held({"f32", root, further}, KernelDemand::kRoundings);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->cause, Cause::kUnexplained);
}

TEST(ExplainKernel, ARoundingTowardsZeroIsNamedByItsLine) {
  const std::string product = "  ROOT r = f32[64] multiply(p0, p1)\n";
  const auto found = Held({"f32", product, "mul.rz.f32 %r4, %r2, %r3;"}, KernelDemand::kRoundings);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->cause, Cause::kDirectedRounding);
  EXPECT_EQ(found->finding.line, 21u);
  // A remainder cuts to an integer what it rounds so.
  EXPECT_FALSE(Held({"f32", product,
                     "mul.rz.f32 %r5, %r2, %r3;\ncvt.rzi.f32.f32 %r6, %r5;\n"
                     "mul.rn.f32 %r4, %r2, %r3;\nsub.rn.f32 %r4, %r4, %r6;\n"
                     "add.rn.f32 %r4, %r4, %r6;"},
                    KernelDemand::kRoundings)
                   .has_value());
  // Functions take the bits apart of what they round so.
  EXPECT_FALSE(Held({"f32", product,
                     "mul.rm.f32 %r5, %r2, %r3;\nshl.b32 %r6, %r5, 1;\n"
                     "mul.rn.f32 %r4, %r2, %r3;"},
                    KernelDemand::kRoundings)
                   .has_value());
}

struct Slip {
  std::string hlo, ptx;
  std::vector<uint32_t> lines;  // any of them
  std::string why;              // what the reason says
};

TEST(ExplainKernel, LooksFirstAtTheLineThatMakesTheResultsRight) {
  const std::string reversed = "  ROOT r = f32[64] reverse(p0), dimensions={0}\n";
  const std::string scaled =
      "  c = f32[] constant(2.5)\n  b = f32[64] broadcast(c), dimensions={}\n"
      "  ROOT r = f32[64] multiply(p0, b)\n";
  const std::string swap =
      "xor.b32 %r5, %r1, 31;\nand.b32 %r5, %r5, 31;\nshfl.sync.idx.b32 %r6, %r2, %r5, 31, -1;\n"
      "mov.b32 %r7, sh;\nshl.b32 %r8, %r1, 2;\nxor.b32 %r9, %r8, 64;\nadd.s32 %r10, %r7, %r9;\n"
      "st.shared.b32 [%r10], %r6;\nbar.sync 0;\nadd.s32 %r11, %r7, %r8;\n"
      "ld.shared.b32 %r4, [%r11];";
  const std::string unordered =
      "mov.b32 %r5, sh;\nshl.b32 %r6, %r1, 2;\nadd.s32 %r7, %r5, %r6;\n"
      "st.shared.b32 [%r7], %r2;\nsub.s32 %r8, 252, %r6;\nadd.s32 %r9, %r5, %r8;\n"
      "ld.shared.b32 %r4, [%r9];";
  const std::vector<Slip> slips = {
      {"  ROOT r = f32[64] add(p0, p1)\n", "sub.rn.f32 %r4, %r2, %r3;", {21}, "`add.rn.f32"},
      {"  ROOT r = f32[64] maximum(p0, p1)\n", "min.NaN.f32 %r4, %r2, %r3;", {21}, "`max.NaN"},
      {scaled, "mul.rn.f32 %r4, %r2, 0f40400000;", {21}, "`mul.rn.f32 %r4, %r2, 0f"},
      {reversed, swap, {26}, "`xor.b32 %r9, %r8, 128` instead"},
      {reversed, unordered, {25, 26, 27}, "with `bar.sync 0` before it"},
      {"  ROOT r = f32[64] subtract(p0, p1)\n",
       "sub.rn.f32 %r4, %r3, %r2;",
       {21},
       "%r2, %r3` instead"},
  };
  for (const Slip& slip : slips) {
    SCOPED_TRACE(slip.ptx);
    const auto found = Explained(QuestionOf({"f32", slip.hlo, slip.ptx}));
    ASSERT_TRUE(found.has_value());
    ASSERT_FALSE(found->finding.look_first.empty());
    const LookFirst& first = found->finding.look_first[0];
    EXPECT_NE(std::ranges::find(slip.lines, first.line), slip.lines.end()) << first.line;
    EXPECT_NE(first.why.find(slip.why), std::string::npos) << first.why;
    EXPECT_NE(first.why.find("all elements are as expected"), std::string::npos) << first.why;
    EXPECT_EQ(first.file, "k.ptx");
    EXPECT_EQ(first.kernel, "k");
  }
}

// tid + 23 < 86, where 63 is meant: 46 would do as well, and is the first that is tried.
TEST(ExplainKernel, ANumberBesideTheLineThatIsRightMayBeMeant) {
  const auto found = Explained(
      QuestionOf({"f32",
                  "  s = f32[40] slice(p0), slice={[0:40]}\n  z = f32[] constant(0)\n"
                  "  ROOT r = f32[64] pad(s, z), padding=0_24\n",
                  "add.s32 %r5, %r1, 23;\nsetp.lt.u32 %p1, %r5, 86;\nselp.b32 %r4, %r2, 0, %p1;"}));
  ASSERT_TRUE(found.has_value());
  const std::vector<LookFirst>& lines = found->finding.look_first;
  const auto line = std::ranges::find(lines, "setp.lt.u32 %p1, %r5, 86", &LookFirst::text);
  ASSERT_NE(line, lines.end());
  EXPECT_NE(line->why.find("`setp.lt.u32 %p1, %r5, 63` instead all"), std::string::npos)
      << line->why;
}

// Each of two blocks adds to the same elements: one alone says nothing of what they leave.
TEST(ExplainKernel, WhatSeveralBlocksAddToIsRunWithAllOfThem) {
  KernelQuestion question =
      QuestionOf({"f32", "  ROOT r = f32[64] add(p0, p0)\n",
                  "add.s64 %rd7, %rd3, %rd4;\nmul.rn.f32 %r5, %r2, 0f40200000;\n"
                  "red.global.add.f32 [%rd7], %r5;\nret;\n"});
  question.kernels.launches[0].blocks = {2, 1, 1};
  question.kernels.memory[2].assign(256, std::byte{0});
  const auto found = Explained(question);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->finding.reference_agrees) << found->finding.reference_difference;
  ASSERT_FALSE(found->finding.look_first.empty());
  EXPECT_EQ(found->finding.look_first[0].text, "mul.rn.f32 %r5, %r2, 0f40200000");
}

TEST(ExplainKernel, NamesAPatternOfTheWholeResult) {
  const auto found =
      Explained(QuestionOf({"f32", "  ROOT r = f32[64] copy(p0)\n", "add.rn.f32 %r4, %r2, %r2;"}));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->finding.patterns, std::vector<std::string>{"every value is 2 × the expected"});
}

TEST(ValueSignaturesTest, BitsAtTheElementThenAnywhere) {
  const auto module = hlo::Parsed(
      ModuleOf("f32", "  s = f32[64] add(p0, p1)\n  ROOT r = f32[64] multiply(s, p1)\n"));
  std::vector<float> a, b;
  for (int i = 0; i < 64; ++i) {
    a.push_back(0.37f * static_cast<float>(i));
    b.push_back(0.91f);
  }
  const auto shape = module->shape(module->entry().root);
  const std::vector<Literal> arguments = {Literal::Of<float>(shape, a),
                                          Literal::Of<float>(shape, b)};
  const auto signatures = ValueSignatures::Make(*module, arguments, 5, 64);
  ASSERT_TRUE(signatures.has_value());
  const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
  EXPECT_EQ(signatures->Find(bits(a[5] + b[5]), 4).instruction, "s");
  EXPECT_TRUE(signatures->Find(bits(a[5] + b[5]), 4).same_bits);
  EXPECT_FALSE(signatures->Find(bits(a[5] + b[5]) + 3, 4).same_bits);
  EXPECT_EQ(signatures->Find(bits(a[5] + b[5]) + 3, 4).instruction, "s");
  EXPECT_EQ(signatures->Find(bits(a[9] + b[9]), 4).instruction, "s");
  EXPECT_EQ(signatures->Find(bits(a[9] + b[9]) + 3, 4).instruction, "");
  EXPECT_EQ(signatures->Find(bits(1.0f), 4).instruction, "");
}

}  // namespace
}  // namespace hloscope::debug
