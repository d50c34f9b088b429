// Costs beside those of XLA's own cost analysis (tests/hlo/cost), on one module for each rule and
// on the samples.
#include "core/hlo/analysis/cost.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "core/base/file.h"
#include "core/base/work_count.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/text/text.h"
#include "tests/base/paths.h"

namespace hloscope::hlo {
namespace {

const std::string kRoot = SourcePath() + "/";

std::string Contents(const std::string& path) {
  auto file = FileView::Open(kRoot + path, Limits());
  EXPECT_TRUE(file.has_value()) << path;
  return std::string(file->bytes());
}

// The modules of cases.hlo by name.
std::map<std::string, std::string> Cases() {
  const std::string all = Contents("tests/hlo/cost/cases.hlo");
  std::map<std::string, std::string> cases;
  for (size_t at = all.find("HloModule "); at != std::string::npos;) {
    const size_t next = all.find("HloModule ", at + 1);
    const std::string text = all.substr(at, next == std::string::npos ? next : next - at);
    cases[text.substr(10, text.find('\n') - 10)] = text;
    at = next;
  }
  return cases;
}

TEST(CostTest, IsWhatXlaCounts) {
  const std::map<std::string, std::string> cases = Cases();
  std::istringstream expected(Contents("tests/hlo/cost/expected.txt"));
  std::string name;
  double flops = 0, transcendentals = 0, bytes = 0;
  int modules = 0;
  while (expected >> name >> flops >> transcendentals >> bytes) {
    const bool is_file = name.ends_with(".txt");
    ASSERT_TRUE(is_file || cases.contains(name)) << name;
    const ParseResult parsed = ParseText(is_file ? Contents(name) : cases.at(name), Limits());
    ASSERT_NE(parsed.module, nullptr) << name;
    const CostModel model(*parsed.module);
    const Cost& cost = model.Of(parsed.module->entry_id());
    EXPECT_NEAR(cost.flops, flops, 1e-6 * flops) << name;
    EXPECT_NEAR(cost.transcendentals, transcendentals, 1e-6 * transcendentals) << name;
    EXPECT_NEAR(cost.bytes(), bytes, 1e-6 * bytes) << name;
    ++modules;
  }
  EXPECT_GE(modules, 25);
}

// One that runs in the background hands on its operand and a mark of its progress as well.
TEST(CostTest, ACopyMovesItsValueOnce) {
  const ParseResult parsed = ParseText(R"(HloModule m, is_scheduled=true
ENTRY e {
  p = f32[48,48] parameter(0)
  start = (f32[48,48]{1,0:S(5)}, f32[48,48]{1,0}, u32[]) copy-start(p)
  done = f32[48,48]{1,0:S(5)} copy-done(start)
  plain = f32[48,48] copy(p)
  ROOT t = (f32[48,48]{1,0:S(5)}, f32[48,48]) tuple(done, plain)
}
)",
                                       Limits());
  ASSERT_NE(parsed.module, nullptr);
  const CostModel model(*parsed.module);
  const auto bytes = [&](std::string_view name) {
    return model.Of(FindInstruction(*parsed.module, name)).bytes();
  };
  EXPECT_EQ(bytes("plain"), 2 * 48 * 48 * 4);
  EXPECT_EQ(bytes("start"), bytes("plain"));
  EXPECT_EQ(bytes("done"), 0);
}

// By hand: what a slice reads is what it writes (dynamic-slice: and its index), a reduce-window of
// 2x2 adds three times for each result, a product counts as two operations.
TEST(CostTest, IsWhatIsFoundByHand) {
  const ParseResult parsed = ParseText(R"(HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY main {
  x = f32[64,64] parameter(0)
  y = f32[1000] parameter(1)
  z = f32[] constant(0)
  i = s32[] constant(3)
  n = f32[1,8,8,3] parameter(2)
  k = f32[3,3,3,5] parameter(3)
  slice = f32[64,62] slice(x), slice={[0:64],[0:62]}
  dynamic = f32[1] dynamic-slice(y, i), dynamic_slice_sizes={1}
  window = f32[32,32] reduce-window(x, z), window={size=2x2 stride=2x2}, to_apply=add
  dot = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  conv = f32[1,6,6,5] convolution(n, k), window={size=3x3}, dim_labels=b01f_01io->b01f
  ROOT t = (f32[64,62], f32[1], f32[32,32], f32[64,64], f32[1,6,6,5]) tuple(slice, dynamic, window, dot, conv)
})",
                                       Limits());
  ASSERT_NE(parsed.module, nullptr);
  const Module& m = *parsed.module;
  struct Expected {
    std::string_view name;
    double flops, bytes;
  };
  const Expected kExpected[] = {{"slice", 0, 2 * 64 * 62 * 4},
                                {"dynamic", 0, 4 + 4 + 4},
                                {"window", 3 * 32 * 32, 4 * (64 * 64 + 1 + 32 * 32)},
                                {"dot", 2. * 64 * 64 * 64, 3 * 64 * 64 * 4},
                                {"conv", 2. * 36 * 5 * 27, 4 * (192 + 135 + 180)}};
  for (const Expected& each : kExpected) {
    const Cost& cost = CostsOf(m).Of(FindInstruction(m, each.name));
    EXPECT_EQ(cost.flops, each.flops) << each.name;
    EXPECT_EQ(cost.bytes(), each.bytes) << each.name;
  }
}

