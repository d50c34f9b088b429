// Kernels that reduce.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/codegen/kernel_cases.h"

namespace hloscope::codegen {
namespace {

// Values a sum of which is as good in any order: small integers.
hlo::Literal SmallIntegers(const hlo::Shape& shape, uint64_t seed) {
  hlo::Literal random =
      RandomLiteral(hlo::Shape::Array(hlo::ElementType::kU8, {shape.ElementCount().value()}), seed);
  std::vector<float> values;
  for (const std::byte byte : random.bytes()) {
    values.push_back(static_cast<float>(static_cast<int>(byte) % 5 - 2));
  }
  return hlo::Literal::Of<float>(shape, values);
}

std::string Computation(const std::string& name, const std::string& type,
                        const std::string& opcode) {
  return fmt::format(
      "{0} {{\n  a = {1}[] parameter(0)\n  b = {1}[] parameter(1)\n  ROOT r = {1}[] {2}(a, "
      "b)\n}}\n",
      name, type, opcode);
}

struct Case {
  std::vector<int64_t> sizes;
  std::vector<int64_t> dimensions;
};

std::string Brackets(const std::vector<int64_t>& sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ","));
}

std::string ResultSizes(const Case& c) {
  std::vector<int64_t> kept;
  for (size_t d = 0; d < c.sizes.size(); ++d) {
    if (std::ranges::find(c.dimensions, static_cast<int64_t>(d)) == c.dimensions.end()) {
      kept.push_back(c.sizes[d]);
    }
  }
  return Brackets(kept);
}

std::string ReduceText(const Case& c, const std::string& type, const std::string& opcode) {
  return fmt::format(
      "HloModule m\n{}ENTRY e {{\n  x = {}{} parameter(0)\n  i = {}[] parameter(1)\n"
      "  ROOT r = {}{} reduce(x, i), dimensions={{{}}}, to_apply=c\n}}\n",
      Computation("c", type, opcode), type, Brackets(c.sizes), type, type, ResultSizes(c),
      fmt::join(c.dimensions, ","));
}

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {{{1}, {0}},
                                          {{5}, {0}},
                                          {{16}, {0}},
                                          {{1000}, {0}},
                                          {{70001}, {0}},
                                          {{300, 400}, {0, 1}},
                                          {{7, 100}, {1}},
                                          {{100, 7}, {1}},
                                          {{100, 3}, {1}},
                                          {{3, 2}, {1}},
                                          {{64, 129}, {1}},
                                          {{3, 70000}, {1}},
                                          {{7, 100}, {0}},
                                          {{100, 7}, {0}},
                                          {{1000, 3}, {0}},
                                          {{70000, 3}, {0}},
                                          {{600, 129}, {0}},
                                          {{70, 1300}, {0}},
                                          {{20, 30, 40}, {1}},
                                          {{20, 30, 40}, {0, 2}},
                                          {{20, 30, 5}, {0, 2}},
                                          {{5, 6, 7, 40}, {0, 2}},
                                          {{5, 6, 7, 40}, {1, 3}},
                                          {{1, 40, 1, 3}, {1}},
                                          {{4, 5}, {}},
                                          {{2, 9000, 2}, {1}},
                                          {{1024, 1024}, {0}}};
  return cases;
}

TEST(Reduce, SumsAllShapes) {
  for (const Case& c : Cases()) {
    const auto shape = hlo::Shape::Array(hlo::ElementType::kF32, c.sizes);
    const auto init =
        hlo::Literal::Of<float>(hlo::Shape::Scalar(hlo::ElementType::kF32), std::vector<float>{3});
    ExpectAsEvaluated(ReduceText(c, "f32", "add"), {SmallIntegers(shape, 5), init});
  }
}

TEST(Reduce, CombinesByEachOperation) {
  for (const Case& c : Cases()) {
    for (const std::string opcode : {"maximum", "minimum"}) {
      for (const std::string type : {"f32", "bf16"}) ExpectAsEvaluated(ReduceText(c, type, opcode));
    }
  }
  for (const Case& c : {Case{{64, 129}, {1}}, Case{{70, 1300}, {0}}, Case{{70001}, {0}}}) {
    for (const std::string type : {"s8", "s16", "s32", "s64", "u8", "u32", "u64"}) {
      for (const std::string opcode :
           {"add", "multiply", "maximum", "minimum", "and", "or", "xor"}) {
        ExpectAsEvaluated(ReduceText(c, type, opcode));
      }
    }
    for (const std::string opcode : {"and", "or", "xor"}) {
      ExpectAsEvaluated(ReduceText(c, "pred", opcode));
    }
    for (const std::string type : {"f16", "f64", "bf16"}) {
      ExpectAsEvaluated(ReduceText(c, type, "maximum"));
    }
  }
}

// LLVM knows instructions for sums of products of bytes.
TEST(Reduce, SumsBytesTimesConstants) {
  for (const std::string type : {"s8", "u8"}) {
    for (const char* factor : {"3", "-3", "200", "70000"}) {
      for (const char* columns : {"8", "16", "32", "100"}) {
        const std::string wide = fmt::format("s32[9,{}]", columns);
        ExpectAsEvaluated(Fused(
            fmt::format("{}[9,{}]", type, columns),
            fmt::format("  x = {0} convert(p0)\n  c = s32[] constant({1})\n  f = {0} "
                        "broadcast(c), dimensions={{}}\n  m = {0} multiply(x, f)\n  z = s32[] "
                        "constant(0)\n  ROOT r = s32[9] reduce(m, z), dimensions={{1}}, "
                        "to_apply=add",
                        wide, factor),
            "s32[9]",
            "add {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT s = s32[] "
            "add(a, b)\n}\n"));
      }
    }
  }
}

