// Tests that compiled modules mean what they meant: random programs and the modules of samples,
// with fusion on and off.
#include "tests/compile/meaning.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/compile/passes/pass.h"
#include "core/debug/reduce/hunt/program_maker.h"
#include "core/dump/load.h"
#include "core/hlo/text/text.h"
#include "tests/base/paths.h"

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

// Every instruction behind a pass comes from some before it, and is what it is said to be: the same
// operation, or one with that value.
void ExpectOrigins(const hlo::Module& given, const Compilation& compilation) {
  const hlo::Module* before = &given;
  for (const Stage& stage : compilation.stages) {
    const hlo::Module& after = *stage.module;
    std::vector<bool> has_origin(after.instructions().size());
    for (const hlo::Origin& origin : stage.origins) {
      ASSERT_LT(origin.before.index, before->instructions().size());
      ASSERT_LT(origin.after.index, after.instructions().size());
      has_origin[origin.after.index] = true;
      const std::string what =
          fmt::format("{}: {} from {}: {}", stage.pass, after.name(origin.after),
                      before->name(origin.before), WordOf(origin.kind));
      if (origin.kind <= hlo::OriginKind::kCopied) {
        EXPECT_EQ(after[origin.after].opcode, (*before)[origin.before].opcode) << what;
      }
      if (origin.kind == hlo::OriginKind::kReplaced && stage.pass != "dynamic-dimensions") {
        EXPECT_TRUE(Compatible(after.shape(origin.after), before->shape(origin.before))) << what;
      }
    }
    const auto none = std::ranges::find(has_origin, false);
    EXPECT_TRUE(none == has_origin.end())
        << stage.pass << ": nothing is said of "
        << after.name(hlo::InstructionId(static_cast<size_t>(none - has_origin.begin())));
    before = &after;
  }
}

TEST(Meaning, RandomPrograms) {
  int run = 0;
  for (uint64_t number = 0; number < 300; ++number) {
    const auto program = debug::RandomProgram(5, number);
    if (program->header().replica_count * program->header().num_partitions != 1) continue;
    CompileOptions options;
    options.keep_stages = true;
    if (number % 2 == 1) {
      options.disabled_passes.emplace_back(kPasses[number / 2 % std::size(kPasses)].name);
    }
    const Meaning meaning = CompareMeaning(program, options, number, 5);
    run += meaning.was_run ? 1 : 0;
    EXPECT_EQ(meaning.problem, "") << "program " << number << "\n" << Text(*program);
    if (meaning.problem.empty()) ExpectProvenance(*program, meaning.compilation);
    ExpectOrigins(*program, meaning.compilation);
  }
  EXPECT_GT(run, 100);
}

TEST(Meaning, Samples) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SourcePath("samples"))) {
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
    CompileOptions options;
    options.keep_stages = true;
    const Meaning meaning = CompareMeaning(loaded->module, options, 0, 20);
    run += meaning.was_run ? 1 : 0;
    EXPECT_EQ(meaning.problem, "") << path;
    if (meaning.problem.empty()) ExpectProvenance(*loaded->module, meaning.compilation);
    ExpectOrigins(*loaded->module, meaning.compilation);
  }
  EXPECT_GT(run, 3);
}

}  // namespace
}  // namespace hloscope::compile