// Fusions of one computation: it is read once, both for what they move and for their lines.
TEST(CostTest, AComputationOfManyFusionsIsReadOnce) {
  constexpr int kCount = 50;
  std::string body = "  v0 = f32[8] parameter(0)\n", main = "  n0 = f32[8] parameter(0)\n";
  for (int k = 1; k <= kCount; ++k) {
    const std::string from = std::to_string(k - 1), to = std::to_string(k);
    body += "  v" + to + " = f32[8] negate(v" + from + ")";
    body += k == 1 ? ", metadata={source_file=\"a.py\" source_line=7}\n" : "\n";
    main += "  n" + to + " = f32[8] fusion(n" + from + "), kind=kLoop, calls=body\n";
  }
  const ParseResult parsed = ParseText("HloModule m\nbody {\n" + body +
                                           "  ROOT r = f32[8] negate(v50)\n}\nENTRY main {\n" +
                                           main + "  ROOT s = f32[8] negate(n50)\n}\n",
                                       Limits());
  ASSERT_NE(parsed.module, nullptr);
  const Module& m = *parsed.module;
  const uint64_t before = WorkCount();
  const CostModel costs(m);
  LinesWithCalled lines(m);
  for (int k = 1; k <= kCount; ++k) {
    const InstructionId id = FindInstruction(m, "n" + std::to_string(k));
    EXPECT_EQ(costs.Of(id).bytes(), 64);
    EXPECT_EQ(costs.Of(id).flops, 8 * (kCount + 1));
    EXPECT_EQ(lines.Of(id).line, 7);
  }
  EXPECT_LE(WorkCount() - before, 10u * kCount);  // not kCount squared
}

TEST(CostTest, HugeShapesAndUnknownCallsAreCounted) {
  const ParseResult parsed = ParseText(R"(HloModule m
ENTRY main {
  p = f32[1152921504606846976,1152921504606846976] parameter(0)
  a = f32[1152921504606846976,1152921504606846976] add(p, p)
  ROOT c = f32[] custom-call(a), custom_call_target="x"
})",
                                       Limits());
  ASSERT_NE(parsed.module, nullptr);
  const CostModel model(*parsed.module);
  EXPECT_EQ(model.Of(InstructionId(1u)).flops, 0x1p120);
  EXPECT_EQ(model.Of(InstructionId(1u)).bytes(), 12 * 0x1p120);
  EXPECT_TRUE(model.Of(InstructionId(1u)).is_known);
  EXPECT_FALSE(model.Of(InstructionId(2u)).is_known);
  EXPECT_FALSE(model.Of(parsed.module->entry_id()).is_known);
}

}  // namespace
}  // namespace hloscope::hlo
