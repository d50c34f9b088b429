// Kernels over windows: reduce-window with holes and many places, select-and-scatter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/codegen/kernel_cases.h"

namespace hloscope::codegen {
namespace {

void ExpectWindows(const std::string& type, const std::string& input, const std::string& result,
                   const std::string& window, const std::string& opcode = "maximum") {
  ExpectAsEvaluated(fmt::format(R"(HloModule m
c {{ a = {0}[] parameter(0) b = {0}[] parameter(1) ROOT r = {0}[] {4}(a, b) }}
ENTRY e {{
  x = {0}{1} parameter(0)
  z = {0}[] parameter(1)
  ROOT r = {0}{2} reduce-window(x, z), window={{{3}}}, to_apply=c
}}
)",
                                type, input, result, window, opcode));
}

TEST(Windows, HaveHolesAndManyPlaces) {
  for (const std::string type : {"f32", "bf16", "s4", "s64"}) {
    ExpectWindows(type, "[9]", "[15]", "size=3 lhs_dilate=2");
    ExpectWindows(type, "[9,40]", "[11,40]", "size=3x1 pad=1_1x0_0 stride=2x1 lhs_dilate=3x1");
    ExpectWindows(type, "[5,40]", "[5,81]", "size=1x3 pad=0_0x2_2 lhs_dilate=1x2");
    ExpectWindows(type, "[40,40]", "[3,3]", "size=20x20 stride=10x10");
    ExpectWindows(type, "[7,3]", "[7,3]", "size=3x3 pad=2_2x2_2 rhs_dilate=2x2");
  }
}

TEST(Windows, MultiplySmallRangesInOrder) {
  ExpectWindows("f16", "[4,300]", "[4,298]", "size=1x3", "multiply");
  ExpectWindows("f16", "[4,300]", "[4,300]", "size=1x300 pad=0_0x299_0", "multiply");
  ExpectWindows("f16", "[8,9]", "[3,9]", "size=4x1 stride=3x1 pad=1_2x0_0", "multiply");
}

void ExpectSelected(const std::string& type, const std::string& operand, const std::string& source,
                    const std::string& window) {
  ExpectAsEvaluated(fmt::format(R"(HloModule m
ge {{ a = {0}[] parameter(0) b = {0}[] parameter(1) ROOT r = pred[] compare(a, b), direction=GE }}
add {{ a.1 = {0}[] parameter(0) b.1 = {0}[] parameter(1) ROOT r.1 = {0}[] add(a.1, b.1) }}
ENTRY e {{
  x = {0}{1} parameter(0)
  s = {0}{2} parameter(1)
  z = {0}[] parameter(2)
  ROOT r = {0}{1} select-and-scatter(x, s, z), window={{{3}}}, select=ge, scatter=add
}}
)",
                                type, operand, source, window));
}

TEST(Windows, HaveNoDimensions) {
  for (const std::string window : {"", " window={},"}) {
    ExpectAsEvaluated(
        "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT s = f32[] add(a, b)\n}\nENTRY e {\n  x = f32[] parameter(0)\n"
        "  i = f32[] parameter(1)\n  ROOT r = f32[] reduce-window(x, i)," +
        window + " to_apply=add\n}\n");
  }
}

TEST(Windows, AreScatteredTo) {
  for (const std::string type : {"f32", "bf16", "s8", "u4", "f64"}) {
    ExpectSelected(type, "[20]", "[6]", "size=4 stride=3 pad=0_0");
    ExpectSelected(type, "[2,8,9,19]", "[2,4,4,19]",
                   "size=1x3x3x1 stride=1x2x2x1 pad=0_0x0_1x0_0x0_0");
    ExpectSelected(type, "[3,4,8,8]", "[3,4,4,4]", "size=1x1x2x2 stride=1x1x2x2");
    ExpectSelected(type, "[3,16]", "[5,16]", "size=2x1 pad=2_1x0_0");
  }
}

}  // namespace
}  // namespace hloscope::codegen
