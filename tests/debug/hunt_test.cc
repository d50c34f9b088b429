// Hunting: programs and mutants are the same for a seed and sound; findings survive a kill; the
// table of known faults is that of the pages.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "core/debug/explain/diverge/open_meaning.h"
#include "core/debug/reduce/hunt/hunt_folder.h"
#include "core/debug/reduce/hunt/known_faults.h"
#include "core/debug/reduce/hunt/mutant.h"
#include "core/debug/reduce/hunt/program_maker.h"
#include "core/debug/reduce/hunt/stability.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/text/text.h"
#include "core/hlo/verify/verifier.h"
#include "core/replay/platform_table.h"
#include "tests/base/paths.h"

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
  int sharded = 0;
  for (uint64_t number = 0; number < 300; ++number) {
    const auto module = RandomProgram(1, number);
    for (const hlo::Diagnostic& d : hlo::Verify(*module)) {
      ADD_FAILURE() << number << ": " << d.message << "\n" << TextOf(*module);
    }
    const hlo::ParseResult read = hlo::ParseText(TextOf(*module));
    ASSERT_TRUE(read.ok()) << number << ": " << read.diagnostics[0].message << "\n"
                           << TextOf(*module);
    RunSpec request;
    request.inputs.seed = number;
    const RunReport report = RunModule(module, request);
    sharded += module->header().num_partitions > 1 ? 1 : 0;
    EXPECT_EQ(ToString(report.status), "ran")
        << number << ": " << (report.error ? report.error->ToString() : "") << TextOf(*module);
    for (const hlo::Instruction& i : module->instructions()) {
      ++opcodes[std::string(ToString(i.opcode))];
      ++types[std::string(hlo::ToString((*module)[i.shape].element_type()))];
    }
  }
  EXPECT_GT(opcodes.size(), 95u);
  EXPECT_GT(opcodes["scan"], 0);
  EXPECT_GT(sharded, 10);
  EXPECT_GT(types.size(), 25u);
}

std::shared_ptr<const hlo::Module> Parsed(std::string_view text) {
  hlo::ParseResult result = hlo::ParseText(text);
  EXPECT_TRUE(result.ok());
  return result.module;
}

TEST(MutantTest, IsSoundOrRefused) {
  int refused = 0;
  std::set<std::string> texts;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto mutant = MutantOf(RandomProgram(2, seed % 20), seed, {});
    refused += mutant.has_value() ? 0 : 1;
    if (!mutant.has_value()) continue;
    texts.insert(TextOf(**mutant));
    for (const hlo::Diagnostic& d : hlo::Verify(**mutant))
      ADD_FAILURE() << seed << ": " << d.message;
    EXPECT_EQ(TextOf(**mutant), TextOf(**MutantOf(RandomProgram(2, seed % 20), seed, {})));
  }
  EXPECT_LT(refused, 100);
  EXPECT_GT(texts.size(), 90u);
}

TEST(MutantTest, KeepsTheTypesOfAnOpcode) {
  const auto module = Parsed(R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  a = f8e4m3fn[4] convert(x)
  b = bf16[4] convert(a)
  ROOT c = f32[4] convert(b)
})");
  int made = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto mutant = MutantOf(module, seed, {});
    if (!mutant.has_value()) continue;
    ++made;
    for (const hlo::Diagnostic& d : hlo::Verify(**mutant, {.strict = true, .limits = {}}))
      ADD_FAILURE() << seed << ": " << d.message;
  }
  EXPECT_GT(made, 100);
}

