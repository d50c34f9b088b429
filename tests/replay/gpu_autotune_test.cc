// Which way of a library an instruction is computed: by the rule, measured, from the cache, from a
// bundle; and every choice that is not taken is said. Times are those that the made-up driver is
// told to give.
#include <filesystem>

#include "core/backends/libraries/autotune_cache.h"
#include "core/backends/libraries/autotune_table.h"
#include "core/base/file.h"
#include "tests/base/paths.h"
#include "tests/base/scratch.h"
#include "tests/replay/gpu_library_runs.h"

namespace hloscope::replay {
namespace {

constexpr const char* kTimes =
    "own_clock=1,kernel_us=50,fake_product_us=30,fake_product_2_us=10,fake_product_3_us="
    "20,fake_convolution_us=40,fake_convolution_2_us=15";

class GpuChoices : public ::testing::Test {
 protected:
  void SetUp() override { setenv("XDG_CACHE_HOME", scratch_.Path("cache").c_str(), 1); }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  static void Set(const std::string& libraries, const std::string& driver) {
    SetLibraryFaults(libraries);
    SetFaults(driver);
  }
  // The product, and its only choice.
  static RunExecuted::Choice Run(AutotuneMode autotune_mode, const std::string& choices = {}) {
    const DotCase dot = DotCases()[0];
    return RunText(DotModule(dot.left, dot.right, dot.out, dot.type, dot.attributes),
                   {Numbers(dot.left_sizes), Numbers(dot.right_sizes)}, autotune_mode, choices);
  }
  static RunExecuted::Choice RunText(const std::string& text, const std::vector<Literal>& inputs,
                                     AutotuneMode autotune_mode, const std::string& choices = {}) {
    RunOptions options;
    options.load.autotune_mode = autotune_mode;
    options.load.choices = choices;
    const Outcome gpu = RunOn("gpu", text.c_str(), inputs, 2, options);
    EXPECT_FALSE(gpu.error.has_value()) << gpu.error->ToString();
    const Outcome meant = RunOn("interpreter", text.c_str(), inputs);
    EXPECT_EQ(gpu.executed.choices.size(), 1u);
    if (gpu.error || gpu.executed.choices.empty()) return {};
    EXPECT_LT(Distance(gpu.results[0], meant.results[0]), 1e-5);
    rows = gpu.executed.choice_rows;
    ExpectNothingLeft("a choice");
    return gpu.executed.choices[0];
  }
  static std::string Notes(const RunExecuted::Choice& choice) {
    return fmt::format("{}", fmt::join(choice.way.notes, "\n"));
  }

