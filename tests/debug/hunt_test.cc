// Random programs: the same for a seed, sound, and with an answer.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "core/debug/hunt/program_maker.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/text/text.h"
#include "core/hlo/verify/verifier.h"

namespace hloscope::debug {
namespace {

std::string TextOf(const hlo::Module& module) {
  std::string text;
  hlo::PrintText(module, hlo::TextFormat::kHlo, text);
  return text;
}

TEST(RandomProgramTest, DependsOnSeedAndNumberAlone) {
  for (uint64_t number = 0; number < 20; ++number) {
    EXPECT_EQ(TextOf(*RandomProgram(7, number)), TextOf(*RandomProgram(7, number)));
    EXPECT_NE(TextOf(*RandomProgram(7, number)), TextOf(*RandomProgram(7, number + 1)));
  }
}

TEST(RandomProgramTest, IsSoundAndCanBeEvaluated) {
  std::map<std::string, int> opcodes, types;
  for (uint64_t number = 0; number < 300; ++number) {
    const auto module = RandomProgram(1, number);
    for (const hlo::Diagnostic& d : hlo::Verify(*module)) {
      ADD_FAILURE() << number << ": " << d.message << "\n" << TextOf(*module);
    }
    const hlo::ParseResult read = hlo::ParseText(TextOf(*module));
    ASSERT_TRUE(read.ok()) << number << ": " << read.diagnostics[0].message << "\n"
                           << TextOf(*module);
    RunRequest request;
    request.seed = number;
    const RunReport report = RunModule(module, request);
    EXPECT_EQ(ToString(report.status), "ran")
        << number << ": " << (report.error ? report.error->ToString() : "") << TextOf(*module);
    for (const hlo::Instruction& i : module->instructions()) {
      ++opcodes[std::string(ToString(i.opcode))];
      ++types[std::string(hlo::ToString((*module)[i.shape].element_type()))];
    }
  }
  EXPECT_GT(opcodes.size(), 85u);
  EXPECT_GT(types.size(), 25u);
  if (testing::Test::HasFailure() || std::getenv("SHOW") != nullptr) {
    for (const auto& [name, count] : opcodes) printf("%s %d\n", name.c_str(), count);
    for (const auto& [name, count] : types) printf("%s %d\n", name.c_str(), count);
  }
}

}  // namespace
}  // namespace hloscope::debug