TEST(SuspectTest, KnowsKnownFaults) {
  const auto divide = Parsed(R"(HloModule m
ENTRY e {
  x = s32[3] parameter(0)
  ROOT r = s32[3] divide(x, x)
})");
  const Failure differs{FailureKind::kDiffers, {"integer"}, ""};
  const Suspect suspect = SuspectOf(*divide);
  EXPECT_EQ(SignatureOf(suspect, differs), "differs: integer | divide | integer");
  const KnownFault* row = FindKnownFault(*divide, suspect, differs, "");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->heading, "An integer divided by itself is one, also where it is zero");
  EXPECT_EQ(FindKnownFault(*divide, suspect, {FailureKind::kSignal, {"x"}, ""}, ""), nullptr);

  // Of reductions that lose a NaN, those by maximum or minimum.
  const auto reduce = [&](const std::string& by) {
    return Parsed(
        "HloModule m\nf {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] " +
        by +
        "(a, b)\n}\nENTRY e {\n x = f32[3] parameter(0)\n i = f32[] constant(1)\n"
        " ROOT r = f32[] reduce(x, i), dimensions={0}, to_apply=f\n}");
  };
  const Failure lost{FailureKind::kDiffers, {"float nan in the reference"}, ""};
  const auto largest = reduce("maximum"), product = reduce("multiply");
  const auto heading = [&](const hlo::Module& m) {
    const KnownFault* fault = FindKnownFault(m, SuspectOf(m), lost, "");
    return fault == nullptr ? "" : fault->heading;
  };
  EXPECT_EQ(heading(*largest), "A reduction by maximum loses NaN");
  EXPECT_NE(heading(*product), "A reduction by maximum loses NaN");

  // What kills the process on many elements is wrong on few.
  const auto bits = Parsed(R"(HloModule m
ENTRY e {
  x = u32[3] parameter(0)
  ROOT r = s1[3] convert(x)
})");
  row = FindKnownFault(*bits, SuspectOf(*bits), differs, "");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->heading, "Arrays of 1-bit integers are written beyond their buffers");

  const auto clamp = Parsed(R"(HloModule m
ENTRY e {
  low = f32[] parameter(0)
  x = f32[6] parameter(1)
  y = f32[2,3] reshape(x)
  ROOT r = f32[2,3] clamp(low, y, low)
})");
  const Failure check{
      FailureKind::kSignal, {"hlo_instruction.cc:#] Check failed: operand->shape()"}, ""};
  row = FindKnownFault(*clamp, SuspectOf(*clamp), check, "");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->heading, "A clamp between scalars of something reshaped kills the process");
  EXPECT_EQ(FindKnownFault(*clamp, SuspectOf(*clamp), {FailureKind::kSignal, {"else"}, ""}, ""),
            nullptr);

  const auto sort = Parsed(R"(HloModule m
less {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = u2[] parameter(2)
  d = u2[] parameter(3)
  ROOT l = pred[] compare(a, b), direction=LT
}
ENTRY e {
  x = s32[2] parameter(0)
  y = u2[2] parameter(1)
  ROOT r = (s32[2], u2[2]) sort(x, y), dimensions={0}, to_apply=less
})");
  const Failure refused{FailureKind::kError, {"Inputs must have the same shape"}, ""};
  row = FindKnownFault(*sort, SuspectOf(*sort), refused, "");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->heading, "A sort of bits with something else is refused");

  const auto two = Parsed(R"(HloModule m
ENTRY e {
  x = s32[3] parameter(0)
  y = s32[3] parameter(1)
  a = s32[3] add(x, y)
  ROOT r = f32[3] convert(a)
})");
  EXPECT_EQ(SuspectOf(*two).opcodes, "add+convert");
  EXPECT_EQ(SuspectOf(*two).type_class, "integer+integer>float");
  EXPECT_EQ(FindKnownFault(*two, SuspectOf(*two), differs, ""), nullptr);
  const Failure signal{FailureKind::kSignal, {"killed at compile: whatever"}, ""};
  EXPECT_EQ(SignatureOf(SuspectOf(*two), signal), "signal: killed at compile | add+convert");
}

RunReport Computed(std::vector<int32_t> values) {
  const auto shape = hlo::Shape::Array(hlo::ElementType::kS32, {2});
  RunReport report;
  RunOutput& output = report.outputs.emplace_back();
  output.value = hlo::Literal::Of<int32_t>(shape, values);
  return report;
}

RunReport Died(const std::string& how) {
  RunReport report;
  report.error = Error{ErrorClass::kCrashed, "the p worker was killed by signal " + how, {}, {}};
  return report;
}

RunOutcome OutcomeOfDeath(const RunReport& report) { return OutcomeOf(report, FailureOf(report)); }

