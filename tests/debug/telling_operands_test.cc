// Operands that tell: what becomes of them, and when there are none.
#include "core/debug/explain/kernels/telling_operands.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/hlo/parsed.h"

namespace hloscope::debug {
namespace {

std::shared_ptr<const hlo::Module> Reducing(const std::string& opcode) {
  const std::string sum =
      "sum {\n  p = f32[] parameter(0)\n  q = f32[] parameter(1)\n  ROOT u = f32[] add(p, q)\n}\n";
  return hlo::Parsed(
      "HloModule m\n" + sum +
      "ENTRY e {\n  a = f32[4096] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = " + opcode +
      "\n}\n");
}

KernelQuestion QuestionWith(const std::vector<float>& values) {
  KernelQuestion question;
  question.alone = Reducing("f32[] reduce(a, z), dimensions={0}, to_apply=sum");
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  question.kernels.memory.emplace_back(bytes, bytes + 4 * values.size());
  question.kernels.operands = {{0, 0, 4 * values.size()}};
  question.operand_leaves = {
      {"a", {}, hlo::Shape::Array(hlo::ElementType::kF32, {static_cast<int64_t>(values.size())})}};
  return question;
}

TEST(TellingOperands, AFewElementsAreFarLargerAndKeepTheirSign) {
  std::vector<float> values(4096);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? 0.5f : -0.5f;
  const KernelQuestion question = QuestionWith(values);
  const auto told = WithTellingOperands(question);
  ASSERT_TRUE(told.has_value());
  std::vector<float> after(values.size());
  std::memcpy(after.data(), told->memory[0].data(), told->memory[0].size());
  int larger = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (after[i] == values[i]) continue;
    ++larger;
    EXPECT_EQ(std::signbit(after[i]), std::signbit(values[i]));
    EXPECT_GE(std::abs(after[i]), 512);
    EXPECT_LE(std::abs(after[i]), 1024);
  }
  EXPECT_GT(larger, 30);
  EXPECT_LT(larger, 130);
}

TEST(TellingOperands, AnArrayThatIsHandedOverTwiceStaysOne) {
  KernelQuestion question = QuestionWith(std::vector<float>(4096, 1));
  question.kernels.operands.push_back(question.kernels.operands[0]);
  question.operand_leaves.push_back(question.operand_leaves[0]);
  EXPECT_TRUE(WithTellingOperands(question).has_value());
  question.kernels.operands[1] = {0, 64, 4096};
  EXPECT_FALSE(WithTellingOperands(question).has_value());
}

TEST(TellingOperands, NoneWhereNothingIsReduced) {
  KernelQuestion question = QuestionWith(std::vector<float>(4096, 1));
  question.alone = Reducing("f32[4096] exponential(a)");
  EXPECT_FALSE(WithTellingOperands(question).has_value());
  EXPECT_FALSE(WithTellingOperands(QuestionWith({1, 2, 3})).has_value());
}

}  // namespace
}  // namespace hloscope::debug
