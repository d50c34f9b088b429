// The second half of the divergence lab: error curve, heat, strip of stages, reducer, bundles; also
// on what nobody should have written.
#include <imgui.h>
#include <imgui_te_context.h>

#include <algorithm>
#include <cmath>

#include "core/base/file.h"
#include "core/debug/bundle/check.h"
#include "core/debug/run/platforms_here.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/replay/platform_table.h"
#include "tests/viewer/guilty_dump.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/error_curve.h"
#include "viewer/lab/bundle_making.h"
#include "viewer/lab/failing_run.h"
#include "viewer/lab/reduction.h"
#include "viewer/model/marks.h"
#include "viewer/model/pass_search.h"

namespace hloscope::viewer {
namespace {

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string Point(std::string_view name, std::string_view more) {
  return "{\"instruction\":\"" + std::string(name) + "\"," + std::string(more) + "}";
}

class LabTest : public ReadingTest {
 protected:
  std::string Dump() { return GuiltyDump(Scratch("dump")); }
  // A verdict of two platforms about that dump, with this curve.
  std::string VerdictWith(const std::string& curve, std::string_view more = "") {
    const std::string file = Scratch("verdict.json");
    EXPECT_TRUE(WriteFileAtomically(
        file, R"({"module":")" + Dump() +
                  R"(","platform":"xla-cpu","reference":"interpreter","status":"differs",)"
                  R"("cause":null,"cured_by":[],"verdict":"first differs at t",)"
                  R"("walk":{"compared":9,"same_bits":7,"reached":[0,3],"curve":)" +
                  curve + "}" + std::string(more) + "}"));
    return file;
  }
  // One that was found on this platform, about that dump.
  std::string VerdictOf(std::string_view platform) {
    const std::string file = Scratch("verdict.json");
    EXPECT_TRUE(WriteFileAtomically(file, R"({"module":")" + Dump() + R"(","platform":")" +
                                              std::string(platform) +
                                              R"(","status":"differs","cured_by":[]})"));
    return file;
  }
  void OpenCurve(const std::string& file) {
    Start({file});
    Press("Ctrl+4");
    session().requests.Show("curve");
    Settle();
  }
};

TEST_F(LabTest, AKeptCurveIsShownAndNothingRuns) {
  OpenCurve(VerdictWith(
      "[" +
      Point("t", R"("computation":"e","opcode":"tanh","executions":1,"differing":1,)"
                 R"("diverging":0,"max_abs_error":1e-7,"max_rel_error":1e-7,"max_ulp":1)") +
      "," +
      Point("sum", R"("computation":"e","opcode":"add","executions":1,"differing":1,)"
                   R"("diverging":1,"max_abs_error":0.5,"max_rel_error":"inf")") +
      "]"));
  EXPECT_EQ(HighlightedItems("curve"), "points 2\nchosen sum\nreaches out0\nreaches out3");
  ExpectSeen("curve", "first beyond tolerance: sum (add)");
  ExpectSeen("curve", "out0, out3");
  ClickOn("curve", "tanh");
  EXPECT_EQ(SelectedName(), "t");
  session().requests.Show("curve");
  Settle();
  Press("Right");
  EXPECT_EQ(SelectedName(), "sum");
  EXPECT_EQ(session().experiment.module(), nullptr);
  const int32_t last = session().document.dump()->FinalStage(0);
  const auto module = *session().document.dump()->Module(0, last);
  const Heat heat = HeatOf(session(), 0, last, *module);
  EXPECT_EQ(heat.size(), 2u);
  app().Run(Command::kGraphHeat);
  Settle();
  EXPECT_EQ(app().dock().screen(), "graph");
  ExpectSeen("graph", "beyond tolerance 1");
  ExpectSeen("graph", "within 4 ULP 1");
}