std::optional<Cause> OpenMeaningOfAll(const std::string& computations, const std::string& entry) {
  Candidate candidate;
  candidate.module = Parsed("HloModule m\nf {\n" + computations + "}\nENTRY e {\n" + entry + "}\n");
  RunSpec request;
  request.inputs.seed = 3;
  for (const RunReport report = RunModule(candidate.module, request);
       const hlo::Literal& argument : report.arguments)
    candidate.arguments.push_back(argument);
  request.reference.name = replay::ReferencePlatform().name;
  const hlo::InstructionId root[] = {candidate.module->entry().root};
  const auto open = OpenMeaning(candidate, root, request, {});
  if (!open) return std::nullopt;
  EXPECT_EQ(open->is_shown, open->cause != Cause::kTies) << "no results were told";
  return open->cause;
}

std::optional<Cause> OpenMeaningOf(const std::string& body, const std::string& entry) {
  return OpenMeaningOfAll("  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n" + body, entry);
}

std::optional<Cause> OpenMeaningOfPairs(const std::string& entry) {
  return OpenMeaningOfAll(
      "  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  c = s32[] parameter(2)\n"
      "  d = s32[] parameter(3)\n  ROOT r = pred[] compare(a, b), direction=LT\n",
      entry);
}

TEST(OpenMeaningTest, IsOfWhatDependsOnAnOrder) {
  const std::string add = "  ROOT c = f32[] add(a, b)\n";
  const auto reduce = [](const std::string& initial) {
    return "  x = f32[9] parameter(0)\n  i = f32[] constant(" + initial +
           ")\n  ROOT r = f32[] reduce(x, i), dimensions={0}, to_apply=f\n";
  };
  EXPECT_EQ(OpenMeaningOf(add, reduce("0")), std::nullopt);
  EXPECT_EQ(OpenMeaningOf("  ROOT c = f32[] maximum(b, a)\n", reduce("-inf")), std::nullopt);
  EXPECT_EQ(OpenMeaningOf(add, reduce("4")), Cause::kInitialValue);
  EXPECT_EQ(OpenMeaningOf("  ROOT c = f32[] subtract(a, b)\n", reduce("0")), Cause::kCombiner);
  const std::string mean =
      "  h = f32[] constant(0.5)\n  s = f32[] add(a, b)\n  ROOT c = f32[] multiply(s, h)\n";
  EXPECT_EQ(OpenMeaningOf(mean, reduce("0")), Cause::kCombiner);
  // Laws that hold for small whole numbers alone.
  const std::string whole =
      "  s = f32[] add(a, b)\n  n = s8[] convert(s)\n  ROOT c = f32[] convert(n)\n";
  EXPECT_EQ(OpenMeaningOf(whole, reduce("0")), Cause::kCombiner);
  const std::string rounded =
      "  n = bf16[] convert(b)\n  w = f32[] convert(n)\n  ROOT c = f32[] add(a, w)\n";
  EXPECT_EQ(OpenMeaningOf(rounded, reduce("0")), Cause::kCombiner);
  EXPECT_EQ(OpenMeaningOf("  ROOT c = f32[] multiply(a, b)\n", reduce("1")), std::nullopt);

  const std::string sort =
      "  x = f32[9] parameter(0)\n  ROOT r = f32[9] sort(x), dimensions={0}, to_apply=f\n";
  const auto less = [](const std::string& direction) {
    return "  ROOT c = pred[] compare(a, b), direction=" + direction + "\n";
  };
  EXPECT_EQ(OpenMeaningOf(less("GT"), sort), std::nullopt);
  EXPECT_EQ(OpenMeaningOf(less("GE"), sort), Cause::kComparator);
  const auto pairs = [](const std::string& keys, const std::string& more) {
    return "  x = s32[4] constant({" + keys +
           "})\n  i = s32[4] iota(), iota_dimension=0\n  ROOT r = (s32[4], s32[4]) sort(x, i), "
           "dimensions={0}, to_apply=f" +
           more + "\n";
  };
  EXPECT_EQ(OpenMeaningOfPairs(pairs("3, 1, 3, 2", "")), Cause::kTies);
  EXPECT_EQ(OpenMeaningOfPairs(pairs("3, 1, 3, 2", ", is_stable=true")), std::nullopt);
  EXPECT_EQ(OpenMeaningOfPairs(pairs("3, 1, 4, 2", "")), std::nullopt);

  const auto scatter = [](const std::string& places) {
    return "  x = f32[9] parameter(0)\n  p = s32[3,1] constant({" + places +
           "})\n  u = f32[3] constant({1, 2, 3})\n  ROOT r = f32[9] scatter(x, p, u), "
           "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
           "index_vector_dim=1, to_apply=f\n";
  };
  const std::string last = "  ROOT c = f32[] copy(b)\n";
  EXPECT_EQ(OpenMeaningOf(last, scatter("{1}, {4}, {2}")), std::nullopt);
  EXPECT_EQ(OpenMeaningOf(last, scatter("{1}, {4}, {1}")), Cause::kOverlappingUpdates);
  EXPECT_EQ(OpenMeaningOf(add, scatter("{1}, {4}, {1}")), std::nullopt);
}

