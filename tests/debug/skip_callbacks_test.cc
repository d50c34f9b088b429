// Host callbacks whose results are unused are left out; the others stay and are named.
#include "core/debug/run/skip_callbacks.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/debug/run/run_module.h"
#include "core/hlo/text/text.h"
#include "core/hlo/verify/verifier.h"
#include "tests/hlo/parsed.h"

namespace hloscope::debug {
namespace {

std::string Call(std::string_view shape, std::string_view operands) {
  return std::string(shape) + " custom-call(" + std::string(operands) +
         "), custom_call_target=\"xla_ffi_python_cpu_callback\", "
         "custom_call_has_side_effect=true, api_version=API_VERSION_TYPED_FFI, "
         "backend_config={index = 0 : ui64}";
}

// A module whose entry has these lines after `x`, and `y` where no line is called so.
WithoutCallbacks Skipped(const std::string& lines) {
  auto module = hlo::Parsed("HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n" + lines + "}\n");
  auto skipped = SkipCallbacks(module);
  EXPECT_TRUE(skipped.has_value()) << skipped.error().ToString();
  if (!skipped) return {module, {}, {}};
  for (const hlo::Diagnostic& d : hlo::Verify(*skipped->module, {})) {
    EXPECT_NE(d.severity, hlo::Severity::kError) << d.message;
  }
  const RunReport report = RunModule(skipped->module, {});
  EXPECT_EQ(report.status, RunStatus::kRan) << (report.error ? report.error->ToString() : "");
  return *std::move(skipped);
}
// Of the only callback, which stays.
KeptCallback Kept(const std::string& lines) {
  const auto module =
      hlo::Parsed("HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n" + lines + "}\n");
  const auto out = SkipCallbacks(module);
  EXPECT_TRUE(out.has_value());
  if (!out || out->kept.size() != 1) return {};
  EXPECT_TRUE(out->skipped.empty());
  EXPECT_EQ(out->module, module);
  return out->kept[0];
}

TEST(SkipCallbacksTest, OneThatReturnsNothing) {
  const auto out = Skipped("  call = " + Call("()", "x") + "\n  ROOT y = f32[2] add(x, x)\n");
  EXPECT_EQ(out.skipped, std::vector<std::string>{"call"});
  EXPECT_EQ(SkippedText(out.skipped), "skipped a host callback: call; its result is unused");
}

TEST(SkipCallbacksTest, TokensPassItBy) {
  const auto out = Skipped("  t = token[] after-all()\n  a = " + Call("token[]", "t, x") +
                           "\n  b = " + Call("token[]", "a, x") +
                           "\n  ROOT y = (f32[2], token[]) tuple(x, b)\n");
  EXPECT_EQ(out.skipped.size(), 2U);
  const hlo::Module& module = *out.module;
  const auto operands = module.operands(module[module.entry().root]);
  EXPECT_EQ(module.name(operands[1]), "t");
}

TEST(SkipCallbacksTest, ATokenIsMadeWhereNoneComesIn) {
  const auto out =
      Skipped("  a = " + Call("token[]", "x") + "\n  ROOT y = (f32[2], token[]) tuple(x, a)\n");
  EXPECT_EQ(out.skipped.size(), 1U);
}

TEST(SkipCallbacksTest, UnusedValuesAreRemoved) {
  const auto out = Skipped("  t = token[] after-all()\n  a = " + Call("(token[], f32[2])", "t, x") +
                           "\n  k = token[] get-tuple-element(a), index=0\n"
                           "  v = f32[2] get-tuple-element(a), index=1\n"
                           "  ROOT y = (f32[2], token[]) tuple(x, k)\n");
  EXPECT_EQ(out.skipped, std::vector<std::string>{"a"});
}

TEST(SkipCallbacksTest, AsTheRootOfAComputation) {
  const auto out = Skipped("  ROOT a = " + Call("()", "x") + "\n");
  EXPECT_EQ(out.skipped, std::vector<std::string>{"a"});
}

TEST(SkipCallbacksTest, OneWhoseResultIsUsedStays) {
  const KeptCallback used =
      Kept("  call = " + Call("f32[2]", "x") + "\n  ROOT y = f32[2] add(x, call)\n");
  EXPECT_EQ(used.name, "call");
  EXPECT_EQ(used.user, "y");
  EXPECT_EQ(KeptTexts({used}),
            std::vector<std::string>{
                "call: a host callback whose result is used, by y: it is not skipped, and an error "
                "where it is executed, for its function is not in the dump"});
  EXPECT_EQ(Kept("  ROOT call = " + Call("f32[2]", "x") + "\n").user, "a result of e");
  EXPECT_EQ(Kept("  a = " + Call("(f32[2], f32[2])", "x") +
                 "\n  v = f32[2] get-tuple-element(a), index=1\n"
                 "  ROOT y = f32[2] negate(v)\n")
                .user,
            "y");
}

// As a debug print next to an error check: one in a branch that is not taken is no reason to
// refuse.
TEST(SkipCallbacksTest, OneInABranchThatIsNotTakenDoesNotStopTheRun) {
  const auto module =
      hlo::Parsed("HloModule m\nf {\n  p = f32[2] parameter(0)\n  ROOT c = " + Call("f32[2]", "p") +
                  "\n}\ng {\n  q = f32[2] parameter(0)\n  ROOT n = f32[2] negate(q)\n}\n"
                  "ENTRY e {\n  x = f32[2] parameter(0)\n  print = " +
                  Call("()", "x") +
                  "\n  i = s32[] constant(1)\n"
                  "  ROOT y = f32[2] conditional(i, x, x), branch_computations={f, g}\n}\n");
  const auto out = SkipCallbacks(module);
  ASSERT_TRUE(out.has_value());
  EXPECT_EQ(out->skipped, std::vector<std::string>{"print"});
  ASSERT_EQ(out->kept.size(), 1u);
  EXPECT_EQ(out->kept[0].user, "a result of f");
  EXPECT_EQ(RunModule(out->module, {}).status, RunStatus::kRan);
  EXPECT_EQ(RunModule(module, {}).status, RunStatus::kUnsupported);
}

TEST(SkipCallbacksTest, OneUsedByASkippedOneIsSkippedToo) {
  const auto out = Skipped("  a = " + Call("f32[2]", "x") + "\n  b = " + Call("()", "a") +
                           "\n  ROOT y = f32[2] add(x, x)\n");
  EXPECT_EQ(out.skipped, (std::vector<std::string>{"b", "a"}));
  EXPECT_TRUE(out.kept.empty());
}

TEST(SkipCallbacksTest, OtherCustomCallsStay) {
  const auto module = hlo::Parsed(
      "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n"
      "  ROOT y = f32[2] custom-call(x), custom_call_target=\"Sharding\"\n}\n");
  const auto out = SkipCallbacks(module);
  ASSERT_TRUE(out.has_value());
  EXPECT_EQ(out->module, module);
  EXPECT_EQ(SkippedText(out->skipped), "");
}

}  // namespace
}  // namespace hloscope::debug
