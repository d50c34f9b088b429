// Values in the divergence lab: verdicts of elements, what is held after a run, tooltips, pins, and
// recorded inputs.
#include <imgui.h>
#include <imgui_te_context.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <set>

#include "core/base/file.h"
#include "core/debug/run/platforms_here.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/proto/proto.h"
#include "tests/hlo/parsed.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/graph/graph_legend.h"
#include "viewer/lab/hover_values.h"
#include "viewer/lab/pins.h"
#include "viewer/lab/recorded_inputs.h"
#include "viewer/lab/value_grid.h"
#include "viewer/model/experiment.h"
#include "viewer/model/marks.h"
#include "viewer/model/number_text.h"

namespace hloscope::viewer {
namespace {

using hlo::Literal;
using hlo::Shape;

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

Literal Floats(const std::vector<float>& values) {
  return Literal::Of<float>(
      Shape::Array(hlo::ElementType::kF32, {static_cast<int64_t>(values.size())}), values);
}

// --- Verdicts

TEST(VerdictTableTest, SameBitsAreSaidOfBitsOnly) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  struct Row {
    float actual, expected;
    Verdict verdict;
  };
  const Row rows[] = {{1, 1, Verdict::kSameBits},
                      {nan, nan, Verdict::kSameBits},
                      {0.0F, -0.0F, Verdict::kWithinUlp},  // equal, and yet other bits
                      {std::nextafter(1.0F, 2.0F), 1, Verdict::kWithinUlp},
                      {1.00002F, 1, Verdict::kWithinBound},
                      {1.5F, 1, Verdict::kBeyond},
                      {nan, 1, Verdict::kNotFinite},
                      {INFINITY, 1, Verdict::kNotFinite}};
  std::vector<float> actual, expected;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.actual);
    actual.push_back(row.actual);
    expected.push_back(row.expected);
    const auto leaf = debug::CompareArrays(Floats({row.actual}), Floats({row.expected}), {});
    EXPECT_EQ(VerdictOf(leaf), row.verdict);
    EXPECT_EQ(VerdictOfElement(Floats({row.actual}), Floats({row.expected}), 0, leaf.bounds),
              row.verdict);
  }
  const VerdictCounts counts = CountElements(Floats(actual), Floats(expected), {});
  EXPECT_EQ(counts[Verdict::kSameBits], 2);
  EXPECT_EQ(counts[Verdict::kWithinUlp], 2);
  EXPECT_EQ(counts[Verdict::kNotFinite], 2);
  EXPECT_EQ(counts.Worst(), Verdict::kNotFinite);
}

TEST(VerdictTableTest, EveryVerdictHasAMarkOfItsOwn) {
  std::set<VerdictMark> marks;
  for (size_t k = 0; k < kVerdictCount; ++k) marks.insert(MarkOf(static_cast<Verdict>(k)));
  EXPECT_EQ(marks.size(), kVerdictCount);
}

TEST(VerdictTableTest, TheLegendCountsWhatThereIs) {
  VerdictCounts counts;
  counts.Add(Verdict::kSameBits, 40);
  counts.Add(Verdict::kBeyond);
  const std::vector<LegendEntry> legend = VerdictLegend(Theme(true), counts);
  ASSERT_EQ(legend.size(), 2u);
  EXPECT_EQ(legend[0].text, "beyond tolerance 1");
  EXPECT_EQ(legend[0].verdict, Verdict::kBeyond);
  EXPECT_EQ(legend[1].text, "bit-identical 40");
}

TEST(NumberTextTest, WhatDoesNotDifferIsBlank) {
  EXPECT_EQ(ErrorText(0), "");
  EXPECT_EQ(ErrorText(1.5e-7), "1.50e-07");
  EXPECT_EQ(ErrorText(INFINITY), "inf");
  EXPECT_EQ(UlpText(0), "");
  EXPECT_EQ(UlpText(1234), "1,234");
  EXPECT_EQ(UlpText(UINT64_MAX), "far");
  EXPECT_EQ(SomeText(0), "");
}

// --- Values held after a run

