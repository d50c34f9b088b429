// Every row of run_options.def is read from the command line as it is written
// there.
#include "app/run_options.h"

#include <gtest/gtest.h>

#include <concepts>
#include <sstream>

#include "app/command_line.h"
#include "app/help.h"
#include "core/debug/bundle/manifest.h"

namespace hloscope::app {
namespace {

using debug::NonFiniteKind;
using debug::RunSpec;

// Gives a member another value than the default one. Platforms and their target
// need known names.
template <typename T>
void Change(T& value, std::string_view text) {
  if constexpr (std::same_as<T, bool>) {
    value = !value;
  } else if constexpr (std::same_as<T, std::string>) {
    value = text == "--target {}" ? "h100" : text.ends_with("platform {}") ? "gpu-sim" : "a path";
  } else if constexpr (std::same_as<T, std::vector<std::string>>) {
    const bool is_shape = text.starts_with("--shape");
    value = is_shape ? T{"a=1", "b=2"} : T{"one.npz", "another.npz"};
  } else if constexpr (std::same_as<T, std::optional<NonFiniteKind>>) {
    value = NonFiniteKind::kInfinity;
  } else {
    value = 7;
  }
}

RunSpec ChangedRequest() {
  RunSpec request;
#define RUN_OPTION(member, text, ...) Change(request.member, text);
#define LOCAL_OPTION(member, text, ...) Change(request.member, text);
#include "core/debug/run/run_options.def"
  return request;
}

class RunOptionsTest : public testing::Test {
 protected:
  // Reads the words as `run` does.
  void Read(const std::vector<std::string>& words) {
    for (const RunGroup group :
         {RunGroup::kInputs, RunGroup::kOutputs, RunGroup::kComparison, RunGroup::kIsolation,
          RunGroup::kMetrics, RunGroup::kRepeats, RunGroup::kExecution}) {
      for (OptionSpec& spec : run_.Specs(group)) specs_.push_back(std::move(spec));
    }
    const CommandRow row{.make = nullptr, .name = "run", .summary = "", .examples = ""};
    ASSERT_EQ(ParseArguments(row, specs_, words), ParseOutcome::kRun);
    const Status ready = run_.Prepare({});
    ASSERT_TRUE(ready) << ready.error().ToString();
  }

  RunOptionSet run_;
  std::vector<OptionSpec> specs_;
};

TEST_F(RunOptionsTest, WhatABundleRecordsIsReadFromItsCommand) {
  const RunSpec request = ChangedRequest();
  Read(debug::RunArguments(request));
#define RUN_OPTION(member, text, ...) EXPECT_EQ(run_.request().member, request.member) << text;
#include "core/debug/run/run_options.def"
}

TEST_F(RunOptionsTest, FilesAreInTheCommandThatRunsTheSameAgain) {
  RunSpec request = ChangedRequest();
  request.inputs.literals_file = "literals";
  request.inputs.constants = "constants.npz";
  request.reference.python = "python";
  std::istringstream line(run_.OptionsText(request));
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  Read(words);
#define LOCAL_OPTION(member, text, ...) EXPECT_EQ(run_.request().member, request.member) << text;
#include "core/debug/run/run_options.def"
}

TEST_F(RunOptionsTest, NothingGivenIsTheDefault) {
  RunSpec usual;
  Read({});
#define RUN_OPTION(member, text, ...) EXPECT_EQ(run_.request().member, usual.member) << text;
#define LOCAL_OPTION(member, text, ...) EXPECT_EQ(run_.request().member, usual.member) << text;
#define SINK_OPTION(member, text, ...) \
  EXPECT_EQ(run_.sinks().member, debug::RunSinks().member) << text;
#include "core/debug/run/run_options.def"
}

TEST_F(RunOptionsTest, AnOptionWithoutEffectNamesThePlatformsThatHaveIt) {
  run_.request().test.name = "cpu";
  for (OptionSpec& spec : run_.Specs(RunGroup::kMetrics)) specs_.push_back(std::move(spec));
  const CommandRow row{.make = nullptr, .name = "run", .summary = "", .examples = ""};
  ASSERT_EQ(ParseArguments(row, specs_, {"--metrics"}), ParseOutcome::kRun);
  const Status ready = run_.Prepare({});
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().ToString(),
            "--metrics: cpu has no GPU performance "
            "counters (platforms that do: gpu)");
}

// So that none takes -1, or 0 where that means nothing, and does something else than was asked for.
TEST(Options, EveryNumberHasALeastValue) {
  for (const CommandRow& row : CommandRows()) {
    const std::unique_ptr<Command> command = row.make();
    CommonOptions common;
    for (const OptionSpec& spec : AllOptions(*command, common)) {
      const bool is_number = std::holds_alternative<int*>(spec.target) ||
                             std::holds_alternative<int64_t*>(spec.target) ||
                             std::holds_alternative<std::optional<int64_t>*>(spec.target) ||
                             std::holds_alternative<std::optional<double>*>(spec.target);
      if (!is_number || spec.name == "--jobs") continue;  // checked with the limits
      EXPECT_TRUE(spec.min || spec.positive) << row.name << " " << spec.name;
    }
  }
}

}  // namespace
}  // namespace hloscope::app
