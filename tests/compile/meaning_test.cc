// Tests that compiled modules mean what they meant: random programs and the modules of samples,
// with fusion on and off.
#include "tests/compile/meaning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/compile/passes/pass.h"
#include "core/debug/hunt/program_maker.h"
#include "core/dump/load.h"
#include "core/hlo/text/text.h"

namespace hloscope::compile {
namespace {

std::string Text(const hlo::Module& module) {
  std::string text;
  hlo::PrintText(module, hlo::TextFormat::kShort, text);
  return text;
}

// Every id of the module leads to a value of the same shape, or nowhere.
void ExpectProvenance(const hlo::Module& module, const Compilation& compilation) {
  ASSERT_EQ(compilation.new_id.size(), module.instructions().size());
  for (uint32_t i = 0; i < compilation.new_id.size(); ++i) {
    const hlo::InstructionId now = compilation.new_id[i];
    if (!now.valid()) continue;
    ASSERT_LT(now.index, compilation.module->instructions().size());
    EXPECT_TRUE(Compatible(module.shape(hlo::InstructionId(i)), compilation.module->shape(now)))
        << module.name(hlo::InstructionId(i));
  }
}

TEST(Meaning, RandomPrograms) {
  int run = 0;
  for (uint64_t number = 0; number < 300; ++number) {
    const auto program = debug::RandomProgram(5, number);
    if (program->header().replica_count * program->header().num_partitions != 1) continue;
    CompileOptions options;
    // Holes of a dilated input become zeros there, and NaN where the kernel is infinite.
    options.disabled_passes.emplace_back("convolution-normalization");
    if (number % 2 == 1) {
      options.disabled_passes.emplace_back(kPasses[number / 2 % std::size(kPasses)].name);
    }
    const Meaning meaning = CompareMeaning(program, options, number, 5);
    run += meaning.was_run ? 1 : 0;
    EXPECT_EQ(meaning.problem, "") << "program " << number << "\n" << Text(*program);
    if (meaning.problem.empty()) ExpectProvenance(*program, meaning.compilation);
  }
  EXPECT_GT(run, 100);
}

TEST(Meaning, Samples) {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(HLOSCOPE_SOURCE_DIR "/samples")) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".txt") && name.contains("optimizations")) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  int run = 0;
  for (const std::string& path : paths) {
    const auto loaded = dump::LoadSoundModule(path, Limits());
    if (!loaded || loaded->module == nullptr) continue;
    const auto& header = loaded->module->header();
    if (header.replica_count * header.num_partitions != 1) continue;
    const Meaning meaning = CompareMeaning(loaded->module, {}, 0, 20);
    run += meaning.was_run ? 1 : 0;
    EXPECT_EQ(meaning.problem, "") << path;
    if (meaning.problem.empty()) ExpectProvenance(*loaded->module, meaning.compilation);
  }
  EXPECT_GT(run, 3);
}

}  // namespace
}  // namespace hloscope::compile