constexpr std::string_view kHeldModule = R"(HloModule held
inside {
  p = f32[4] parameter(0)
  q = f32[4] tanh(p)
  ROOT r = f32[4] add(q, q)
}
body {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  twice = f32[4] add(v, v)
  ROOT t = (s32[], f32[4]) tuple(next, twice)
}
condition {
  c = (s32[], f32[4]) parameter(0)
  ci = s32[] get-tuple-element(c), index=0
  limit = s32[] constant(5)
  ROOT less = pred[] compare(ci, limit), direction=LT
}
ENTRY e {
  x = f32[4] parameter(0)
  k = f32[4] constant({1, 2, 3, nan})
  fuse9 = f32[4] fusion(x), kind=kLoop, calls=inside
  zero = s32[] constant(0)
  start = (s32[], f32[4]) tuple(zero, fuse9)
  loop = (s32[], f32[4]) while(start), condition=condition, body=body
  result = f32[4] get-tuple-element(loop), index=1
  ROOT sum = f32[4] add(result, k)
}
)";

class ValuesTest : public ReadingTest {
 protected:
  // A dump of that module, with inputs beside it where there are any.
  std::string Write(std::string_view text, const std::vector<float>& inputs = {}) {
    std::filesystem::create_directories(Scratch("dump"));
    const std::string path = Scratch("dump") + "/module_0001.held.before_optimizations.txt";
    EXPECT_TRUE(WriteFileAtomically(path, std::string(text)));
    if (!inputs.empty()) WriteInputs("inputs.npz", inputs);
    return path;
  }
  void WriteInputs(const std::string& name, const std::vector<float>& inputs) {
    const Literal literal = Floats(inputs);
    ASSERT_TRUE(dump::WriteTensors(Scratch("dump") + "/" + name, dump::TensorNames::kInputs,
                                   std::span(&literal, 1)));
  }
  void RunOnInterpreter() {
    Press("Ctrl+4");
    app().dock().Find("divergence")->view->SetState("interpreter\ninterpreter\n0\n1");
    app().dock().Focus("divergence");
    Settle();
    Press("F9");
    ASSERT_NE(session().experiment.report(), nullptr);
  }
  const hlo::Module& Module() {
    const Pending<hlo::Module>& read = session().data.Module(0, 0);
    if (!read.ready()) Settle();
    return *read;
  }
  hlo::InstructionId Id(std::string_view name) {
    for (uint32_t i = 0; i < Module().instructions().size(); ++i) {
      if (Module().name(hlo::InstructionId(i)) == name) return hlo::InstructionId(i);
    }
    ADD_FAILURE() << name;
    return {};
  }
  std::string Hover(std::string_view name) {
    return HoverValues(session(), 0, 0, Module(), Id(name));
  }
  void Select(std::string_view name) {
    session().navigation.Select(Selection::OfInstruction(0, 0, Id(name)));
    Settle();
  }
};

TEST_F(ValuesTest, ThePointerSaysHowToGetValuesAndConstantsNeedNone) {
  Start({Write(kHeldModule)});
  EXPECT_EQ(session().experiment.module(), nullptr);
  EXPECT_TRUE(Has(Hover("fuse9"), "shown after a run")) << Hover("fuse9");
  EXPECT_TRUE(Has(Hover("k"), "the file: 1, 2, 3, NaN")) << Hover("k");
  EXPECT_TRUE(Has(Hover("k"), "1 to 3, mean 2, 1 NaN")) << Hover("k");
  EXPECT_EQ(session().experiment.module(), nullptr);  // pointing runs nothing
}

