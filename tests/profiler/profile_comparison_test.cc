// What a comparison of profiles names: what was made slower and nothing else, however the machine
// was.
#include "profiler/profile_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "core/hlo/text/text.h"
#include "profiler/event_store_builder.h"
#include "profiler/module_runs.h"
#include "profiler/sample_statistics.h"
#include "tests/profiler/trace_fixture.h"

namespace hloscope::profiler {
namespace {

// Median times in nanoseconds, every fifth of the sorted ones, of the instructions of
// samples/mlp_train_step as the interpreter ran them.
constexpr std::array kTypicalNs = {
    71,  88,  94,   99,   107,  114,  117,  122,  130,  139,  144,  152,  157,  183,
    189, 206, 224,  254,  275,  292,  304,  319,  321,  333,  338,  342,  350,  359,
    383, 389, 400,  409,  430,  449,  452,  464,  474,  490,  502,  524,  546,  603,
    682, 784, 1026, 1383, 1894, 2019, 2493, 3353, 3928, 4230, 5416, 6409, 8112, 12188};
constexpr size_t kInstructions = kTypicalNs.size();

// 50 seeds of each; COMPARISON_SEEDS of the environment for a longer look.
uint64_t Seeds() {
  const char* asked = std::getenv("COMPARISON_SEEDS");
  return asked == nullptr ? 50 : std::strtoull(asked, nullptr, 10);
}

std::string NameOf(size_t i) { return "i" + std::to_string(i); }

std::shared_ptr<const hlo::Module> MadeModule() {
  std::string text = "HloModule made\nENTRY main {\n  i0 = f32[4] parameter(0)\n";
  for (size_t i = 1; i < kInstructions; ++i) {
    text += i + 1 == kInstructions ? "  ROOT " : "  ";
    text += NameOf(i) + " = f32[4] " + (i % 2 == 0 ? "tanh(" : "copy(") + NameOf(i - 1) +
            "), metadata={source_file=\"f.py\" source_line=" + std::to_string(i / 4 + 1) + "}\n";
  }
  return hlo::ParseText(text + "}\n", Limits()).module;
}

// How a recording is made up. Every instruction jitters by a lognormal of 3 to 8 % and sometimes
// takes several times as long; the machine's speed wanders and steps.
struct Recipe {
  int runs = 30;
  double speed = 1;               // of the machine, a factor of all times
  size_t slower = kInstructions;  // which instruction takes `by` times as long
  double by = 1.2;
  double recordings_differ = 0;  // by how much each instruction is off in the whole recording
  int times = 1;                 // how often a run runs all
};

std::shared_ptr<const Attribution> Recorded(const Recipe& recipe, uint64_t seed) {
  static const std::shared_ptr<const hlo::Module> kModule = MadeModule();
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  EventStoreBuilder builder;
  const LaneId lane = builder.AddLane(builder.AddGroup("host", false), "thread", LaneRole::kThread);
  std::vector<double> own(kInstructions);
  for (double& off : own) off = recipe.recordings_differ * normal(random);
  double wander = 0;
  int64_t now = 0;
  const double step_at = recipe.runs * uniform(random), step = 0.15 * uniform(random);
  for (int run = 0; run < recipe.runs * recipe.times; ++run) {
    for (size_t i = 0; i < kInstructions; ++i) {
      wander = 0.999 * wander + 0.003 * normal(random);
      const double drift = wander + (run > step_at ? step : 0);
      const double jitter = 0.03 + 0.05 * static_cast<double>(i % 7) / 6;
      double ns = kTypicalNs[i] * recipe.speed * std::exp(drift + own[i] + jitter * normal(random));
      if (uniform(random) < 0.02) ns *= 2 + 6 * uniform(random);
      if (i == recipe.slower) ns *= recipe.by;
      const auto picoseconds = static_cast<int64_t>(ns) * 1000;
      const OperationId operation =
          builder.AddOperation({builder.Name("made"), builder.Name(NameOf(i)), 1});
      EXPECT_TRUE(builder.Add(lane, now, picoseconds, builder.Name(NameOf(i)), operation));
      now += picoseconds + 20'000;
    }
  }
  return *Attribution::Make(*builder.Finish(SharedJobs(2)), {{1, "made", kModule, {}}},
                            SharedJobs(2));
}

std::vector<std::string> NamedIn(const std::vector<ComparedTime>& rows) {
  std::vector<std::string> names;
  for (const ComparedTime& row : rows) {
    if (row.is_named()) names.push_back(row.instruction + " " + std::string(KeyOf(row.verdict)));
  }
  return names;
}

using Recordings = std::vector<ComparedRecording>;

ProfileComparison Compare(const Recordings& before, const Recordings& after) {
  return *CompareProfiles(before, after, SharedJobs(2));
}

const ComparedTime& RowOf(const ProfileComparison& comparison, const std::string& name) {
  return *std::ranges::find(comparison.rows, name, &ComparedTime::instruction);
}

// Two recordings of different lengths on machines of different speeds.
ProfileComparison Trial(uint64_t seed, size_t slower, double by) {
  std::mt19937_64 random(seed);
  const double speed = std::uniform_real_distribution(0.8, 1.25)(random);
  return Compare(
      {{Recorded({.runs = 30}, 2 * seed)}},
      {{Recorded({.runs = 45, .speed = speed, .slower = slower, .by = by}, 2 * seed + 1)}});
}

TEST(ProfileComparisonTest, OneSlowerInstructionIsNamedAlone) {
  uint64_t alone = 0, missed = 0, held = 0;
  for (uint64_t seed = 1; seed <= Seeds(); ++seed) {
    const size_t slower = seed % kInstructions;
    const ProfileComparison comparison = Trial(seed, slower, 1.2);
    const std::vector<std::string> named = NamedIn(comparison.rows);
    alone += named == std::vector<std::string>{NameOf(slower) + " slower"} ? 1 : 0;
    const ComparedTime& row = RowOf(comparison, NameOf(slower));
    missed += row.is_named() ? 0 : 1;
    ASSERT_TRUE(row.ratio.has_value());
    held += row.ratio->low <= 1.2 && 1.2 <= row.ratio->high ? 1 : 0;
  }
  std::printf("of %d named alone %d, missed %d, right interval %d\n", static_cast<int>(Seeds()),
              static_cast<int>(alone), static_cast<int>(missed), static_cast<int>(held));
  EXPECT_GE(alone, Seeds() - Seeds() / 25);
  EXPECT_GE(held, Seeds() - Seeds() / 50);
}

TEST(ProfileComparisonTest, OfEqualOnesNothingIsNamed) {
  uint64_t clean = 0;
  for (uint64_t seed = 1; seed <= Seeds(); ++seed) {
    const ProfileComparison c = Trial(1'000'000 + seed, kInstructions, 1);
    size_t named = 0;
    for (const auto* rows : {&c.rows, &c.fusions, &c.categories, &c.source_lines})
      named += NamedIn(*rows).size();
    clean += named == 0 && !c.total.is_named() ? 1 : 0;
  }
  std::printf("of %d nothing named in %d\n", static_cast<int>(Seeds()), static_cast<int>(clean));
  EXPECT_GE(clean, Seeds() - Seeds() / 50);
}

// Recordings of real programs differ for good, in other instructions each time.
TEST(ProfileComparisonTest, VariationBetweenRecordingsIsNotAChange) {
  const Recipe recipe{.runs = 30, .recordings_differ = 0.06};
  const ProfileComparison two = Compare({{Recorded(recipe, 1)}}, {{Recorded(recipe, 2)}});
  EXPECT_TRUE(NamedIn(two.rows).empty());
  EXPECT_NEAR(two.spread, 0.085, 0.03);
  EXPECT_EQ(two.notes.size(), 1u);
  Recordings before, after;
  for (uint64_t seed = 10; seed < 15; ++seed) {
    Recipe slower = recipe;
    slower.slower = 7;
    slower.by = 1.5;
    before.push_back({Recorded(recipe, seed)});
    after.push_back({Recorded(slower, 100 + seed)});
  }
  const ProfileComparison many = Compare(before, after);
  EXPECT_EQ(NamedIn(many.rows), std::vector<std::string>{"i7 slower"});
  EXPECT_EQ(many.spread, 0);
  EXPECT_EQ(NamedIn(Compare(before, before).rows), std::vector<std::string>());
}

TEST(ProfileComparisonTest, TooLittleIsSaid) {
  const ProfileComparison once =
      Compare({{Recorded({.runs = 3}, 1)}}, {{Recorded({.runs = 3, .slower = 4, .by = 9}, 2)}});
  EXPECT_EQ(once.judged, 0u);
  EXPECT_FALSE(once.speed.has_value());
  for (const ComparedTime& row : once.rows) {
    EXPECT_EQ(row.verdict, Verdict::kTooFew);
    EXPECT_FALSE(row.ratio.has_value());
  }
  ASSERT_EQ(once.notes.size(), 1u);
  EXPECT_NE(once.notes[0].find("several times"), std::string::npos) << once.notes[0];
}

TEST(ProfileComparisonTest, TwoOfEachAreTooFew) {
  const ComparedRecording one{Recorded({.runs = 8}, 1)}, two{Recorded({.runs = 8}, 2)};
  const ProfileComparison c = Compare({one, two}, {two, one});
  EXPECT_EQ(c.judged, 0u);
  ASSERT_EQ(c.notes.size(), 1u);
  EXPECT_NE(c.notes[0].find("3 of each side are needed"), std::string::npos) << c.notes[0];
  EXPECT_EQ(Compare({one}, {two, one, two}).judged, 0u);
}

TEST(ProfileComparisonTest, TheMachinesSpeedIsTakenOut) {
  const ProfileComparison c =
      Compare({{Recorded({}, 1)}}, {{Recorded({.runs = 60, .speed = 2}, 2)}});
  ASSERT_TRUE(c.speed.has_value());
  EXPECT_NEAR(*c.speed, 2, 0.4);
  EXPECT_EQ(c.runs, 2);
  EXPECT_TRUE(NamedIn(c.rows).empty());
  ASSERT_TRUE(c.total.ratio.has_value());
  EXPECT_NEAR(c.total.ratio->ratio, 1, 0.05);
}

TEST(ProfileComparisonTest, GroupsAreOfTheirMembers) {
  const ProfileComparison c = Compare({{Recorded({.runs = 200}, 1)}},
                                      {{Recorded({.runs = 200, .slower = 42, .by = 3}, 2)}});
  EXPECT_EQ(NamedIn(c.rows), std::vector<std::string>{"i42 slower"});
  EXPECT_EQ(NamedIn(c.source_lines), std::vector<std::string>{"f.py:11 slower"});
  int64_t rows = 0, lines = 0, categories = 0;
  for (const ComparedTime& row : c.rows) rows += row.before;
  for (const ComparedTime& row : c.categories) categories += row.before;
  for (const ComparedTime& row : c.source_lines) lines += row.before;
  EXPECT_EQ(rows, categories);
  EXPECT_EQ(rows - RowOf(c, "i0").before, lines);
  EXPECT_EQ(rows, c.before);
}

// An entry with a loop around a loop: what a run executes once, and so many times.
std::shared_ptr<const hlo::Module> LoopModule(const std::string& name) {
  const std::string text = "HloModule " + name + R"(
inner_body {
  ip = f32[4] parameter(0)
  ROOT inner = f32[4] tanh(ip)
}
inner_cond {
  icp = f32[4] parameter(0)
  ROOT ic = pred[] constant(false)
}
body {
  bp = f32[4] parameter(0)
  b = f32[4] cosine(bp)
  ROOT w2 = f32[4] while(b), condition=inner_cond, body=inner_body
}
cond {
  cp = f32[4] parameter(0)
  ROOT c = pred[] constant(false)
}
ENTRY main {
  x = f32[4] parameter(0)
  w = f32[4] while(x), condition=cond, body=body
  ROOT r = f32[4] negate(w)
}
)";
  return hlo::ParseText(text, Limits()).module;
}

struct LoopRecipe {
  std::string module = "loop";
  int runs = 10, iterations = 20, inner = 1, devices = 1;
  bool has_entry = true;       // else what an entry executes has no event
  bool is_cut = false;         // the trace begins after the first instruction of the first run
  int module_line_events = 0;  // of a line "XLA Modules"
};

std::shared_ptr<const Attribution> LoopRecorded(const std::vector<LoopRecipe>& recipes) {
  EventStoreBuilder builder;
  std::vector<AttributedModule> modules;
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (const LoopRecipe& recipe : recipes) {
    modules.push_back({-1, recipe.module, LoopModule(recipe.module), {}});
    for (int device = 0; device < recipe.devices; ++device) {
      const LaneId lane =
          builder.AddLane(builder.AddGroup("/device:GPU", true), "Stream #1", LaneRole::kStream);
      int64_t now = 0;
      const auto add = [&](const std::string& name, int64_t ns) {
        const OperationId operation =
            builder.AddOperation({builder.Name(recipe.module), builder.Name(name), -1});
        const auto took =
            static_cast<int64_t>(static_cast<double>(ns * 1000) * std::exp(0.01 * normal(random)));
        EXPECT_TRUE(builder.Add(lane, now, took, builder.Name(name), operation));
        now += took + 5000;
      };
      for (int run = 0; run < recipe.runs; ++run) {
        if (recipe.has_entry && !(recipe.is_cut && run == 0)) add("x", 200);
        for (int i = 0; i < recipe.iterations; ++i) {
          add("b", 1000);
          for (int k = 0; k < recipe.inner; ++k) add("inner", 500);
        }
        if (recipe.has_entry) add("w", 300);
        if (recipe.has_entry) add("r", 250);
      }
    }
    if (recipe.module_line_events == 0) continue;
    const LaneId line =
        builder.AddLane(builder.AddGroup("/device:GPU", true), "XLA Modules", LaneRole::kModules);
    for (int run = 0; run < recipe.module_line_events; ++run)
      EXPECT_TRUE(builder.Add(line, run * 1'000'000, 900'000, builder.Name(recipe.module + "(7)"),
                              OperationId()));
  }
  return *Attribution::Make(*builder.Finish(SharedJobs(2)), std::move(modules), SharedJobs(2));
}

ProfileComparison CompareLoops(const std::vector<LoopRecipe>& a, const std::vector<LoopRecipe>& b) {
  return Compare({{LoopRecorded(a)}}, {{LoopRecorded(b)}});
}

TEST(ProfileComparisonTest, MoreIterationsAreMoreTimeOfARun) {
  const ProfileComparison c = CompareLoops({{.iterations = 20}}, {{.iterations = 100}});
  EXPECT_EQ(c.runs, 1);
  EXPECT_EQ(RowOf(c, "b").often, 5);
  EXPECT_EQ(RowOf(c, "r").often, 1);
  EXPECT_NEAR(RowOf(c, "b").after_scaled / static_cast<double>(RowOf(c, "b").before), 5, 0.05);
  EXPECT_NEAR(RowOf(c, "r").after_scaled / static_cast<double>(RowOf(c, "r").before), 1, 0.05);
  // 10 runs of 750 ns and 20, or 100, times 1,500 ns.
  EXPECT_NEAR(c.total.after_scaled / static_cast<double>(c.total.before),
              (750 + 100 * 1500.0) / (750 + 20 * 1500.0), 0.05);
}

TEST(ProfileComparisonTest, RunsAreThoseOfTheEntry) {
  // Twice the runs, on two devices, of a loop in a loop that iterates three times as often.
  const ProfileComparison c =
      CompareLoops({{.iterations = 4, .inner = 2, .devices = 2}},
                   {{.runs = 20, .iterations = 4, .inner = 6, .devices = 2}});
  EXPECT_EQ(c.runs, 2);
  ASSERT_EQ(c.modules.size(), 1u);
  EXPECT_EQ(c.modules[0].before, 20);  // 10 on each device
  EXPECT_EQ(c.modules[0].after, 40);
  EXPECT_EQ(RowOf(c, "inner").often, 3);
  EXPECT_EQ(RowOf(c, "b").often, 1);
  EXPECT_EQ(RunsText(c, "the second"),
            "the second ran 2.00 times as often; its times are divided by that");
}

TEST(ProfileComparisonTest, EachModuleHasItsRuns) {
  const ProfileComparison c =
      CompareLoops({{.module = "f", .runs = 10}, {.module = "g", .runs = 10, .iterations = 10}},
                   {{.module = "f", .runs = 30}, {.module = "g", .runs = 10, .iterations = 40}});
  EXPECT_EQ(c.runs, 3) << "f took most time";
  ASSERT_EQ(c.modules.size(), 2u);
  EXPECT_EQ(c.modules[0].ratio(), 3);
  EXPECT_EQ(c.modules[1].ratio(), 1);
  for (const ComparedTime& row : c.rows) {
    const double expected =
        row.module == "g" && (row.instruction == "b" || row.instruction == "inner") ? 4 : 1;
    EXPECT_EQ(row.often, expected) << row.module << ' ' << row.instruction;
  }
  EXPECT_EQ(RunsText(c, "the second"),
            "times of the second are of as many runs of each module as the other has: f ran 10 and "
            "30 times");
}

TEST(ProfileComparisonTest, RunsWithoutTheEntryAreOfTheLineOfModulesOrUnknown) {
  const LoopRecipe once{.runs = 10, .has_entry = false}, twice{.runs = 20, .has_entry = false};
  LoopRecipe once_line = once, twice_line = twice;
  once_line.module_line_events = 10;
  twice_line.module_line_events = 20;
  const ProfileComparison known = CompareLoops({once_line}, {twice_line});
  EXPECT_EQ(known.runs, 2);
  EXPECT_EQ(RowOf(known, "b").often, 1);
  const ProfileComparison unknown = CompareLoops({once}, {twice});
  EXPECT_EQ(unknown.runs, 1);
  EXPECT_EQ(RowOf(unknown, "b").often, 2);
  ASSERT_FALSE(unknown.notes.empty());
  EXPECT_NE(unknown.notes[0].find("how often loop ran is not known"), std::string::npos);
}

// Two events of one instruction in each run, as XLA:CPU has of a sort and of the copy before it.
TEST(ModuleRunsTest, EventsThatNameTheirRunAreCountedByIt) {
  class Runs : public ArgumentSource {
   public:
    std::vector<Argument> Read(uint64_t where) const override {
      return {{"run_id", static_cast<int64_t>(where / 2)}, {"device_ordinal", int64_t{0}}};
    }
  };
  for (const bool is_named : {true, false}) {
    EventStoreBuilder builder;
    if (is_named) builder.set_arguments(std::make_shared<Runs>());
    const LaneId lane =
        builder.AddLane(builder.AddGroup("host", false), "thread", LaneRole::kThread);
    const OperationId operation =
        builder.AddOperation({builder.Name("loop"), builder.Name("r"), -1});
    for (int i = 0; i < 12; ++i)
      EXPECT_TRUE(builder.Add(lane, i * 2000, 1000, builder.Name("r"), operation,
                              static_cast<uint64_t>(i + 2)));
    const auto attribution = *Attribution::Make(
        *builder.Finish(SharedJobs(2)), {{-1, "loop", LoopModule("loop"), {}}}, SharedJobs(2));
    EXPECT_EQ(ModuleRunsOf(*attribution)[0].count, is_named ? 6 : 12);
  }
}

TEST(ProfileComparisonTest, ACutRunIsNoChangeButAnIterationMoreIs) {
  EXPECT_EQ(RowOf(CompareLoops({{}}, {{.is_cut = true}}), "x").often, 1);
  EXPECT_NEAR(
      RowOf(CompareLoops({{.runs = 5, .iterations = 20}}, {{.runs = 5, .iterations = 25}}), "b")
          .often,
      1.25, 1e-9);
}

// Values by R: pt, qt, mean(trim = 0.2).
TEST(SampleStatisticsTest, AgreesWithTables) {
  EXPECT_NEAR(StudentTail(2.0, 10), 0.07338803, 1e-8);
  EXPECT_NEAR(StudentTail(12.7062047, 1), 0.05, 1e-9);
  EXPECT_NEAR(StudentQuantile(0.05, 3), 3.18244631, 1e-7);
  EXPECT_NEAR(StudentQuantile(1e-6, 20), 6.92703, 1e-4);
  EXPECT_NEAR(NormalOf(-3.18244631, 3), -1.95996398, 1e-6);
  EXPECT_EQ(TrimmedMean({9, 1, 2, 3, 1000, 4, 5, -1000, 6, 7}).value, 4.5);
  EXPECT_EQ(TrimmedMean({1, 2, 3}).freedom, 0);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_NEAR(Autocorrelation(std::vector<double>{1, -1, 1, -1, 1, -1, 1, -1}), -0.875, 1e-12);
}

// Variances that differ by chance alone share one; those that differ for good share little.
TEST(SampleStatisticsTest, VariancesShareWhatTheyHaveInCommon) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::vector<Estimate> same, different;
  for (int k = 0; k < 200; ++k) {
    double squares = 0;
    for (int i = 0; i < 4; ++i) squares += std::pow(normal(random), 2);
    same.push_back({0, squares / 4, 4});
    different.push_back({0, squares / 4 * std::exp(2 * normal(random)), 4});
  }
  EXPECT_GT(CommonVariance(same).freedom, 20);
  EXPECT_NEAR(CommonVariance(same).variance, 1, 0.2);
  EXPECT_LT(CommonVariance(different).freedom, 3);
  EXPECT_EQ(CommonVariance(std::span(same).first(3)).freedom, 0);
}

}  // namespace
}  // namespace hloscope::profiler
