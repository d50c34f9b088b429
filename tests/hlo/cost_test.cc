// Costs beside those of XLA's own cost analysis (tests/hlo/cost), on one module for each rule and
// on the samples.
#include "core/hlo/analysis/cost.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "core/base/file.h"
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