TEST_F(ValuesTest, ThePointerShowsValuesOfEveryInstructionAfterARun) {
  Start({Write(kHeldModule, {0, 0, 0, 0})});
  RunOnInterpreter();
  EXPECT_TRUE(Has(Hover("x"), "inputs from inputs.npz")) << Hover("x");
  EXPECT_TRUE(Has(Hover("x"), "interpreter: 0, 0, 0, 0")) << Hover("x");
  EXPECT_TRUE(Has(Hover("fuse9"), "bit-identical")) << Hover("fuse9");
  // Inside the fusion, its parameter too; inside the loop the last execution.
  EXPECT_TRUE(Has(Hover("q"), "interpreter: 0, 0, 0, 0")) << Hover("q");
  EXPECT_TRUE(Has(Hover("p"), "interpreter: 0, 0, 0, 0")) << Hover("p");
  EXPECT_TRUE(Has(Hover("next"), "the last of 5 executions")) << Hover("next");
  EXPECT_TRUE(Has(Hover("next"), "interpreter: 5")) << Hover("next");
  // Elements of tuples and tuples hold what they are made of.
  EXPECT_TRUE(Has(Hover("result"), "interpreter: 0, 0, 0, 0")) << Hover("result");
  EXPECT_TRUE(Has(Hover("start"), "s32[]")) << Hover("start");
  EXPECT_TRUE(Has(Hover("sum"), "1 to 3, mean 2, 1 NaN")) << Hover("sum");
  session().marks.Of<Hovered>() = {};
  // The list says the same, and so does the pointer on it.
  ExpectSeen("divergence", "bit-identical");
}

// Inputs of the whole module are none of the part that is run for its values.
TEST_F(ValuesTest, ValuesOfBothPlatformsOnRecordedInputs) {
  const std::vector<std::string> here = debug::PlatformsHere();
  if (std::ranges::find(here, "xla-cpu") == here.end()) GTEST_SKIP() << "no plugin of XLA:CPU";
  Start({Write(R"(HloModule held
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[] constant(3)
  three = f32[4] broadcast(y), dimensions={}
  sum = f32[4] add(x, three)
  ROOT t = f32[4] tanh(sum)
}
)",
               {0.1F, 0.2F, 0.3F, 0.4F})});
  Press("Ctrl+4");
  app().dock().Find("divergence")->view->SetState("xla-cpu\ninterpreter\n0\n1");
  app().dock().Focus("divergence");
  Settle();
  Press("F9");
  EXPECT_TRUE(Has(Hover("sum"), "xla-cpu: 3.1, 3.2, 3.3, 3.4")) << Hover("sum");
  EXPECT_TRUE(Has(Hover("sum"), "interpreter: 3.1, 3.2, 3.3, 3.4")) << Hover("sum");
  Select("t");
  app().Run(Command::kValues);
  Settle();
  ASSERT_NE(session().experiment.captured(), nullptr);
  EXPECT_EQ(session().experiment.captured()->note, "");
  EXPECT_EQ(session().experiment.captured()->actual_leaves.size(), 1u);
  EXPECT_EQ(session().experiment.captured()->counts.size(), 1u);
}

TEST(CapturedValuesTest, ElementsThatDifferReadDifferently) {
  const replay::ValueStatistics a = replay::StatisticsOf(Floats({1.0F / 3, 1e-7F}));
  const replay::ValueStatistics b =
      replay::StatisticsOf(Floats({std::nextafter(1.0F / 3, 1.0F), 1e-7F}));
  EXPECT_EQ(FirstElementsText(a, hlo::ElementType::kF32), "0.33333334, 1e-07");
  EXPECT_NE(FirstElementsText(a, hlo::ElementType::kF32),
            FirstElementsText(b, hlo::ElementType::kF32));
}

TEST(CapturedValuesTest, ComplexElementsAreShownWithBothParts) {
  const std::complex<float> data[] = {{3, -4}, {0, 1}};
  const auto type = hlo::ElementType::kC64;
  const replay::ValueStatistics values = replay::StatisticsOf(
      hlo::Literal::Of<std::complex<float>>(hlo::Shape::Array(type, {2}), data));
  EXPECT_EQ(FirstElementsText(values, type), "(3, -4), (0, 1)");
  EXPECT_EQ(RangeText(values, type), "absolute values 1 to 5, mean 3");
}

TEST_F(ValuesTest, ValuesOfAStageThatWasNotRunAreNotMadeUp) {
  const std::string first = Write(kHeldModule, {0, 0, 0, 0});
  ASSERT_TRUE(WriteFileAtomically(Scratch("dump") + "/module_0001.held.cpu_after_optimizations.txt",
                                  std::string(kHeldModule)));
  Start({Scratch("dump")});
  RunOnInterpreter();
  const auto& last = session().data.Module(0, 1);
  Settle();
  ASSERT_TRUE(last.ready());
  const std::string text = HoverValues(session(), 0, 1, *last, Id("fuse9"));
  EXPECT_TRUE(Has(text, "this stage has not run")) << text;
}