// Not associative: from the left, in row-major order.
TEST(Reduce, FoldsOtherReducersInOrder) {
  for (const Case& c : Cases()) ExpectAsEvaluated(ReduceText(c, "s32", "subtract"));
}

// In a small range each product is rounded: infinities meet zeros.
TEST(Reduce, MultipliesSmallRangesInOrder) {
  for (const Case& c : {Case{{300, 5}, {1}}, Case{{5, 300}, {0}}, Case{{3000}, {0}}}) {
    ExpectAsEvaluated(ReduceText(c, "f16", "multiply"));
  }
}

// Sums of small integers, which narrow floats hold; reducers that widen them, too.
TEST(Reduce, SumsOtherFloats) {
  const std::string widening =
      "wide {\n  a = bf16[] parameter(0)\n  b = bf16[] parameter(1)\n  c = f32[] convert(a)\n"
      "  d = f32[] convert(b)\n  e = f32[] add(c, d)\n  ROOT r = bf16[] convert(e)\n}\n";
  for (const Case& c : {Case{{64, 40}, {1}}, Case{{40, 30}, {0}}, Case{{60}, {0}}}) {
    for (const std::string type : {"bf16", "f16", "f64", "wide"}) {
      const std::string element = type == "wide" ? "bf16" : type;
      const std::string result = element + ResultSizes(c);
      ExpectAsEvaluated(
          Fused("f32" + Brackets(c.sizes),
                fmt::format("  z = {0}[] constant(0)\n  t = {0}{1} convert(p0)\n"
                            "  ROOT r = {2} reduce(t, z), dimensions={{{3}}}, to_apply={4}",
                            element, Brackets(c.sizes), result, fmt::join(c.dimensions, ","),
                            type == "wide" ? "wide" : "sum"),
                result, type == "wide" ? widening : Computation("sum", element, "add")),
          {SmallIntegers(hlo::Shape::Array(hlo::ElementType::kF32, c.sizes), 3)});
    }
  }
}

TEST(Reduce, SumsWhatIsReadAcross) {
  for (const std::string dimensions : {"0", "1", "2", "0,2", "1,2", "0,1"}) {
    for (const std::string order : {"2,1,0", "1,2,0", "0,2,1"}) {
      Case c{{40, 30, 70}, {}};
      std::vector<int64_t> from(3);
      for (size_t i = 0; i < 3; ++i) from[static_cast<size_t>(order[2 * i] - '0')] = c.sizes[i];
      for (const char d : dimensions) {
        if (d != ',') c.dimensions.push_back(d - '0');
      }
      const std::string result = "f32" + ResultSizes(c);
      ExpectAsEvaluated(
          Fused(
              "f32" + Brackets(from),
              fmt::format(
                  "  z = f32[] constant(0)\n  t = f32[40,30,70] transpose(p0), dimensions={{{}}}\n"
                  "  ROOT r = {} reduce(t, z), dimensions={{{}}}, to_apply=add",
                  order, result, dimensions),
              result, Computation("add", "f32", "add")),
          {SmallIntegers(hlo::Shape::Array(hlo::ElementType::kF32, from), 3)});
    }
  }
}

constexpr const char* kArgmax = R"(argmax {
  a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)
  gt = pred[] compare(a, b), direction=GT no = pred[] compare(a, a), direction=NE
  better = pred[] or(gt, no) eq = pred[] compare(a, b), direction=EQ
  lt = pred[] compare(i, j), direction=LT both = pred[] and(eq, lt)
  left = pred[] or(better, both) v = f32[] select(left, a, b) k = s32[] select(left, i, j)
  ROOT r = (f32[], s32[]) tuple(v, k)
}
)";

TEST(Reduce, FindsTheLargest) {
  for (const Case& c : Cases()) {
    const std::string sizes = Brackets(c.sizes), result = ResultSizes(c);
    if (c.sizes.size() < 2) continue;
    const std::string body = fmt::format(
        "  i = s32{0} iota(), iota_dimension=1\n  n = f32[] constant(-inf)\n  z = s32[] "
        "constant(0)\n"
        "  ROOT r = (f32{1}, s32{1}) reduce(p0, i, n, z), dimensions={{{2}}}, to_apply=argmax",
        sizes, result, fmt::join(c.dimensions, ","));
    ExpectAsEvaluated(Fused("f32" + sizes, body, fmt::format("(f32{0}, s32{0})", result), kArgmax));
  }
}

TEST(Reduce, YieldsSeveralSumsOfFusedElements) {
  for (const Case& c : Cases()) {
    const std::string sizes = Brackets(c.sizes), result = ResultSizes(c);
    const auto shape = hlo::Shape::Array(hlo::ElementType::kF32, c.sizes);
    const std::string dimensions = fmt::format("{}", fmt::join(c.dimensions, ","));
    const std::string body = fmt::format(
        "  z = f32[] constant(0)\n  m = f32{0} multiply(p0, p1)\n  s = f32{0} add(m, p1)\n"
        "  t = f32{0} negate(p0)\n"
        "  v = f32{1} reduce(s, z), dimensions={{{2}}}, to_apply=add\n"
        "  w = f32{1} reduce(t, z), dimensions={{{2}}}, to_apply=max\n"
        "  ROOT r = (f32{1}, f32{1}) tuple(v, w)",
        sizes, result, dimensions);
    ExpectAsEvaluated(
        Fused("f32" + sizes + " f32" + sizes, body, fmt::format("(f32{0}, f32{0})", result),
              Computation("add", "f32", "add") + Computation("max", "f32", "maximum")),
        {SmallIntegers(shape, 5), SmallIntegers(shape, 6)});
  }
}

}  // namespace
}  // namespace hloscope::codegen
