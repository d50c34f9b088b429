// Verdicts in words: what is called a rounding is one.
#include <gtest/gtest.h>

#include "core/debug/explain/diverge/computed_by.h"
#include "core/debug/explain/diverge/verdict.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/replay/platform_table.h"
#include "tests/hlo/parsed.h"

namespace hloscope::debug {
namespace {

DivergeVerdict Differing(hlo::ElementType type, uint64_t max_ulp, Cause cause) {
  DivergeVerdict verdict;
  verdict.status = RunStatus::kDiffers;
  verdict.platform = "xla-cpu";
  verdict.reference = "interpreter";
  verdict.place = DivergePlace{"dot.1", "main", ""};
  verdict.cause = cause;
  verdict.worst_is_of_place = true;
  LeafComparison& worst = verdict.worst.emplace();
  worst.shape = hlo::Shape::Array(type, {4});
  worst.elements = 4;
  worst.mismatched = 1;
  worst.max_abs_error = 0.5;
  worst.max_rel_error = 0.004;
  worst.max_ulp = max_ulp;
  return verdict;
}

TEST(VerdictWordsTest, OneStepIsARounding) {
  DivergeVerdict verdict = Differing(hlo::ElementType::kBF16, 1, Cause::kLibrary);
  WriteSentence(verdict);
  EXPECT_EQ(verdict.sentence,
            "first differs at dot.1 in main; 1 of 4 elements differs, largest error 0.5 absolute, "
            "0.004 relative; the cause is a rounding of one step in bf16 by a library call or "
            "library fusion");
  EXPECT_EQ(KeyOf(*verdict.cause), "library");
  EXPECT_EQ(CausePhrase(Differing(hlo::ElementType::kF16, 1, Cause::kCodeGeneration)),
            "a rounding of one step in f16 by the generated code");
}

// Of a Fourier transform that a library computes.
TEST(VerdictWordsTest, AnFftIsThatOfALibrary) {
  DivergeVerdict verdict = Differing(hlo::ElementType::kC64, 9, Cause::kLibrary);
  verdict.place->opcode = "fft";
  EXPECT_EQ(CausePhrase(verdict),
            "the FFT of a library, whose result differs from that of the reference");
  verdict.worst->shape = hlo::Shape::Array(hlo::ElementType::kF32, {4});
  verdict.worst->max_ulp = 1;
  EXPECT_EQ(CausePhrase(verdict), "a rounding of one step in f32 by the FFT of a library");
  // A call of a function around it.
  verdict.place->opcode = "call";
  verdict.kernel_opcode = "fft";
  EXPECT_EQ(CausePhrase(verdict), "a rounding of one step in f32 by the FFT of a library");
  verdict.cause = Cause::kDenormals;
  EXPECT_EQ(CausePhrase(verdict), Describe(Cause::kDenormals));
}

TEST(VerdictWordsTest, WhoComputesAnInstruction) {
  const auto module = hlo::Parsed(R"(HloModule m
ENTRY e {
  x = c64[8] parameter(0)
  f = c64[8] fft(x), fft_type=FFT, fft_length={8}
  ROOT r = c64[8] add(f, x)
}
)");
  const auto fft = hlo::FindInstruction(*module, "f"), add = hlo::FindInstruction(*module, "r");
  const std::string_view library = replay::DefaultPlatform().name;
  EXPECT_EQ(ComputedBy(*module, fft, library), Cause::kLibrary);
  EXPECT_EQ(ComputedBy(*module, add, library), Cause::kCodeGeneration);
  // Our own compiler has kernels for them on GPUs, where no library is taken.
  int of_ours = 0;
  for (const replay::PlatformRow& row : replay::PlatformRows()) {
    const bool is_gpu = row.Has(replay::kNeedsDriver) || row.Has(replay::kSimulatesGpu);
    const bool is_ours = is_gpu && row.Has(replay::kOwnCompiler);
    of_ours += is_ours ? 1 : 0;
    EXPECT_EQ(ComputedBy(*module, fft, row.name),
              is_ours ? Cause::kCodeGeneration : Cause::kLibrary)
        << row.name;
    replay::RunExecuted executed;
    executed.choices.push_back({.opcode = "fft", .library = "a library", .reason = "", .count = 1});
    EXPECT_EQ(ComputedBy(*module, fft, row.name, executed), Cause::kLibrary) << row.name;
    executed.choices[0].reason = "none is there";
    EXPECT_EQ(ComputedBy(*module, fft, row.name, executed),
              is_ours ? Cause::kCodeGeneration : Cause::kLibrary)
        << row.name;
  }
  EXPECT_EQ(of_ours, 2);
}

// A side that rounds as the module asks is farther from a value that is not rounded.
TEST(VerdictWordsTest, ThePreciseValueMayLeaveOutRoundings) {
  DivergeVerdict verdict = Differing(hlo::ElementType::kF32, 9, Cause::kLibrary);
  ValueWalk& walk = verdict.walk.emplace();
  walk.reached = {0};
  walk.platform_distance.emplace().max_ulp = 0.25;
  walk.reference_distance.emplace().max_ulp = 4;
  const std::string nearer =
      "; xla-cpu is nearer to the value in double precision (0.25 against 4 ULP)";
  WriteSentence(verdict);
  EXPECT_NE(verdict.sentence.find(nearer + "; the cause"), std::string::npos) << verdict.sentence;
  walk.asks_for_rounding = true;
  WriteSentence(verdict);
  EXPECT_NE(verdict.sentence.find(
                nearer + ", which leaves out the roundings that the module asks for; the cause"),
            std::string::npos)
      << verdict.sentence;
}

// Where the counts are those of a result, and not of the instruction that the sentence names.
TEST(VerdictWordsTest, CountsOfAResultSayWhichOne) {
  DivergeVerdict verdict = Differing(hlo::ElementType::kF32, 9, Cause::kUnexplained);
  verdict.worst_is_of_place = false;
  verdict.worst->index = {0, 1};
  WriteSentence(verdict);
  EXPECT_TRUE(verdict.sentence.starts_with(
      "first differs at dot.1 in main; result {0,1}: 1 of 4 elements differs, largest error 0.5"))
      << verdict.sentence;
  verdict.place.reset();
  WriteSentence(verdict);
  EXPECT_TRUE(verdict.sentence.starts_with("the results differ; 1 of 4 elements differs"))
      << verdict.sentence;
}

// An error has no size where one side is infinite.
TEST(VerdictWordsTest, InfinitiesOfOneSideAreCounted) {
  DivergeVerdict verdict = Differing(hlo::ElementType::kF32, 9, Cause::kUnexplained);
  LeafComparison& worst = *verdict.worst;
  worst.max_abs_error = worst.max_rel_error = 0;
  worst.mismatched = 4;
  worst.inf = {.actual = 2, .expected = 1};
  worst.inf_mismatched = 3;
  EXPECT_EQ(ErrorPhrase(worst), "4 of 4 elements differ, 3 infinite on one side");
  worst.inf_mismatched = 4;
  EXPECT_EQ(ErrorPhrase(worst),
            "4 of 4 elements differ, 3 infinite on one side, 1 infinite with opposite signs");
}

// Values that are not the same, and yet do not differ.
TEST(VerdictWordsTest, ModulesThatAgreeSayHowFarApartTheyAre) {
  DivergeVerdict verdict = Differing(hlo::ElementType::kF32, 9, Cause::kUnexplained);
  verdict.status = RunStatus::kEqual;
  verdict.place.reset();
  verdict.cause.reset();
  verdict.operations.emplace();
  verdict.bounds = "f32: 0.0001 absolute or relative";
  verdict.worst->index = {2};
  const auto agree = [&](int64_t mismatched, int64_t elements) {
    verdict.worst->mismatched = mismatched;
    verdict.worst->elements = elements;
    WriteSentence(verdict);
    return verdict.sentence;
  };
  const std::string head =
      "the results agree within the bounds (f32: 0.0001 absolute or relative): ";
  const std::string tail =
      " another value, largest difference 0.5 absolute, 0.004 relative; the operations are the "
      "same";
  EXPECT_EQ(agree(128, 128), head + "128 of 128 elements of out2 have" + tail);
  EXPECT_EQ(agree(1, 128), head + "1 of 128 elements of out2 has" + tail);
  EXPECT_EQ(agree(1, 1), head + "1 of 1 element of out2 has" + tail);
  verdict.worst->other_leaves = 2;
  EXPECT_EQ(agree(1, 6),
            head +
                "1 of 6 elements of out2 has another value, largest difference 0.5 absolute, 0.004 "
                "relative, and elements of 2 other results differ; the operations are the same");
  verdict.worst->other_leaves = 1;
  EXPECT_NE(agree(1, 6).find(" relative, and elements of 1 other result differ; "),
            std::string::npos);
  verdict.worst->other_leaves = 0;
  verdict.worst.reset();
  WriteSentence(verdict);
  EXPECT_EQ(verdict.sentence, "the results are equal on these inputs; the operations are the same");
}

// A flag that has a value is not disabled.
TEST(VerdictWordsTest, FlagsCureByTheirValues) {
  DivergeVerdict verdict = Differing(hlo::ElementType::kF32, 9, Cause::kExcessPrecision);
  const auto fixed_by = [&](std::vector<std::string> cures) {
    verdict.cured_by = std::move(cures);
    WriteSentence(verdict);
    return verdict.sentence.substr(verdict.sentence.find("; fixed by ") + 2);
  };
  EXPECT_EQ(fixed_by({"algsimp", "fusion"}), "fixed by disabling algsimp, fusion");
  EXPECT_EQ(fixed_by({"--xla_allow_excess_precision=false"}),
            "fixed by --xla_allow_excess_precision=false");
  EXPECT_EQ(fixed_by({"fusion", "--xla_x=1", "--xla_y=2"}),
            "fixed by disabling fusion or by --xla_x=1, --xla_y=2");
}

// Compilers that name no pipeline have one all the same.
TEST(VerdictWordsTest, APassIsOfAPipelineWithAName) {
  DivergeVerdict verdict = Differing(hlo::ElementType::kF32, 9, Cause::kUnexplained);
  verdict.cause.reset();
  for (const char* pass : {"first", "second", "third"}) verdict.passes.emplace_back().pass = pass;
  verdict.passes[1].restores = true;
  verdict.passes[2].pipeline = "simplification";
  WriteSentence(verdict);
  EXPECT_NE(verdict.sentence.find("pass first of the pipeline changed"), std::string::npos)
      << verdict.sentence;
  EXPECT_NE(verdict.sentence.find("; pass second of the pipeline hides it again"),
            std::string::npos)
      << verdict.sentence;
  EXPECT_NE(verdict.sentence.find("; pass third of simplification changed them once more"),
            std::string::npos)
      << verdict.sentence;
}

// Results that the first finding does not lead to: place, edit, cure, or that nothing was tried.
TEST(VerdictWordsTest, OtherFindingsSayWhatWasTried) {
  DivergeVerdict verdict = Differing(hlo::ElementType::kF32, 9, Cause::kCodeGeneration);
  verdict.findings = {
      {.results = {0}},
      {.cause = Cause::kFma,
       .place = DivergePlace{"a", "main", ""},
       .cured_by = {"fusion"},
       .results = {2},
       .confirmed = true},
      {.place = DivergePlace{"b", "main", ""},
       .edit = {.what = "add became subtract", .before = "", .after = "", .diff = ""},
       .results = {3}},
      {.cause = Cause::kUnexplained, .results = {4, 5}, .not_tried = "no time"}};
  WriteSentence(verdict);
  const std::string fma(Describe(Cause::kFma));
  EXPECT_TRUE(verdict.sentence.ends_with(
      "; out2 differs for another reason, first at a in main, the cause is " + fma +
      ", fixed by disabling fusion, confirmed"
      "; out3 differs for another reason, first at b in main: add became subtract"
      "; why out4, out5 differ was not found (nothing was tried for them: no time)"))
      << verdict.sentence;
  EXPECT_EQ(JudgedResults(verdict, verdict.findings[1]), "1 of 5 results that differ (out2)");
}

TEST(VerdictWordsTest, MoreThanThatIsNot) {
  const std::string library(Describe(Cause::kLibrary));
  EXPECT_EQ(CausePhrase(Differing(hlo::ElementType::kBF16, 2, Cause::kLibrary)), library);
  EXPECT_EQ(CausePhrase(Differing(hlo::ElementType::kBF16, 1, Cause::kFma)), Describe(Cause::kFma));
  DivergeVerdict nan = Differing(hlo::ElementType::kBF16, 1, Cause::kLibrary);
  nan.worst->nan_mismatched = 1;
  EXPECT_EQ(CausePhrase(nan), library);
  DivergeVerdict integers = Differing(hlo::ElementType::kS32, 1, Cause::kLibrary);
  EXPECT_EQ(CausePhrase(integers), library) << "integers do not round";
  DivergeVerdict unknown = Differing(hlo::ElementType::kBF16, 1, Cause::kLibrary);
  unknown.worst.reset();
  EXPECT_EQ(CausePhrase(unknown), library);
  EXPECT_EQ(CausePhrase(DivergeVerdict()), "");
}

}  // namespace
}  // namespace hloscope::debug
