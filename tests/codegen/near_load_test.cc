// Loads of lanes that lie near each other in memory: strides, gaps, repetitions, orders turned
// round.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/codegen/kernel_cases.h"

namespace hloscope::codegen {
namespace {

constexpr const char* kTypes[] = {"f32", "bf16", "u8", "pred", "f64", "c64", "c128", "s4"};
constexpr int64_t kLengths[] = {1, 2, 15, 16, 17, 48, 100, 1000, 2048};

std::string Array(const std::string& type, int64_t columns) {
  return fmt::format("{}[5,{}]", type, columns);
}

TEST(NearLoad, OfEachNthElement) {
  for (const std::string type : kTypes) {
    for (const int64_t length : kLengths) {
      for (int64_t stride = 2; stride <= 6; ++stride) {
        // The last element of the row is read, and nothing behind it.
        const std::string whole = Array(type, length * stride), part = Array(type, length);
        ExpectAsEvaluated(Fused(whole,
                                fmt::format("  a = {0} slice(p0), slice={{[0:5], [{1}:{2}:{3}]}}\n"
                                            "  b = {0} reverse(a), dimensions={{1}}\n"
                                            "  ROOT r = ({0}, {0}) tuple(a, b)",
                                            part, stride - 1, length * stride, stride),
                                fmt::format("({0}, {0})", part)));
      }
    }
  }
}

TEST(NearLoad, OfPaddedElements) {
  struct Padding {
    int64_t low, high, interior;
  };
  for (const std::string type : kTypes) {
    for (const int64_t length : kLengths) {
      for (const Padding p : {Padding{0, 0, 1},
                              {0, 1, 1},
                              {1, 0, 1},
                              {1, 1, 1},
                              {2, 2, 1},
                              {0, 2, 2},
                              {1, 1, 2},
                              {2, 0, 2},
                              {3, 0, 3},
                              {5, 1, 3},
                              {0, -1, 1},
                              {-1, 1, 3}}) {
        const int64_t size = (length - 1) * (p.interior + 1) + 1 + p.low + p.high;
        if (size <= 0) continue;
        const std::string result = Array(type, size);
        ExpectAsEvaluated(Fused(Array(type, length) + " " + type + "[]",
                                fmt::format("  ROOT r = {} pad(p0, p1), padding=0_0x{}_{}_{}",
                                            result, p.low, p.high, p.interior),
                                result));
      }
    }
  }
}

TEST(NearLoad, OfRowsInsideEachOther) {
  for (const std::string type : kTypes) {
    for (const int64_t length : kLengths) {
      for (const int64_t parts : {2, 3, 4}) {
        const std::string part = Array(type, length);
        const std::string thin = fmt::format("{}[5,{},1]", type, length);
        const std::string both = fmt::format("{}[5,{},{}]", type, length, parts);
        const std::string whole = Array(type, length * parts);
        std::string body = "  x = " + thin + " reshape(p0)\n  y = " + thin + " reshape(p1)\n";
        body += "  c = " + both + " concatenate(x, y";
        for (int64_t i = 2; i < parts; ++i) body += i % 2 == 0 ? ", x" : ", y";
        body += "), dimensions={2}\n  t = " + whole + " reshape(c)\n";
        body += "  b = " + both + " broadcast(p1), dimensions={0,1}\n  u = " + whole +
                " reshape(b)\n  ROOT r = (" + whole + ", " + whole + ") tuple(t, u)";
        ExpectAsEvaluated(Fused(part + " " + part, body, "(" + whole + ", " + whole + ")"));
      }
    }
  }
}

TEST(NearLoad, OfShortRows) {
  for (const std::string type : {"f32", "bf16", "f64", "u8"}) {
    for (const int64_t columns : {3, 5, 6, 9, 10, 12, 17, 24}) {
      for (const int64_t rows : {1, 7, 64, 1000}) {
        const std::string whole = fmt::format("{}[{},{}]", type, rows, columns);
        const std::string first = fmt::format("{}[{},1]", type, rows);
        const std::string rest = fmt::format("{}[{},{}]", type, rows, columns - 1);
        ExpectAsEvaluated(Fused(fmt::format("{0} {1}[{2}] {1}[{3}]", whole, type, rows, columns),
                                fmt::format("  a = {0} broadcast(p1), dimensions={{0}}\n"
                                            "  b = {0} broadcast(p2), dimensions={{1}}\n"
                                            "  s = {1} slice(p0), slice={{[0:{3}], [0:1]}}\n"
                                            "  t = {2} slice(p0), slice={{[0:{3}], [1:{4}]}}\n"
                                            "  c = {0} concatenate(t, s), dimensions={{1}}\n"
                                            "  m = {0} multiply(a, b)\n  ROOT r = {0} add(m, c)",
                                            whole, first, rest, rows, columns),
                                whole),
                          1, {.relative = 1e-6});
      }
    }
  }
}

// All of a convolution's second row lies in the gaps that a dilation leaves.
TEST(NearLoad, OfNothing) {
  ExpectAsEvaluated(
      "HloModule m\nENTRY e {\n  p0 = s32[1,2,2,2] parameter(0)\n  p1 = s32[2,1,2,1] parameter(1)\n"
      "  ROOT r = s32[1,2,2,1] convolution(p0, p1), window={size=2x1 stride=2x2 pad=2_0x0_2 "
      "lhs_dilate=2x1 rhs_reversal=1x0}, dim_labels=b01f_01io->b01f\n}\n");
}

TEST(NearLoad, OnOtherProcessors) {
  for (const std::string& target : RunnableTargets()) {
    SetTarget(target);
    for (const std::string type : {"f32", "bf16", "u8", "c64"}) {
      ExpectAsEvaluated(Fused(type + "[5,192] " + type + "[]",
                              fmt::format("  a = {0}[5,64] slice(p0), slice={{[0:5], [1:192:3]}}\n"
                                          "  ROOT r = {0}[5,127] pad(a, p1), padding=0_0x0_0_1",
                                          type),
                              type + "[5,127]"));
    }
  }
  SetTarget("");
}

// What is divided by nothing has no value to be divided by.
TEST(NearLoad, LeavesNoLaneUndefined) {
  ExpectAsEvaluated(Fused("s32[5,100] s32[5,50]",
                          "  z = s32[] constant(0)\n"
                          "  q = s32[5,100] pad(p1, z), padding=0_0x0_1_1\n"
                          "  ROOT r = s32[5,100] divide(p0, q)",
                          "s32[5,100]"));
}

}  // namespace
}  // namespace hloscope::codegen