TEST_F(LabTest, MalformedErrorCurvesDoNotCrash) {
  const std::string curves[] = {
      "[]",
      "{}",
      "7",
      "null",
      "[1,\"x\",{}]",
      "[" +
          Point("t", R"("max_abs_error":"nan","max_rel_error":"-inf","max_ulp":-1,)"
                     R"("executions":-5,"diverging":99999999999999999999)") +
          "]",
      "[" + Point("no_such", R"("max_abs_error":1e308,"max_rel_error":1e-320)") + "]",
      "[" + Point("t\\u0000\\u001b[2J", R"("max_abs_error":-1)") + "]"};
  for (const std::string& curve : curves) {
    SCOPED_TRACE(curve);
    OpenCurve(VerdictWith(curve));
    Press("Right");
    Press("Left");
    app().Run(Command::kGraphHeat);
    Settle();
    Stop();
  }
}

TEST_F(LabTest, AHundredThousandPoints) {
  std::string curve = "[";
  for (int i = 0; i < 100'000; ++i) {
    curve += (i == 0 ? "" : ",") +
             Point("i" + std::to_string(i),
                   R"("diverging":1,"max_abs_error":)" + std::to_string(1e-6 * (i % 977 + 1)));
  }
  OpenCurve(VerdictWith(curve + "]"));
  EXPECT_TRUE(Has(HighlightedItems("curve"), "points 100000\nchosen i0\n"));
  Press("Right");
  EXPECT_TRUE(Has(HighlightedItems("curve"), "chosen i1\n")) << HighlightedItems("curve");
  EXPECT_TRUE(Has(Messages(), "i1 is not in this dump")) << Messages();
}

TEST_F(LabTest, AVerdictOfAnotherModuleIsSaid) {
  const std::string file = Scratch("verdict.json");
  ASSERT_TRUE(WriteFileAtomically(
      file, R"({"status":"differs","cured_by":[],"pass":"dce","file_after":"other.txt",)"
            R"("verdict":"dce changed it"})"));
  Start({Dump(), file});
  EXPECT_TRUE(Has(Messages(), "a module that is not open")) << Messages();
  EXPECT_EQ(HighlightedItems("verdict"), "");
}

TEST_F(LabTest, AVerdictThatNamesAPlatformIsRun) {
  Start({VerdictOf("interpreter")});
  EXPECT_TRUE(FailingRunOf(session(), 0).has_value());
}

// A run of it would load the library.
TEST_F(LabTest, AVerdictThatNamesALibraryIsNotRun) {
  Start({VerdictOf("pjrt:/a/b.so")});
  EXPECT_FALSE(FailingRunOf(session(), 0).has_value());
}

TEST_F(LabTest, TheStripSelectsAStage) {
  const std::string file = Scratch("verdict.json");
  ASSERT_TRUE(WriteFileAtomically(
      file,
      R"({"module":")" + Dump() +
          R"(","status":"differs","pass":"algsimp","pipeline":"simplification","cured_by":[],)"
          R"("file_after":"module_0001.m.0002.simplification.after_algsimp.before_pipeline-end.txt",)"
          R"("stepped_over":["0000.simplification.after_pipeline-start.before_dce: no kernel"],)"
          R"("verdict":"algsimp changed sum"})"));
  Start({file});
  Press("Ctrl+4");
  ExpectSeen("verdict", "changed the results");
  ExpectSeen("verdict", "not evaluated");
  Click("//###divergence.verdict/##strip");  // its middle
  EXPECT_EQ(session().navigation.stage(), 2);
  ExpectSeen("verdict", "stage 3 of 5");
}

TEST_F(LabTest, NothingToReduceIsSaidAndWhatDoesNotFailToo) {
  Start({Dump()});
  app().Run(Command::kReduce);
  Settle();
  EXPECT_TRUE(Has(Messages(), "nothing to reduce")) << Messages();
  EXPECT_EQ(ReductionOn(session(), 0), nullptr);
  app().Run(Command::kFindNan);
  Settle();
  app().Run(Command::kReduce);
  Settle();
  EXPECT_EQ(HighlightedItems("reducer"), "the module does not fail on this machine");
}