hlo::Literal Integers(std::vector<int32_t> values) {
  return hlo::Literal::Of<int32_t>(
      hlo::Shape::Array(hlo::ElementType::kS32, {static_cast<int64_t>(values.size())}), values);
}

// Pairs that are sorted by their first element, of which two are equal.
Candidate PairsSorted(const std::string& entry) {
  return {Parsed("HloModule m\nf {\n"
                 "  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n"
                 "  c = s32[] parameter(2)\n  d = s32[] parameter(3)\n"
                 "  ROOT r = pred[] compare(a, b), direction=LT\n}\nENTRY e {\n"
                 "  x = s32[4] parameter(0)\n  i = s32[4] parameter(1)\n" +
                 entry + "}\n"),
          {Integers({3, 1, 3, 2}), Integers({0, 1, 2, 3})}};
}

std::string TiesOf(const Candidate& candidate, std::vector<hlo::Literal> actual) {
  std::vector<hlo::InstructionId> all;
  for (uint32_t k = 0; k < candidate.module->instructions().size(); ++k) all.emplace_back(k);
  RunSpec request;
  request.reference.name = replay::ReferencePlatform().name;
  const auto open = OpenMeaning(candidate, all, request, {}, actual);
  const auto order = OpenOrder(candidate, all, request, {}, actual);
  EXPECT_EQ(open.has_value(), order.has_value());
  if (!open) return "none";
  EXPECT_EQ(open->cause, Cause::kTies);
  EXPECT_EQ(open->is_shown, order->is_shown);
  return open->is_shown ? "shown" : "not shown";
}

// What is wrong otherwise is no matter of ties, though there are some.
TEST(OpenMeaningTest, TiesAreOfSortedResults) {
  const Candidate pairs =
      PairsSorted("  ROOT s = (s32[4], s32[4]) sort(x, i), dimensions={0}, to_apply=f\n");
  const auto ask = [&](std::vector<int32_t> keys, std::vector<int32_t> places) {
    return TiesOf(pairs, {Integers(std::move(keys)), Integers(std::move(places))});
  };
  EXPECT_EQ(ask({1, 2, 3, 3}, {1, 3, 2, 0}), "shown");
  EXPECT_EQ(ask({1, 2, 3, 3}, {1, 3, 0, 2}), "none") << "as the reference has it";
  EXPECT_EQ(ask({1, 3, 2, 3}, {1, 2, 3, 0}), "none") << "not sorted";
  EXPECT_EQ(ask({1, 2, 3, 3}, {1, 3, 0, 0}), "none") << "an element twice";
  EXPECT_EQ(ask({1, 2, 3, 3}, {3, 1, 2, 0}), "none") << "elements of other keys";
  EXPECT_EQ(TiesOf(pairs, {}), "not shown");

  const auto sorted = [](const std::string& results) {
    return PairsSorted("  s = (s32[4], s32[4]) sort(x, i), dimensions={0}, to_apply=f\n" + results);
  };
  const Candidate one = sorted("  ROOT p = s32[4] get-tuple-element(s), index=1\n");
  EXPECT_EQ(TiesOf(one, {Integers({1, 3, 2, 0})}), "shown");
  EXPECT_EQ(TiesOf(one, {Integers({3, 1, 2, 0})}), "none");
  const Candidate inside =
      sorted("  p = s32[4] get-tuple-element(s), index=1\n  ROOT n = s32[4] negate(p)\n");
  EXPECT_EQ(TiesOf(inside, {Integers({-1, -3, -2, 0})}), "not shown");
  EXPECT_EQ(TiesOf(inside, {Integers({-3, -1, -2, 0})}), "not shown");
}

