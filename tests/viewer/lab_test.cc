// The second half of the divergence lab: error curve, heat, strip of stages, reducer, bundles; also
// on what nobody should have written.
#include <imgui.h>
#include <imgui_te_context.h>

#include "core/base/file.h"
#include "tests/viewer/guilty_dump.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/lab/bundle_making.h"
#include "viewer/lab/error_curve.h"
#include "viewer/lab/reduction.h"

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
  EXPECT_EQ(Lit("curve"), "points 2\nchosen sum\nreaches out0\nreaches out3");
  ExpectSeen("curve", "first beyond the bounds: sum (add)");
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
  ExpectSeen("graph", "differs");
}

TEST_F(LabTest, CurvesThatNobodyShouldWrite) {
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
  EXPECT_TRUE(Has(Lit("curve"), "points 100000\nchosen i0\n"));
  Press("Right");
  EXPECT_TRUE(Has(Lit("curve"), "chosen i1\n")) << Lit("curve");
  EXPECT_TRUE(Has(Messages(), "i1 is in no stage of this dump")) << Messages();
}

TEST_F(LabTest, AVerdictOfAnotherModuleIsSaid) {
  const std::string file = Scratch("verdict.json");
  ASSERT_TRUE(WriteFileAtomically(
      file, R"({"status":"differs","cured_by":[],"pass":"dce","file_after":"other.txt",)"
            R"("verdict":"dce changed it"})"));
  Start({Dump(), file});
  EXPECT_TRUE(Has(Messages(), "about another module")) << Messages();
  EXPECT_EQ(Lit("verdict"), "");
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
  ExpectSeen("verdict", "changed the numbers");
  ExpectSeen("verdict", "not evaluated");
  Click("//###divergence.verdict/##strip");  // its middle
  EXPECT_EQ(session().navigation.stage(), 2);
  ExpectSeen("verdict", "stage 3 of 5");
}

TEST_F(LabTest, NothingToReduceIsSaidAndWhatDoesNotFailToo) {
  Start({Dump()});
  app().Run(Command::kReduce);
  Settle();
  EXPECT_TRUE(Has(Messages(), "nothing to make small")) << Messages();
  EXPECT_EQ(ReductionOn(session(), 0), nullptr);
  app().Run(Command::kFindNan);
  Settle();
  app().Run(Command::kReduce);
  Settle();
  EXPECT_EQ(Lit("reducer"), "the module does not fail here");
}

TEST_F(LabTest, ABundleThatCannotBeWrittenSaysWhy) {
  Start({Dump()});
  MakeBundle(session(), 0, {.path = Scratch("no") + "/such.hlob", .note = ""});
  Settle();
  EXPECT_TRUE(Has(Messages(), "no bundle: ")) << Messages();
  worker_program_ = "/no/such/program";
  Stop();
  Start({Dump()});
  MakeBundle(session(), 0, {.path = Scratch("x.hlob"), .note = ""});
  Settle();
  EXPECT_TRUE(Has(Messages(), "no bundle: ")) << Messages();
  EXPECT_FALSE(std::filesystem::exists(Scratch("x.hlob")));
}

TEST_F(LabTest, AVerdictComesBackFromItsBundle) {
  const std::string out = Scratch("made.hlob");
  Start({Dump()});
  app().Run(Command::kAskPass);
  ASSERT_TRUE(DrawUntil([&] { return Has(Lit("verdict"), "algsimp"); }));
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
  EXPECT_TRUE(Has(Lit("verdict"), "algsimp")) << Lit("verdict");
  EXPECT_EQ(session().experiment.module(), nullptr);
}

}  // namespace
}  // namespace hloscope::viewer