TEST_F(LabTest, ABundleThatCannotBeWrittenSaysWhy) {
  Start({Dump()});
  MakeBundle(session(), 0, {.path = Scratch("no") + "/such.hlob", .note = ""});
  Settle();
  EXPECT_TRUE(Has(Messages(), "bundle not created: ")) << Messages();
  worker_program_ = "/no/such/program";
  Stop();
  Start({Dump()});
  MakeBundle(session(), 0, {.path = Scratch("x.hlob"), .note = ""});
  Settle();
  EXPECT_TRUE(Has(Messages(), "bundle not created: ")) << Messages();
  EXPECT_FALSE(std::filesystem::exists(Scratch("x.hlob")));
}

// Its NaN appears of any inputs.
constexpr std::string_view kNan = R"(HloModule nan
ENTRY e {
  x = f32[4] parameter(0)
  t = f32[4] tanh(x)
  s = f32[4] sine(t)
  zero = f32[4] subtract(s, s)
  born = f32[4] divide(zero, zero)
  ROOT out = f32[4] exponential(born)
}
)";

TEST_F(LabTest, ThePlanOfABundleIsTrue) {
  const std::string path = Scratch("module_0001.nan.before_optimizations.txt");
  ASSERT_TRUE(WriteFileAtomically(path, kNan));
  Start({path});
  app().Run(Command::kFindNan);
  Settle();
  Press("Ctrl+Shift+B");
  Settle();
  ExpectSeen("window", "Contents");
  ExpectSeen("window", "to redact");
  ExpectSeen("window", "module.hlo");
  ExpectSeen("window", "after the run");
  EXPECT_EQ(LastBundle(session()), nullptr);
  for (const auto policy : {debug::ValuePolicy::kNone, debug::ValuePolicy::kShapes,
                            debug::ValuePolicy::kStatistics, debug::ValuePolicy::kAll}) {
    SCOPED_TRACE(ToString(policy));
    const BundleOptions options{.path = Scratch("made.hlob"), .values = policy, .note = "see x"};
    const Pending<PlannedFile>& plan = BundlePlanOf(session(), 0, options);
    Settle();
    ASSERT_TRUE(plan.ready()) << plan.error.ToString();
    MakeBundle(session(), 0, options);
    Settle();
    const BundleMaking* making = LastBundle(session());
    ASSERT_TRUE(making != nullptr && making->made.ready()) << Messages();
    // The manifest does not list itself.
    ASSERT_EQ(plan->parts.size(), making->made->parts.size() + 1);
    int64_t known = 0;
    for (size_t k = 1; k < plan->parts.size(); ++k) {
      const PlannedFile::Part& planned = plan->parts[k];
      const dump::BundleFile::Listed& made = making->made->parts[k - 1];
      EXPECT_EQ(planned.part, made.part);
      EXPECT_EQ(planned.bytes.value_or(made.bytes), made.bytes) << dump::FileOf(made.part);
      known += planned.bytes.value_or(0);
    }
    EXPECT_EQ(plan->bytes, known);
    EXPECT_LT(plan->packed_bytes, making->made->bytes);
  }
}

TEST_F(LabTest, APlanThatCannotBeHadSaysWhy) {
  worker_program_ = "/no/such/program";
  Start({Dump()});
  Press("Ctrl+Shift+B");
  Settle();
  ExpectSeen("window", "cannot load the bundle plan");
}