// Of several lines that lie across.
TEST(OpenMeaningTest, TiesAreOfOneLine) {
  const auto array = [](std::vector<int32_t> values) {
    return hlo::Literal::Of<int32_t>(hlo::Shape::Array(hlo::ElementType::kS32, {2, 2}), values);
  };
  const Candidate pairs = {
      Parsed("HloModule m\nf {\n"
             "  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n"
             "  c = s32[] parameter(2)\n  d = s32[] parameter(3)\n"
             "  ROOT r = pred[] compare(a, b), direction=LT\n}\nENTRY e {\n"
             "  x = s32[2,2] parameter(0)\n  i = s32[2,2] parameter(1)\n"
             "  ROOT s = (s32[2,2], s32[2,2]) sort(x, i), dimensions={0}, to_apply=f\n}\n"),
      {array({5, 5, 5, 5}), array({0, 1, 2, 3})}};
  const hlo::Literal keys = array({5, 5, 5, 5});
  EXPECT_EQ(TiesOf(pairs, {keys, array({2, 3, 0, 1})}), "shown");
  EXPECT_EQ(TiesOf(pairs, {keys, array({2, 1, 0, 3})}), "shown");
  EXPECT_EQ(TiesOf(pairs, {keys, array({1, 0, 2, 3})}), "none");
}

TEST(StabilityTest, IsOfFailuresThatAllAgree) {
  const Failure differs{FailureKind::kDiffers, {"integer"}, ""};
  const RunOutcome one = OutcomeOf(Computed({1, 2}), differs);
  const RunOutcome other = OutcomeOf(Computed({1, 3}), differs);
  const RunOutcome none = OutcomeOf(Computed({1, 2}), std::nullopt);
  const RunOutcome died = OutcomeOfDeath(Died("11 (SIGSEGV) at run: one thing"));
  EXPECT_EQ(StabilityOf(std::vector{one, one, one}), Stability::kStable);
  EXPECT_EQ(StabilityOf(std::vector{none, none, none}), Stability::kGone);
  EXPECT_EQ(StabilityOf(std::vector{one, one, other}), Stability::kUnstable);
  EXPECT_EQ(StabilityOf(std::vector{one, none, one}), Stability::kUnstable);
  EXPECT_EQ(StabilityOf(std::vector{one, died, one}), Stability::kUnstable);
  // What a dying process says last does not matter, nor where behind the compiler it dies; how
  // does.
  const RunOutcome later = OutcomeOfDeath(Died("11 (SIGSEGV) at read back: another"));
  const RunOutcome aborted = OutcomeOfDeath(Died("6 (SIGABRT) at run: one thing"));
  const RunOutcome compiling = OutcomeOfDeath(Died("11 (SIGSEGV) at compile: one thing"));
  EXPECT_EQ(StabilityOf(std::vector{died, later}), Stability::kStable);
  EXPECT_EQ(StabilityOf(std::vector{died, aborted}), Stability::kUnstable);
  EXPECT_EQ(StabilityOf(std::vector{died, compiling}), Stability::kUnstable);
}

TEST(StabilityTest, IsOfRunsInOneProcessToo) {
  const Failure differs{FailureKind::kDiffers, {"integer"}, ""};
  RunReport changing = Computed({1, 2});
  changing.repeat = RepeatReport{8, true, 3, 0, {}};
  const RunOutcome changes = OutcomeOf(changing, differs);
  EXPECT_TRUE(changes.changes);
  EXPECT_EQ(StabilityOf(std::vector{changes, changes}), Stability::kUnstable);
  RunReport dying = Computed({1, 2});
  dying.repeat = RepeatReport{8, true, {}, 0, {}};
  dying.error = Died("11 (SIGSEGV) at run").error;
  const RunOutcome dies = OutcomeOfDeath(dying);
  EXPECT_EQ(StabilityOf(std::vector{dies, dies}), Stability::kUnstable);
  EXPECT_TRUE(ToString(dies).ends_with("another time differently")) << ToString(dies);
  // Results without a value were so from the first run on.
  RunReport refused = dying;
  refused.error = Error{ErrorClass::kInput, "the new sizes do not hold the live elements", {}, {}};
  refused.outputs.emplace_back().missing = refused.error;
  EXPECT_FALSE(OutcomeOf(refused, FailureOf(refused)).changes);
}