TEST(ValueGridTest, FiveDigitsAndTheWorstElement) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Literal expected = Floats({-0.012345678F, 100, 1e-20F, 8, nan});
  const Literal actual = Floats({-0.012345678F, 101, 3e-20F, 8, nan});
  const ValueGrid grid(expected, actual);
  EXPECT_EQ(grid.ShortText(ValueSide::kReference, 0), "-0.012346");
  EXPECT_EQ(grid.ShortText(ValueSide::kReference, 4), "nan");
  EXPECT_EQ(grid.ShortText(ValueSide::kError, 1), "1");
  EXPECT_TRUE(grid.IsFinite(ValueSide::kReference, 0));
  EXPECT_FALSE(grid.IsFinite(ValueSide::kReference, 4));
  EXPECT_EQ(grid.FirstNonFinite(), 4);
  // 3e-20 for 1e-20 is within the absolute tolerance, 101 for 100 beyond both.
  const auto leaf = debug::CompareArrays(actual, expected, {});
  ASSERT_TRUE(leaf.worst_mismatch.has_value());
  EXPECT_EQ(CountElements(actual, expected, {}).worst_element, leaf.worst_mismatch->index[0]);
  EXPECT_EQ(CountElements(expected, expected, {}).worst_element, -1);
  const Literal whole = Literal::Of<int64_t>(Shape::Array(hlo::ElementType::kS64, {1}),
                                             std::vector<int64_t>{-1234567890123456789});
  EXPECT_EQ(ValueGrid(whole, {}).ShortText(ValueSide::kReference, 0), "-1234567890123456789");
}