TEST_F(LabTest, TheGraphShrinksWithTheModule) {
  const std::string path = Scratch("module_0001.nan.before_optimizations.txt");
  ASSERT_TRUE(WriteFileAtomically(path, kNan));
  Start({path});
  app().Run(Command::kFindNan);
  Settle();
  app().Run(Command::kReduce);
  Settle();
  EXPECT_TRUE(Has(HighlightedItems("reducer"), "still fail")) << HighlightedItems("reducer");
  const Reduction* reduction = ReductionOn(session(), 0);
  ASSERT_NE(reduction, nullptr);
  ASSERT_TRUE(reduction->report.ready());
  const size_t left = reduction->report->smallest.module->entry().instruction_count;
  EXPECT_LT(left, 6u);
  EXPECT_TRUE(Has(HighlightedItems("reducer"), "\ngraph: " + std::to_string(left) + " boxes"))
      << HighlightedItems("reducer");
  ExpectSeen("reducer", "divide");
  app().Run(Command::kFitAll);
  Settle();
}

// While it is made small, the graph of what it is by then is shown.
TEST_F(LabTest, TheGraphIsThereWhileTheModuleShrinks) {
  std::string text = "HloModule long\nENTRY e {\n  v0 = f32[32] parameter(0)\n";
  for (int k = 1; k <= 200; ++k) {
    text += "  v" + std::to_string(k) + " = f32[32] " + (k % 2 == 0 ? "add" : "subtract") + "(v" +
            std::to_string(k - 1) + ", v0)\n";
  }
  text +=
      "  z = f32[32] subtract(v100, v100)\n  n = f32[32] divide(z, z)\n"
      "  ROOT out = f32[32] add(n, v200)\n}\n";
  const std::string path = Scratch("module_0001.long.before_optimizations.txt");
  ASSERT_TRUE(WriteFileAtomically(path, text));
  Start({path});
  app().Run(Command::kFindNan);
  Settle();
  app().Run(Command::kReduce);
  const auto boxes = [&] {
    const std::string highlighted = HighlightedItems("reducer");
    const size_t at = highlighted.find("graph: ");
    return at == std::string::npos ? 0 : std::stoi(highlighted.substr(at + 7));
  };
  int most = 0;
  ASSERT_TRUE(DrawUntil([&] {
    most = std::max(most, boxes());
    const Reduction* reduction = ReductionOn(session(), 0);
    return reduction != nullptr && !reduction->report.waiting();
  }));
  Settle();
  EXPECT_TRUE(Has(HighlightedItems("reducer"), "still fail")) << HighlightedItems("reducer");
  EXPECT_GT(boxes(), 0);
  EXPECT_GT(most, boxes());
}

TEST_F(LabTest, ABundleOfAReducedModuleHasItsInputs) {
  const std::string path = Scratch("module_0001.nan.before_optimizations.txt");
  ASSERT_TRUE(WriteFileAtomically(path, kNan));
  Start({path});
  app().Run(Command::kFindNan);
  Settle();
  app().Run(Command::kReduce);
  Settle();
  const Reduction* reduction = ReductionOn(session(), 0);
  ASSERT_TRUE(reduction != nullptr && reduction->report.ready());
  const std::string out = Scratch("made.hlob");
  MakeBundle(session(), 0, {.path = out, .values = debug::ValuePolicy::kAll, .note = ""});
  Settle();
  ASSERT_TRUE(LastBundle(session())->made.ready()) << Messages();
  const auto bundle = dump::BundleFile::Open(out, {});
  ASSERT_TRUE(bundle.has_value()) << bundle.error().ToString();
  EXPECT_TRUE(bundle->Has(dump::BundlePart::kReduced));
  const bool needs_inputs =
      !reduction->report->inputs_from_seed && !reduction->report->smallest.arguments.empty();
  EXPECT_EQ(bundle->Has(dump::BundlePart::kReducedInputs), needs_inputs);
  debug::RunSpec own;
  own.test.name.clear();
  own.execution.workers = session().experiment.workers();
  const auto check = debug::CheckBundle(*bundle, own);
  ASSERT_TRUE(check.has_value()) << check.error().ToString();
  EXPECT_EQ(check->status, debug::CheckStatus::kReproduced) << check->verdict;
  EXPECT_EQ(check->reduced, debug::CheckStatus::kReproduced) << check->verdict;
}