TEST(StabilityTest, RunsAgainWhatFails) {
  const auto module = Parsed(R"(HloModule m
ENTRY e {
  x = s32[3] parameter(0)
  ROOT r = s32[3] negate(x)
})");
  RunSpec request;
  request.reference.name = request.test.name;
  const Failure differs{FailureKind::kDiffers, {"integer"}, ""};
  const Retried again = RunAgain(module, request, differs, {});
  EXPECT_EQ(again.stability, Stability::kGone);
  EXPECT_EQ(again.outcomes.size(), 3u);
  EXPECT_FALSE(again.failure);
  EXPECT_EQ(ToString(again.report.status), "equal");
}

// One bit fits into the byte that a kernel takes it for; predicates have a byte each.
TEST(OverrunsBitsTest, IsOfSeveralBits) {
  const replay::PlatformRow* row = replay::PlatformWith(replay::kOverrunsBits);
  ASSERT_NE(row, nullptr);
  const auto overruns = [&](const char* shape, const replay::PlatformRow& on) {
    const std::string text =
        std::string("HloModule m\nENTRY e {\n  ROOT x = ") + shape + " parameter(0)\n}\n";
    return replay::OverrunsBits(on, *Parsed(text.c_str()));
  };
  EXPECT_TRUE(overruns("u1[2]", *row));
  EXPECT_TRUE(overruns("s1[3,1]", *row));
  EXPECT_FALSE(overruns("u1[]", *row));
  EXPECT_FALSE(overruns("pred[4]", *row));
  EXPECT_FALSE(overruns("u2[4]", *row));
  EXPECT_FALSE(overruns("u1[2]", replay::ReferencePlatform()));
}

TEST(KnownFaultsTest, AreThoseOfThePages) {
  std::set<std::pair<std::string, std::string>> on_pages, in_table;
  for (const char* page : {"known_xla_faults.md", "xla_faults_in_modules.md"}) {
    std::ifstream file(SourcePath("tests/conformance/") + page);
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("## ") && line != "## No faults") on_pages.emplace(page, line.substr(3));
    }
  }
  for (const KnownFault& row : KnownFaults()) in_table.emplace(row.page, row.heading);
  EXPECT_EQ(on_pages, in_table);
}

class HuntFolderTest : public testing::Test {
 protected:
  HuntFolderTest() { std::filesystem::remove_all(path_); }
  ~HuntFolderTest() override { std::filesystem::remove_all(path_); }
  Finding Named(std::string fault) {
    Finding finding;
    finding.fault = std::move(fault);
    finding.signature = "line\nbreak \"quoted\"";
    finding.instructions = 3;
    return finding;
  }
  std::string path_ = testing::TempDir() + "/hunt_folder";
};

TEST_F(HuntFolderTest, SurvivesACutOffLine) {
  {
    auto folder = FuzzFolder::Open(path_, 0, "a hunt", {});
    ASSERT_TRUE(folder.has_value());
    ASSERT_TRUE(folder->Append(Named("one")).has_value());
    ASSERT_TRUE(folder->Append(Named("two")).has_value());
    folder->progress().next = 7;
    ASSERT_TRUE(folder->SaveProgress().has_value());
  }
  std::ofstream(path_ + "/findings-0.jsonl", std::ios::app) << "{\"fault\":\"thr";
  auto folder = FuzzFolder::Open(path_, 0, "a hunt", {});
  ASSERT_TRUE(folder.has_value());
  EXPECT_EQ(folder->progress().next, 7u);
  ASSERT_TRUE(folder->Append(Named("three")).has_value());
  auto again = FuzzFolder::Open(path_, 1, "a hunt", {});
  ASSERT_TRUE(again.has_value());
  ASSERT_EQ(again->findings().size(), 3u);
  EXPECT_EQ(again->findings()[2].fault, "three");
  EXPECT_EQ(again->findings()[0].signature, "line\nbreak \"quoted\"");
  EXPECT_EQ(again->findings()[0].instructions, 3);
}