// A NaN in the last row of a large array, which the table does not show at first.
TEST_F(ValuesTest, ValuesLeadToTheFirstNanAndShowFiveDigits) {
  Start({Write(R"(HloModule held
ENTRY e {
  i = f32[400,30] iota(), iota_dimension=0
  j = f32[400,30] iota(), iota_dimension=1
  third = f32[] constant(-3)
  b = f32[400,30] broadcast(third), dimensions={}
  q = f32[400,30] divide(i, b)
  last = f32[] constant(399)
  c = f32[400,30] broadcast(last), dimensions={}
  d = f32[400,30] subtract(i, c)
  r = f32[400,30] add(d, j)
  k = f32[] constant(29)
  l = f32[400,30] broadcast(k), dimensions={}
  m = f32[400,30] subtract(r, l)
  z = f32[400,30] divide(m, m)
  ROOT s = f32[400,30] add(q, z)
}
)")});
  RunOnInterpreter();
  Select("s");
  app().Run(Command::kValues);
  Settle();
  ASSERT_NE(session().experiment.captured(), nullptr);
  app().dock().Focus("values");
  Settle();
  ExpectSeen("values", "0.66667");
  ClickOn("values", "First NaN or infinity");
  Settle();
  ExpectSeen("values", "[399,29]: ");
  ExpectSeen("values", "399");
  ExpectSeen("values", "nan");
}

// --- Pins

TEST_F(ValuesTest, APinStaysThroughARunAndShowsWhatItWas) {
  const std::string state = Scratch("state");
  Start({Write(kHeldModule, {0, 0, 0, 0})}, state);
  RunOnInterpreter();
  Select("fuse9");
  Press("Shift+V");
  EXPECT_TRUE(Has(Messages(), "pinned fuse9")) << Messages();
  app().dock().Focus("pinned");
  Settle();
  EXPECT_EQ(HighlightedItems("pinned"),
            "selected fuse9; interpreter 0, 0, 0, 0; interpreter 0, 0, 0, 0\n");
  ExpectSeen("pinned", "0, 0, 0, 0");
  Select("x");
  EXPECT_TRUE(HighlightedItems("pinned").starts_with("fuse9;")) << HighlightedItems("pinned");
  // Another run on other inputs.
  WriteInputs("more.npz", {100, 100, 100, 100});
  session().marks.Of<ChosenInputs>().path = Scratch("dump") + "/more.npz";
  app().dock().Focus("divergence");
  Settle();
  Press("F9");
  app().dock().Focus("pinned");
  Settle();
  EXPECT_EQ(HighlightedItems("pinned"),
            "fuse9; interpreter 2, 2, 2, 2; interpreter 2, 2, 2, 2; before 0, 0, 0, 0\n");
  ExpectSeen("pinned", "was 0, 0, 0, 0");
  const Result<std::string> csv =
      app().dock().Find("pinned")->view->Export(ExportFormat::kCsv, session());
  ASSERT_TRUE(csv.has_value());
  EXPECT_TRUE(Has(*csv, "\"fuse9\",\"e\",")) << *csv;
  EXPECT_TRUE(Has(*csv, ",before,\"0, 0, 0, 0\"")) << *csv;
  // A click leads to it.
  ClickOn("pinned", "fuse9");
  EXPECT_EQ(SelectedName(), "fuse9");
  // Pinning twice is once.
  Select("fuse9");
  Press("Shift+V");
  EXPECT_TRUE(Has(Messages(), "already pinned: fuse9")) << Messages();
  // Removed, brought back, and there at the next start.
  ClickOn("pinned", "×");
  EXPECT_EQ(HighlightedItems("pinned"), "");
  Press("Ctrl+Z");
  EXPECT_TRUE(Has(HighlightedItems("pinned"), "fuse9; interpreter 2, 2, 2, 2"))
      << HighlightedItems("pinned");
  app().Save();
  Stop();
  Start({Scratch("dump") + "/module_0001.held.before_optimizations.txt"}, state);
  EXPECT_TRUE(Has(HighlightedItems("pinned"), "fuse9; interpreter 2, 2, 2, 2"))
      << HighlightedItems("pinned");
  EXPECT_EQ(session().experiment.module(), nullptr);
}

TEST_F(ValuesTest, WhatIsUnderThePointerIsPinnedBeforeWhatIsSelected) {
  Start({Write(kHeldModule)});
  Select("fuse9");
  session().marks.Of<Hovered>() = {Selection::OfInstruction(0, 0, Id("k")), ImGui::GetFrameCount()};
  app().Run(Command::kPin);
  Settle();
  EXPECT_TRUE(Has(HighlightedItems("pinned"), "k; the file 1, 2, 3, NaN"))
      << HighlightedItems("pinned");
  session().marks.Of<Hovered>() = {};
  app().Run(Command::kPin);
  Settle();
  EXPECT_TRUE(Has(Messages(), "pinned fuse9; values appear after the next run")) << Messages();
}

TEST(PinsTest, WhatIsKeptOfPinsMayBeDamaged) {
  Pin pin;
  pin.module = "m";
  pin.instruction = "quote\" \xff";
  pin.sides.push_back({.platform = "interpreter", .first = "1, 2"});
  const std::string text = PinsText({pin});
  ASSERT_EQ(PinsFromText(text).size(), 1u);
  EXPECT_EQ(PinsFromText(text)[0].sides, pin.sides);
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_TRUE(PinsFromText(text.substr(0, length)).empty());
  }
  for (const char* bad : {"7", "[7]", "[{}]", "[{\"instruction\":7}]",
                          "[{\"instruction\":\"a\",\"sides\":7}]", "{\"a\":[]}"}) {
    EXPECT_LE(PinsFromText(bad).size(), 1u) << bad;
  }
}

// --- Recorded inputs

constexpr std::string_view kTwo = R"(HloModule two
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[3] parameter(1)
  ROOT t = (f32[4], f32[3]) tuple(x, y)
}
)";

