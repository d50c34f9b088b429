// Modules whose sums and products are rounded otherwise, evaluated.
#include "core/debug/explain/diverge/other_rounding.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/debug/explain/diverge/asked_products.h"
#include "core/debug/run/run_module.h"
#include "tests/hlo/parsed.h"

namespace hloscope::debug {
namespace {

using ModulePtr = std::shared_ptr<const hlo::Module>;

// The f32 array that the interpreter makes of the numbers, which the parameter p has.
std::vector<float> Evaluated(const ModulePtr& module, const std::vector<float>& numbers) {
  std::vector<std::byte> given(numbers.size() * 4);
  std::memcpy(given.data(), numbers.data(), given.size());
  const hlo::Shape& shape = module->shape(hlo::Named(*module, "p"));
  const std::vector<hlo::Literal> arguments = {hlo::Literal::Dense(shape, std::move(given))};
  RunSpec spec;
  spec.test.name = replay::ReferencePlatform().name;
  spec.inputs = spec.inputs.With(arguments);
  const RunReport report = RunModule(module, spec);
  EXPECT_FALSE(report.error.has_value()) << report.error->ToString();
  if (report.error || report.outputs.empty()) return {};
  const std::span<const std::byte> bytes = report.outputs[0].value.bytes();
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// 256 and three ones: bf16 has no 257, so one after the other none of them counts.
TEST(OtherRounding, SumsThatAreRoundedToLessThanTheirType) {
  for (const std::string reducer :
       {"a = f32[] parameter(0)\n ca = bf16[] convert(a)\n b = f32[] parameter(1)\n"
        " cb = bf16[] convert(b)\n s = bf16[] add(ca, cb)\n ROOT r = f32[] convert(s)"}) {
    for (const auto& [what, sum] :
         {std::pair("reduce", "f32[1] reduce(p, z), dimensions={1}, to_apply=sum"),
          std::pair("reduce-window",
                    "f32[1,1] reduce-window(p, z), window={size=1x4}, to_apply=sum")}) {
      SCOPED_TRACE(what);
      const ModulePtr module = hlo::Parsed("HloModule m\nsum {\n " + reducer +
                                           "\n}\nENTRY e {\n p = f32[1,4] parameter(0)\n"
                                           " z = f32[] constant(0)\n ROOT r = " +
                                           sum + "\n}\n");
      const auto blocks = SumsInBlocks(module);
      ASSERT_TRUE(blocks.has_value() && *blocks != nullptr);
      EXPECT_EQ(Evaluated(*blocks, {256, 1, 1, 1}), std::vector<float>{256});
    }
  }
}

TEST(OtherRounding, OtherReducersAreLeftAlone) {
  for (const std::string body :
       {"ROOT r = f32[] multiply(a, b)", "s = f32[] add(a, b)\n ROOT r = f32[] add(s, b)",
        "n = f32[] negate(a)\n ROOT r = f32[] add(n, b)"}) {
    const ModulePtr module = hlo::Parsed(
        "HloModule m\nsum {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n " + body +
        "\n}\nENTRY e {\n p = f32[1,4] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[1] "
        "reduce(p, z), dimensions={1}, to_apply=sum\n}\n");
    const auto blocks = SumsInBlocks(module);
    ASSERT_TRUE(blocks.has_value());
    EXPECT_EQ(*blocks, nullptr) << body;
  }
}

ModulePtr Square(const std::string& type, const std::string& algorithm) {
  return hlo::Parsed(
      "HloModule m\nENTRY e {\n p = " + type + "[1] parameter(0)\n ROOT d = " + type +
      "[] dot(p, p), lhs_contracting_dims={0}, rhs_contracting_dims={0}" + algorithm + "\n}\n");
}

TEST(AskedProducts, OperandsAreRoundedAsTheAlgorithmSays) {
  // 1 + 2^-8 is in the middle of two bf16; tf32 has it.
  const auto squared = [](const std::string& algorithm) {
    const auto asked = ProductsAsAsked(Square("f32", algorithm));
    EXPECT_TRUE(asked.has_value() && *asked != nullptr) << algorithm;
    return Evaluated(*asked, {1 + 0x1p-8f + 0x1p-12f})[0];
  };
  EXPECT_EQ(squared(", algorithm=dot_bf16_bf16_f32"), (1 + 0x1p-7f) * (1 + 0x1p-7f));
  EXPECT_EQ(squared(", algorithm=dot_tf32_tf32_f32"), (1 + 0x1p-8f) * (1 + 0x1p-8f));
  EXPECT_EQ(squared(", algorithm=dot_f16_f16_f32"), (1 + 0x1p-8f) * (1 + 0x1p-8f));
}

TEST(AskedProducts, OthersAreLeftAlone) {
  for (const auto& [type, algorithm] :
       {std::pair("f32", ""), std::pair("f32", ", algorithm=dot_f32_f32_f32"),
        std::pair("f32", ", algorithm=dot_bf16_bf16_f32_x3"),
        std::pair("bf16", ", algorithm=dot_bf16_bf16_f32")}) {
    const auto asked = ProductsAsAsked(Square(type, algorithm));
    ASSERT_TRUE(asked.has_value());
    EXPECT_EQ(*asked, nullptr) << type << algorithm;
  }
}

}  // namespace
}  // namespace hloscope::debug