// As reducing leaves them.
TEST_F(LabTest, InputsBesideAModuleAreTaken) {
  const std::string path = Scratch("small.hlo");
  ASSERT_TRUE(WriteFileAtomically(path, R"(HloModule small
ENTRY e {
  z = f32[] parameter(0)
  ROOT born = f32[] divide(z, z)
}
)"));
  const float zero = 0;
  const hlo::Literal zeros =
      hlo::Literal::Of<float>(hlo::Shape::Scalar(hlo::ElementType::kF32), std::span(&zero, 1));
  ASSERT_TRUE(
      dump::WriteTensors(Scratch("small.npz"), dump::TensorNames::kInputs, std::span(&zeros, 1)));
  Start({path});
  Press("Ctrl+4");
  Settle();
  ExpectSeen("divergence", "small.npz: 1 of 1 parameter");
  app().Run(Command::kFindNan);
  Settle();
  EXPECT_TRUE(Has(HighlightedItems("divergence"), "the first NaN appears in born"))
      << HighlightedItems("divergence");
  MakeBundle(session(), 0,
             {.path = Scratch("made.hlob"), .values = debug::ValuePolicy::kAll, .note = ""});
  Settle();
  ASSERT_TRUE(LastBundle(session())->made.ready()) << Messages();
  EXPECT_EQ(LastBundle(session())->made->manifest.replayed, "reproduced");
  EXPECT_FALSE(LastBundle(session())->made->manifest.recorded.inputs_generated);
}

TEST_F(LabTest, TwoPlatformsAreComparedInside) {
  Start({Dump()});
  Press("Ctrl+4");
  app().dock().Find("divergence")->view->SetState("interpreter\ninterpreter\n0\n0");
  Settle();
  ClickOn("divergence", "Find the divergence");
  ASSERT_TRUE(DrawUntil([&] { return !HighlightedItems("verdict").empty(); }));
  Settle();
  EXPECT_EQ(app().dock().focused_view(), "verdict");
  const Pending<debug::DivergeVerdict>* verdict = VerdictOn(session(), 0);
  ASSERT_TRUE(verdict != nullptr && verdict->ready());
  EXPECT_EQ((*verdict)->status, debug::RunStatus::kEqual) << (*verdict)->sentence;
  ASSERT_TRUE((*verdict)->walk.has_value());
  EXPECT_GT((*verdict)->walk->compared, 0);
  ASSERT_NE(AskedOn(session(), 0), nullptr);
  EXPECT_TRUE(AskedOn(session(), 0)->question.is_of_platforms());
  // The pass is another question.
  SearchPass(session(), 0, 0);
  ASSERT_TRUE(DrawUntil([&] { return Has(HighlightedItems("verdict"), "algsimp"); }));
}

// A NaN in the imaginary part counts for nothing there (known_xla_faults.md, abs).
TEST_F(LabTest, AFaultOfTwoPlatformsIsFound) {
  const std::vector<std::string> here = debug::PlatformsHere();
  const std::string compiler(replay::PlatformWith(replay::kDumps)->name);
  if (std::ranges::find(here, compiler) == here.end()) GTEST_SKIP() << "no " << compiler;
  const std::string path = Scratch("abs.hlo");
  ASSERT_TRUE(WriteFileAtomically(path, R"(HloModule abs
ENTRY e {
  p = c64[1] parameter(0)
  ROOT r = f32[1] abs(p)
}
)"));
  const float parts[] = {0, NAN};
  const hlo::Literal value =
      hlo::Literal::Of<float>(hlo::Shape::Array(hlo::ElementType::kC64, {1}), std::span(parts));
  ASSERT_TRUE(
      dump::WriteTensors(Scratch("abs.npz"), dump::TensorNames::kInputs, std::span(&value, 1)));
  Start({path});
  Press("Ctrl+4");
  app().dock().Find("divergence")->view->SetState(compiler + "\ninterpreter\n0\n0");
  Settle();
  ClickOn("divergence", "Find the divergence");
  ASSERT_TRUE(DrawUntil([&] { return !VerdictOn(session(), 0)->waiting(); }));
  Settle();
  const Pending<debug::DivergeVerdict>* verdict = VerdictOn(session(), 0);
  ASSERT_TRUE(verdict->ready()) << verdict->error.ToString();
  EXPECT_EQ((*verdict)->status, debug::RunStatus::kDiffers) << (*verdict)->sentence;
  ASSERT_TRUE((*verdict)->place.has_value());
  ExpectSeen("verdict", compiler + " against interpreter, seed 0");
  const auto run = FailingRunOf(session(), 0);
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->request.test.name, compiler);
  EXPECT_EQ(run->request.inputs.files, std::vector{Scratch("abs.npz")});
  MakeBundle(session(), 0,
             {.path = Scratch("made.hlob"), .values = debug::ValuePolicy::kAll, .note = ""});
  Settle();
  ASSERT_TRUE(LastBundle(session())->made.ready()) << Messages();
  const debug::BundleManifest& manifest = LastBundle(session())->made->manifest;
  EXPECT_EQ(manifest.recorded.status, debug::RunStatus::kDiffers);
  EXPECT_EQ(manifest.replayed, "reproduced");
}

TEST_F(LabTest, ADivergenceThatIsSoughtCanBeCancelled) {
  // A loop that nobody waits for; one whose values stay the same the evaluator would give up.
  const std::string path = Scratch("module_0001.endless.before_optimizations.txt");
  ASSERT_TRUE(WriteFileAtomically(path, R"(HloModule endless
body {
  p = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT next = s32[] add(p, one)
}
condition {
  p = s32[] parameter(0)
  ROOT more = pred[] constant(true)
}
ENTRY e {
  x = s32[] parameter(0)
  ROOT w = s32[] while(x), condition=condition, body=body
}
)"));
  Start({path});
  VerdictQuestion question;
  question.platform = question.reference = "interpreter";
  SearchDivergence(session(), 0, question);
  session().requests.Show("verdict");
  ASSERT_TRUE(
      DrawUntil([&] { return FindSeen(Seen("verdict"), "comparing the values").has_value(); }));
  ClickOn("verdict", "Cancel");
  Settle();
  EXPECT_TRUE(VerdictOn(session(), 0)->failed());
  EXPECT_EQ(HighlightedItems("verdict"), "");
}

TEST_F(LabTest, WhatAgreesIsNoFault) {
  Start({Dump()});
  VerdictQuestion question;
  question.platform = question.reference = "interpreter";
  question.absolute = question.relative = 0.5;
  question.stage = 2;
  SearchDivergence(session(), 0, question);
  Settle();
  // Nothing differs: nothing to shrink.
  EXPECT_FALSE(FailingRunOf(session(), 0).has_value());
}

TEST_F(LabTest, AVerdictComesBackFromItsBundle) {
  const std::string out = Scratch("made.hlob");
  Start({Dump()});
  app().Run(Command::kAskPass);
  ASSERT_TRUE(DrawUntil([&] { return Has(HighlightedItems("verdict"), "algsimp"); }));
  MakeBundle(session(), 0,
             {.path = out, .values = debug::ValuePolicy::kNone, .note = "--odd note"});
  Settle();
  const BundleMaking* making = LastBundle(session());
  ASSERT_NE(making, nullptr);
  if (!making->made.ready()) GTEST_SKIP() << "no compiler to run it on: " << Messages();
  EXPECT_EQ(making->made->manifest.values, debug::ValuePolicy::kNone);
  Stop();
  Start({out});
  Press("Ctrl+4");
  EXPECT_TRUE(Has(HighlightedItems("verdict"), "algsimp")) << HighlightedItems("verdict");
  EXPECT_EQ(session().experiment.module(), nullptr);
}

}  // namespace
}  // namespace hloscope::viewer