// Another rank appends without end; what it has written whole is read, each line once.
TEST_F(HuntFolderTest, ReadsFilesThatGrow) {
  auto folder = FuzzFolder::Open(path_, 0, "a hunt", {});
  ASSERT_TRUE(folder.has_value());
  std::atomic<int> written = 0;
  const std::jthread other([&](const std::stop_token& stop) {
    std::ofstream file(path_ + "/findings-1.jsonl", std::ios::app);
    for (int i = 0; i < 20'000 && !stop.stop_requested(); ++i) {
      const std::string line = FindingLine(Named(std::to_string(i % 7)));
      file << line.substr(0, 10) << std::flush << line.substr(10) << std::flush;
      ++written;
    }
  });
  while (written == 0) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) {
    const Status read = folder->Reread();
    ASSERT_TRUE(read.has_value()) << read.error().ToString();
  }
  EXPECT_LE(folder->findings().size(), 7u);
}

// What was read is not read again: an unreadable beginning is met once only.
TEST_F(HuntFolderTest, ReadsOnFromWhereItWas) {
  auto folder = FuzzFolder::Open(path_, 0, "a hunt", {});
  ASSERT_TRUE(folder.has_value());
  const std::string file = path_ + "/findings-1.jsonl";
  const std::string one = FindingLine(Named("one"));
  std::ofstream(file) << one << "{\"fault\":";
  ASSERT_TRUE(folder->Reread().has_value());
  ASSERT_EQ(folder->findings().size(), 1u);
  std::fstream(file).write(std::string(one.size(), '.').c_str(), std::ssize(one));
  std::ofstream(file, std::ios::app) << "\"two\"}\n";
  const Status read = folder->Reread();
  ASSERT_TRUE(read.has_value()) << read.error().ToString();
  ASSERT_EQ(folder->findings().size(), 2u);
  EXPECT_EQ(folder->findings()[1].fault, "two");
}

TEST_F(HuntFolderTest, KeepsWhatFailsInAnotherWayEachTime) {
  {
    auto folder = FuzzFolder::Open(path_, 0, "a hunt", {});
    ASSERT_TRUE(folder.has_value());
    const UnstableProgram program{"program 17", "unstable-1.hlo", "", {"signal", "differs \"x\""}};
    ASSERT_TRUE(folder->Append(program).has_value());
    folder->progress().unstable = 1;
    ASSERT_TRUE(folder->SaveProgress().has_value());
  }
  std::ofstream(path_ + "/unstable-0.jsonl", std::ios::app) << "{\"origin\":\"pro";
  const auto folder = FuzzFolder::Open(path_, 0, "a hunt", {});
  ASSERT_TRUE(folder.has_value());
  EXPECT_TRUE(folder->findings().empty());
  EXPECT_EQ(folder->progress().unstable, 1);
  ASSERT_EQ(folder->unstable().size(), 1u);
  EXPECT_EQ(folder->unstable()[0].origin, "program 17");
  EXPECT_EQ(folder->unstable()[0].runs, (std::vector<std::string>{"signal", "differs \"x\""}));
}

TEST_F(HuntFolderTest, IsOfOneHuntOfARankAtATime) {
  {
    const auto first = FuzzFolder::Open(path_, 0, "a hunt", {});
    ASSERT_TRUE(first.has_value());
    const auto second = FuzzFolder::Open(path_, 0, "a hunt", {});
    ASSERT_FALSE(second.has_value());
    EXPECT_NE(second.error().message.find("another hunt of rank 0"), std::string::npos);
    EXPECT_TRUE(FuzzFolder::Open(path_, 1, "a hunt", {}).has_value());
  }
  EXPECT_TRUE(FuzzFolder::Open(path_, 0, "a hunt", {}).has_value());
}

TEST_F(HuntFolderTest, RefusesAnotherHunt) {
  ASSERT_TRUE(FuzzFolder::Open(path_, 0, "a hunt", {})->SaveProgress().has_value());
  EXPECT_FALSE(FuzzFolder::Open(path_, 0, "another", {}).has_value());
  std::ofstream(path_ + "/findings-3.jsonl") << "not a finding\n";
  EXPECT_FALSE(FuzzFolder::Open(path_, 1, "a hunt", {}).has_value());
}

}  // namespace
}  // namespace hloscope::debug
