// Host callbacks that nobody needs are left out; those that somebody does are named.
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

// A module whose entry has these lines behind `x`, and `y` where no line is called so.
WithoutCallbacks Skipped(const std::string& lines) {
  auto module = hlo::Parsed("HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n" + lines + "}\n");
  auto skipped = SkipCallbacks(module);
  EXPECT_TRUE(skipped.has_value()) << skipped.error().ToString();
  if (!skipped) return {module, {}};
  for (const hlo::Diagnostic& d : hlo::Verify(*skipped->module, {})) {
    EXPECT_NE(d.severity, hlo::Severity::kError) << d.message;
  }
  const RunReport report = RunModule(skipped->module, {});
  EXPECT_EQ(report.status, RunStatus::kRan) << (report.error ? report.error->ToString() : "");
  return *std::move(skipped);
}
std::string Refusal(const std::string& lines) {
  const auto skipped = SkipCallbacks(
      hlo::Parsed("HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n" + lines + "}\n"));
  EXPECT_FALSE(skipped.has_value());
  if (skipped) return "";
  EXPECT_EQ(skipped.error().error_class, ErrorClass::kUnsupported);
  return skipped.error().ToString();
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

TEST(SkipCallbacksTest, AUsedResultIsRefusedByName) {
  EXPECT_EQ(Refusal("  call = " + Call("f32[2]", "x") + "\n  ROOT y = f32[2] add(x, call)\n"),
            "call: a host callback whose result is used, by y: it cannot be skipped, its function "
            "is not in the dump (pass its results as inputs to the part after it, or run the "
            "program itself)");
  EXPECT_NE(Refusal("  ROOT call = " + Call("f32[2]", "x") + "\n").find("by a result of e"),
            std::string::npos);
  EXPECT_NE(Refusal("  a = " + Call("(f32[2], f32[2])", "x") +
                    "\n  v = f32[2] get-tuple-element(a), index=1\n"
                    "  ROOT y = f32[2] negate(v)\n")
                .find("used, by y"),
            std::string::npos);
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