  Scratch scratch_;
  static inline std::vector<std::string> rows;  // of the last run, for a bundle
};

TEST_F(GpuChoices, TheRuleIsTheLibrarysFirstProposal) {
  Set("cublasLt.algorithms=3", kTimes);
  const auto choice = Run(AutotuneMode::kByRule);
  EXPECT_EQ(choice.reason, "");
  EXPECT_EQ(choice.way.way, "the library's first candidate");
  EXPECT_EQ(choice.way.from, "rule");
  EXPECT_EQ(choice.way.time_us, 0);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_NE(rows[0].find("\tdot\tf32 f32 64x80x72"), std::string::npos) << rows[0];
  EXPECT_NE(rows[0].find("\tproposal 1 ("), std::string::npos) << rows[0];
  // Nothing is kept of it, and nothing was measured.
  EXPECT_EQ(libraries::AutotuneCache().files().Used().files, 0);
  EXPECT_EQ(Run(AutotuneMode::kFromCache).way.from, "rule");
}

TEST_F(GpuChoices, TheFastestIsMeasuredKeptAndTakenAgain) {
  Set("cublasLt.algorithms=3", kTimes);
  const auto measured = Run(AutotuneMode::kByTime);
  EXPECT_TRUE(measured.way.way.starts_with("proposal 2 (")) << measured.way.way;
  EXPECT_EQ(measured.way.from, "measured");
  EXPECT_NEAR(measured.way.time_us, 10, 0.01);
  ASSERT_EQ(measured.way.tried.size(), 4u);
  EXPECT_NEAR(measured.way.tried[0].time_us, 30, 0.01);
  EXPECT_EQ(measured.way.tried[3].way, kOwnWay);
  EXPECT_NEAR(measured.way.tried[3].time_us, 50, 0.01);

  // A later run takes it without measuring, unless it is to go by the rule.
  const auto kept = Run(AutotuneMode::kFromCache);
  EXPECT_EQ(kept.way.way, measured.way.way);
  EXPECT_EQ(kept.way.from, "cache");
  EXPECT_NEAR(kept.way.time_us, 10, 0.01);
  EXPECT_TRUE(kept.way.tried.empty());
  EXPECT_EQ(Run(AutotuneMode::kByRule).way.from, "rule");

  // So does a bundle's, where there is no cache, and before a cache that says otherwise.
  ASSERT_EQ(Run(AutotuneMode::kFromCache).way.from, "cache");
  const std::string table = libraries::TableOf(rows);
  setenv("XDG_CACHE_HOME", scratch_.Path("other").c_str(), 1);
  for (const AutotuneMode autotune_mode : {AutotuneMode::kByRule, AutotuneMode::kFromCache}) {
    const auto bundled = Run(autotune_mode, table);
    EXPECT_EQ(bundled.way.way, measured.way.way);
    EXPECT_EQ(bundled.way.from, "bundle");
    EXPECT_NEAR(bundled.way.time_us, 10, 0.01);
    EXPECT_EQ(Notes(bundled), "");
  }
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(libraries::TableOf(rows), table);  // a bundle of a bundle's run holds the same
}

TEST_F(GpuChoices, ABundleHoldsTheRunsOfTheRuleToIt) {
  Set("cublasLt.algorithms=3", kTimes);
  Run(AutotuneMode::kByRule);
  const std::string table = libraries::TableOf(rows);
  ASSERT_EQ(Run(AutotuneMode::kByTime).way.from, "measured");
  const auto choice = Run(AutotuneMode::kFromCache, table);
  EXPECT_TRUE(choice.way.way.starts_with("proposal 1 (")) << choice.way.way;
  EXPECT_EQ(choice.way.from, "bundle");
}

TEST_F(GpuChoices, WhoAsksToMeasureMeasuresABundleToo) {
  Set("cublasLt.algorithms=3", kTimes);
  Run(AutotuneMode::kByRule);
  const std::string table = libraries::TableOf(rows);
  const auto choice = Run(AutotuneMode::kByTime, table);
  EXPECT_TRUE(choice.way.way.starts_with("proposal 2 (")) << choice.way.way;
  EXPECT_EQ(choice.way.from, "measured");
  EXPECT_EQ(choice.way.tried.size(), 4u);
  EXPECT_TRUE(Notes(choice).starts_with("the bundle's autotune result, proposal 1 ("))
      << Notes(choice);
  EXPECT_TRUE(Notes(choice).ends_with("is not used: --autotune measures again"));
  // One that cannot be made any more is no reason to fall back on the rule.
  Set("cublasLt.algorithms=3,cublasLt.refused=1", kTimes);
  EXPECT_EQ(Run(AutotuneMode::kByTime, table).way.from, "measured");
}

TEST_F(GpuChoices, OurOwnKernelMayBeTheFastest) {
  Set("cublasLt.algorithms=2", "own_clock=1,kernel_us=5,fake_product_us=8,fake_product_2_us=7");
  const auto measured = Run(AutotuneMode::kByTime);
  EXPECT_EQ(measured.way.way, kOwnWay);
  EXPECT_TRUE(measured.reason.starts_with("it is the fastest: 5.0 us, the next, proposal 2 ("))
      << measured.reason;
  const auto kept = Run(AutotuneMode::kFromCache);
  EXPECT_EQ(kept.way.way, kOwnWay);
  EXPECT_EQ(kept.way.from, "cache");
  EXPECT_EQ(kept.reason, "the cache says so");
}

TEST_F(GpuChoices, WhatIsRefusedIsSaidAndTheNextIsTaken) {
  Set("cublasLt.algorithms=3,cublasLt.refused=2", kTimes);
  const auto measured = Run(AutotuneMode::kByTime);
  EXPECT_TRUE(measured.way.way.starts_with("proposal 3 (")) << measured.way.way;
  ASSERT_EQ(measured.way.tried.size(), 4u);
  EXPECT_NE(measured.way.tried[1].refused.find("cuBLASLt: not supported: multiplying failed"),
            std::string::npos)
      << measured.way.tried[1].refused;

  Set("cublasLt.algorithms=3,cublasLt.unfit=1", kTimes);
  const auto by_rule = Run(AutotuneMode::kByRule);
  EXPECT_EQ(by_rule.reason, "");
  EXPECT_EQ(by_rule.way.way, "the library's first candidate that is not refused");
  EXPECT_NE(Notes(by_rule).find("is refused: cuBLASLt: not supported: choosing"), std::string::npos)
      << Notes(by_rule);

  // What the cache says, and is refused in a launch, gives way to our own kernel.
  setenv("XDG_CACHE_HOME", scratch_.Path("other").c_str(), 1);
  Set("cublasLt.algorithms=3", kTimes);
  ASSERT_TRUE(Run(AutotuneMode::kByTime).way.way.starts_with("proposal 2 ("));
  Set("cublasLt.algorithms=3,cublasLt.refused=2", kTimes);
  const auto launched = Run(AutotuneMode::kFromCache);
  EXPECT_NE(launched.reason.find("multiplying failed"), std::string::npos) << launched.reason;
  EXPECT_EQ(launched.way.way, kOwnWay);
  EXPECT_NE(Notes(launched).find("is refused in a launch"), std::string::npos) << Notes(launched);
}

TEST_F(GpuChoices, AChoiceOfAnotherVersionOrDeviceIsNotTaken) {
  Set("cublasLt.algorithms=3", kTimes);
  Run(AutotuneMode::kByTime);
  const std::string table = libraries::TableOf(rows);
  const auto expect_not_taken = [&](const RunExecuted::Choice& choice, const char* whose) {
    EXPECT_EQ(choice.way.from, "rule") << whose;
    EXPECT_NE(Notes(choice).find(whose), std::string::npos) << Notes(choice);
    EXPECT_NE(Notes(choice).find("not used"), std::string::npos) << Notes(choice);
  };
  // Of a driver that was updated since.
  auto older = libraries::ReadTable(table, "choices.tsv");
  ASSERT_TRUE(older.has_value());
  (*older)[0].driver = 12090;
  libraries::AutotuneCache().Store((*older)[0]);
  expect_not_taken(Run(AutotuneMode::kFromCache), "the cached autotune result, proposal 2 (");
  expect_not_taken(Run(AutotuneMode::kByRule, libraries::TableOf({libraries::RowOf((*older)[0])})),
                   "is for cuBLASLt 13.0.0 and CUDA 12.9 on");
  const std::string times = kTimes;
  Set("cublasLt.algorithms=3", times + ",capability=80");
  expect_not_taken(Run(AutotuneMode::kFromCache, table),
                   "the bundle's autotune result, proposal 2 (");
  // The library proposes less than it did.
  Set("cublasLt.algorithms=3", kTimes);
  Run(AutotuneMode::kByTime);
  Set("cublasLt.algorithms=1", kTimes);
  expect_not_taken(Run(AutotuneMode::kFromCache), ": proposal 2 (");
  // Of another library, read anew for this folder's name.
  Set("cublasLt.algorithms=3,cublasLt.major=14", kTimes);
  setenv("LD_LIBRARY_PATH", (FakeDriverFolder() + "//").c_str(), 1);
  expect_not_taken(Run(AutotuneMode::kFromCache), "here is cuBLASLt 14.0.0");
}

TEST_F(GpuChoices, ADamagedFileIsRefusedByName) {
  Set("cublasLt.algorithms=3", kTimes);
  Run(AutotuneMode::kByTime);
  std::string file;
  for (const auto& each :
       std::filesystem::directory_iterator(libraries::AutotuneCache().files().folder())) {
    file = each.path().string();
  }
  ASSERT_NE(file, "");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  const auto choice = Run(AutotuneMode::kFromCache);
  EXPECT_EQ(choice.way.from, "rule");
  EXPECT_NE(Notes(choice).find(file + ": it is damaged"), std::string::npos) << Notes(choice);
  // And is measured anew.
  Run(AutotuneMode::kByTime);
  EXPECT_EQ(Run(AutotuneMode::kFromCache).way.from, "cache");
}

TEST_F(GpuChoices, ConvolutionsTransformsAndSmallProductsAreMeasuredToo) {
  Set("cudnn.engines=3", kTimes);
  // One whose filter already lies as cuDNN wants it: no kernel of ours before it.
  const std::vector<ConvolutionCase> cases = ConvolutionCases();
  const auto as_it_lies = std::ranges::find_if(cases, [](const ConvolutionCase& each) {
    return std::string_view(each.attributes).find("bf01_oi01->bf01") != std::string_view::npos;
  });
  ASSERT_NE(as_it_lies, cases.end());
  const ConvolutionCase& conv = *as_it_lies;
  const std::vector<Literal> arrays = {Numbers(conv.input), Numbers(conv.filter)};
  const auto convolution = RunText(ConvolutionText(conv), arrays, AutotuneMode::kByTime);
  EXPECT_EQ(convolution.way.way, "proposal 2 (engine 2)");
  EXPECT_EQ(convolution.way.tried.size(), 3u);
  EXPECT_EQ(RunText(ConvolutionText(conv), arrays, AutotuneMode::kFromCache).way.way,
            "proposal 2 (engine 2)");

  const auto transform = RunText(kTransforms[0], {Numbers({40, 45})}, AutotuneMode::kByTime);
  EXPECT_EQ(transform.way.way, "its only way");
  EXPECT_EQ(transform.way.tried.size(), 2u);

  // The rule says that a kernel of ours is better; the time says otherwise.
  const std::string small = DotModule("[8,16]", "[16,8]", "f32[8,8]", "f32",
                                      "lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  const std::vector<Literal> factors = {Numbers({8, 16}), Numbers({16, 8})};
  const auto by_rule = RunText(small, factors, AutotuneMode::kByRule);
  EXPECT_EQ(by_rule.way.way, kOwnWay);
  EXPECT_NE(by_rule.reason, "");
  const auto by_time = RunText(small, factors, AutotuneMode::kByTime);
  EXPECT_EQ(by_time.reason, "");
  EXPECT_TRUE(by_time.way.way.starts_with("proposal 1 (")) << by_time.way.way;
}

TEST_F(GpuChoices, WithoutMemoryToMeasureInTheRuleHolds) {
  // Room for the run, none for arrays and workspace beside it.
  Set("cublasLt.algorithms=2", std::string(kTimes) + ",cuMemAlloc:1=2");
  const auto choice = Run(AutotuneMode::kByTime);
  EXPECT_EQ(choice.way.from, "rule");
  EXPECT_NE(Notes(choice).find("not measured: not enough device memory"), std::string::npos)
      << Notes(choice);
}

TEST(AutotuneTable, IsReadBackAndRefusedByLine) {
  const libraries::AutotuneResult choice{.key = {.device = "a\tb",
                                                 .capability = 90,
                                                 .library = "cuBLASLt",
                                                 .opcode = "dot",
                                                 .form = "f32"},
                                         .driver = 13000,
                                         .version = "13.0.2",
                                         .way = "proposal 1",
                                         .from = "measured",
                                         .time_us = 1.5};
  const std::string table =
      libraries::TableOf({libraries::RowOf(choice), libraries::RowOf(choice)});
  const auto read = libraries::ReadTable(table, "t");
  ASSERT_TRUE(read.has_value()) << read.error().ToString();
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ((*read)[0].key.device, "a b");
  EXPECT_EQ((*read)[0].time_us, 1.5);
  EXPECT_EQ(libraries::TableOf({}), "");
  const std::string head = table.substr(0, table.find('\n') + 1);
  for (const auto& [text, error] : {
           std::pair(std::string("x\n"), "t:1: not a table of autotune results"),
           std::pair(head + "a\tb\n", "t:2: 2 fields with tabs between them, expected 10"),
           std::pair(head + "d\tx\t1\tl\tv\to\tf\tw\tr\t1\n", "t:2: capability, driver"),
           std::pair(head + "d\t90\t1\tl\tv\to\tf\tw\tr\tinf\n", "t:2: capability, driver"),
           std::pair(head + "d\t90\t1\tl\tv\to\tf\t\tr\t1\n", "t:2: capability, driver"),
       }) {
    const auto refused = libraries::ReadTable(text, "t");
    ASSERT_FALSE(refused.has_value()) << text;
    EXPECT_TRUE(refused.error().message.starts_with(error)) << refused.error().message;
  }
}

}  // namespace
}  // namespace hloscope::replay