TEST_F(ValuesTest, InputsThatDoNotFitSaySoBeforeTheRun) {
  const auto module = hlo::Parsed(kTwo);
  std::filesystem::create_directories(Scratch("dump"));
  const std::vector<Literal> wrong = {Floats({1, 2, 3, 4}), Floats({1, 2})};
  const std::vector<Literal> right = {Floats({1, 2, 3, 4}), Floats({1, 2, 3})};
  const std::string path = Scratch("dump") + "/a.npz";
  struct Row {
    std::vector<Literal> given;
    std::string_view said;
  };
  const Row rows[] = {{right, "2 of 2 parameters"},
                      {wrong, "1 of 2 parameters: wrong shape or type for parameter 1: "},
                      {{right[0]}, "1 of 2 parameters: no value for parameter 1, f32[3]"}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.said);
    std::filesystem::remove(path);
    ASSERT_TRUE(dump::WriteTensors(path, dump::TensorNames::kInputs, row.given));
    const RecordedInputs inputs = ExamineInputs(path, "a.npz", "", *module, {});
    EXPECT_TRUE(CoverageText(inputs).starts_with(row.said)) << CoverageText(inputs);
    EXPECT_EQ(inputs.fits(), row.said == "2 of 2 parameters");
  }
  hlo::ProtoFile snapshot;
  snapshot.kind = hlo::ProtoKind::kSnapshot;
  snapshot.module = module;
  snapshot.arguments = {wrong};
  const std::string proto = Scratch("dump") + "/module_0001.two.snapshot.1.pb";
  ASSERT_TRUE(WriteFileAtomically(proto, hlo::SnapshotToProto(snapshot)));
  const RecordedInputs of_snapshot = ExamineInputs(proto, "s", "", *module, {});
  EXPECT_EQ(CoverageText(of_snapshot),
            "1 of 2 parameters: wrong shape for parameter 1: f32[2], expected f32[3]");
}

TEST_F(ValuesTest, RecordedInputsComeFirst) {
  const std::string path = Write(kHeldModule);
  WriteInputs("small.npz", {1, 2, 3});  // does not fit
  WriteInputs("inputs.npz", {0, 0, 0, 0});
  WriteInputs("expected.npz", {7, 7, 7, 7});  // of results
  Start({path});
  Press("Ctrl+4");
  Settle();
  const Pending<RecordedInputsList>& list = RecordedInputsOf(session(), 0, 0);
  Settle();
  ASSERT_TRUE(list.ready());
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ(list->front().name, "inputs.npz");
  ExpectSeen("divergence", "inputs.npz: 1 of 1 parameter");
  // Generated ones on demand.
  Drive([](ImGuiTestContext* context) {
    context->SetRef("//###divergence.divergence");
    context->ItemClick("##inputs");
    context->ItemClick("//$FOCUSED/generated from seed 0##generated");
  });
  ExpectSeen("divergence", "generated from seed 0");
}

TEST_F(ValuesTest, ASnapshotIsRunOn) {
  const std::string path = Write(kHeldModule);
  hlo::ProtoFile snapshot;
  snapshot.kind = hlo::ProtoKind::kSnapshot;
  snapshot.module = hlo::Parsed(kHeldModule);
  snapshot.arguments = {{Floats({100, 100, 100, 100})}};
  ASSERT_TRUE(WriteFileAtomically(Scratch("dump") + "/module_0001.held.snapshot.1.pb",
                                  hlo::SnapshotToProto(snapshot)));
  Start({Scratch("dump")});
  Press("Ctrl+4");
  Settle();
  ExpectSeen("divergence", "module_0001.held.snapshot.1.pb: 1 of 1 parameter");
  RunOnInterpreter();
  EXPECT_TRUE(Has(Hover("fuse9"), "interpreter: 2, 2, 2, 2")) << Hover("fuse9");
}

TEST_F(ValuesTest, AFileIsChosenInThePopup) {
  Start({Write(kHeldModule)});
  WriteInputs("elsewhere.npz", {100, 100, 100, 100});
  Press("Ctrl+4");
  app().Run(Command::kChooseInputs);
  Settle();
  Type(Scratch("dump") + "/elsewhere.npz");
  Press("Enter");
  Settle();
  ExpectSeen("divergence", "elsewhere.npz: 1 of 1 parameter");
  RunOnInterpreter();
  EXPECT_TRUE(Has(Hover("fuse9"), "interpreter: 2, 2, 2, 2")) << Hover("fuse9");
  EXPECT_TRUE(Has(Hover("fuse9"), "inputs from elsewhere.npz")) << Hover("fuse9");
}

}  // namespace
}  // namespace hloscope::viewer
