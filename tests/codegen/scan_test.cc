// Reduce-windows along one dimension: cumulative ones and long sliding ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/codegen/kernel_cases.h"

namespace hloscope::codegen {
namespace {

struct Case {
  std::string in, out, window;
};

std::string WindowText(const Case& c, const std::string& type, const std::string& opcode) {
  return fmt::format(
      "HloModule m\nc {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n"
      "  ROOT r = {0}[] {1}(a, b)\n}}\nENTRY e {{\n  x = {0}[{2}] parameter(0)\n"
      "  i = {0}[] parameter(1)\n  ROOT w = {0}[{3}] reduce-window(x, i), window={{{4}}}, "
      "to_apply=c\n}}\n",
      type, opcode, c.in, c.out, c.window);
}

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"1000", "1000", "size=1000 pad=999_0"},
      {"1000", "1000", "size=1000 pad=0_999"},
      {"1024", "1024", "size=1024 pad=0_1023"},
      {"70000", "70000", "size=70000 pad=69999_0"},
      {"5", "5", "size=5 pad=4_0"},
      {"3,300", "3,300", "size=1x300 pad=0_0x299_0"},
      {"300,3", "300,3", "size=300x1 pad=299_0x0_0"},
      {"300,40", "300,40", "size=300x1 pad=0_299x0_0"},
      {"2,300,5,7", "2,300,5,7", "size=1x300x1x1 pad=0_0x299_0x0_0x0_0"},
      {"1000", "1000", "size=64 pad=31_32"},
      {"1000", "937", "size=64"},
      {"1000", "1034", "size=17 pad=10_40"},
      {"100", "140", "size=60 pad=59_40"},
      {"100", "81", "size=120 pad=70_30"},
      {"4,100,20", "4,100,20", "size=1x32x1 pad=0_0x16_15x0_0"},
      {"4,100,3", "4,100,3", "size=1x32x1 pad=0_0x31_0x0_0"}};
  return cases;
}

// Reducers that are not associative: element by element from the beginning on.
TEST(Scan, InTheOrderOfElements) {
  for (const Case& c : Cases()) {
    if (c.in.size() > 4 && c.in.find(',') == std::string::npos) continue;  // every window by itself
    for (const std::string type : {"f32", "f64", "s32"}) {
      ExpectAsEvaluated(fmt::format(
          "HloModule m\nc {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n"
          "  h = {0}[] constant(3)\n  d = {0}[] divide(a, h)\n  ROOT r = {0}[] add(d, b)\n}}\n"
          "ENTRY e {{\n  x = {0}[{1}] parameter(0)\n  i = {0}[] parameter(1)\n"
          "  ROOT w = {0}[{2}] reduce-window(x, i), window={{{3}}}, to_apply=c\n}}\n",
          type, c.in, c.out, c.window));
    }
  }
}

TEST(Scan, Integers) {
  for (const Case& c : Cases()) {
    for (const std::string type : {"s32", "u8", "s64"}) {
      for (const char* opcode : {"add", "maximum", "multiply", "xor"}) {
        ExpectAsEvaluated(WindowText(c, type, opcode));
      }
    }
  }
}

TEST(Scan, Floats) {
  for (const Case& c : Cases()) {
    for (const std::string type : {"f32", "bf16", "f64"}) {
      ExpectAsEvaluated(WindowText(c, type, "maximum"));
    }
  }
}

// Rows of many vectors, in runs and some more.
TEST(Scan, LongRowsAreGoneThroughAsTheyLie) {
  ExpectAsEvaluated(WindowText({"77,8200", "77,8200", "size=77x1 pad=76_0x0_0"}, "pred", "or"));
  ExpectAsEvaluated(
      WindowText({"2,133,4100", "2,133,4100", "size=1x133x1 pad=0_0x0_132x0_0"}, "s32", "add"));
}

TEST(Scan, LongSumsAreAsGoodAsTheirTypes) {
  const Case c{"70000", "70000", "size=70000 pad=69999_0"};
  const auto shape = hlo::Shape::Array(hlo::ElementType::kF32, {70000});
  const std::vector<float> values(70000, 0.1f), one = {1.0f};
  ExpectAsEvaluated(
      WindowText(c, "f32", "add"),
      std::vector{hlo::Literal::Of<float>(shape, values),
                  hlo::Literal::Of<float>(hlo::Shape::Array(hlo::ElementType::kF32, {}), one)},
      Bound{.relative = 2e-6});
}

}  // namespace
}  // namespace hloscope::codegen
