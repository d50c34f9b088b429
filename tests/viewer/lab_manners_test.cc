// The divergence lab says what its answers are of: values follow the selection, a search keeps its
// own inputs, generated inputs are called so, platforms and errors have reasons and fixes.
#include <imgui.h>
#include <imgui_te_context.h>

#include <cstdlib>
#include <filesystem>

#include "core/base/file.h"
#include "core/debug/run/fix_of_error.h"
#include "core/debug/run/platforms_here.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/replay/platform_table.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/lab/recorded_inputs.h"
#include "viewer/model/experiment.h"
#include "viewer/model/marks.h"
#include "viewer/model/pass_search.h"

namespace hloscope::viewer {
namespace {

using hlo::Literal;
using hlo::Shape;

constexpr const char* kPanel = "//###divergence.divergence";

// log(w - x): NaN where x is larger.
constexpr const char* kLogModule = R"(HloModule jit_loss
ENTRY e {
  w.1 = f32[2,2] parameter(0), metadata={op_name="w"}
  x.1 = f32[2,2] parameter(1), metadata={op_name="x"}
  c = f32[] constant(nan)
  d = f32[2,2] broadcast(c), dimensions={}
  less = pred[2,2] compare(w.1, w.1), direction=LT
  s = f32[2,2] subtract(w.1, x.1)
  l = f32[2,2] log(s)
  ROOT out = f32[2,2] select(less, d, l)
}
)";
constexpr const char* kQuietModule = R"(HloModule jit_quiet
ENTRY e {
  x = f32[4] parameter(0)
  constant.19 = f32[] constant(nan)
  zero = f32[] constant(0)
  p = (f32[], f32[]) tuple(constant.19, zero)
  y = f32[4] negate(x)
  ROOT z = f32[4] add(y, x)
}
)";

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

Error Failure(std::string message, std::string hint = {}) {
  return {ErrorClass::kEnvironment, std::move(message), {}, std::move(hint)};
}

class LabMannersTest : public ReadingTest {
 protected:
  void Open(const char* module) {
    const std::string path = Scratch("module_0001.jit_f.before_optimizations.txt");
    ASSERT_TRUE(WriteFileAtomically(path, module));
    Start({path});
    Press("Ctrl+4");
    app().dock().Find("divergence")->view->SetState("interpreter\ninterpreter\n0\n1");
    Settle();
  }
  // Of that name, by arrays of four.
  void WriteArrays(const std::string& name, const std::vector<float>& w,
                   const std::vector<float>& x) {
    const Shape shape = Shape::Array(hlo::ElementType::kF32, {2, 2});
    const std::pair<std::string, Literal> arrays[] = {{"x", Literal::Of<float>(shape, x)},
                                                      {"w", Literal::Of<float>(shape, w)}};
    ASSERT_TRUE(dump::WriteInputs(Scratch(name), arrays));
  }
  void Choose(const std::string& name) {
    session().marks.Of<ChosenInputs>().path = Scratch(name);
    Settle();
  }
};

TEST_F(LabMannersTest, ValuesFollowTheSelection) {
  Open(kQuietModule);
  Press("F9");
  ClickOn("divergence", "negate");
  EXPECT_EQ(HighlightedItems("values"), "no values") << "not before they are asked for";
  Press("V");
  ASSERT_TRUE(Has(HighlightedItems("values"), "values of y")) << HighlightedItems("values");
  app().SelectWhenOpen("jit_f:z");
  Settle();
  ASSERT_EQ(SelectedName(), "z") << Messages();
  EXPECT_TRUE(Has(HighlightedItems("values"), "values of z")) << HighlightedItems("values");
}

TEST_F(LabMannersTest, AFinishedSearchKeepsItsOwnInputs) {
  Open(kQuietModule);
  Click(std::string(kPanel) + "/Find NaN");
  ExpectSeen("divergence", "no NaN found with generated inputs, seed 0");
  Drive([](ImGuiTestContext* context) {
    context->ItemInputValue("//###divergence.divergence/##seed", 7);
  });
  ExpectSeen("divergence", "generated from seed 7");
  ExpectSeen("divergence", "no NaN found with generated inputs, seed 0");
}

TEST_F(LabMannersTest, ANaNThatIsNotFoundLeadsToOtherInputsAndToTheConstant) {
  Open(kQuietModule);
  Click(std::string(kPanel) + "/Find NaN");
  ExpectSeen("divergence", "these inputs were generated");
  ExpectSeen("divergence", "--xla_dump_hlo_unoptimized_snapshots");
  ClickOn("divergence", "constant constant.19 is NaN");
  EXPECT_EQ(SelectedName(), "constant.19");
  ClickOn("divergence", "Choose a file");
  EXPECT_EQ(app().popups().kind(), Popups::Kind::kInputs);
}

TEST_F(LabMannersTest, ANaNThatIsFoundHasItsElementAndItsCount) {
  Open(kLogModule);
  WriteArrays("in.npz", {1, 1, 1, 1}, {0.5F, 2, 0.5F, 3});
  Choose("in.npz");
  Click(std::string(kPanel) + "/Find NaN");
  ExpectSeen("divergence", "the first NaN appears in l (log) in e");
  ExpectSeen("divergence", "with inputs from in.npz");
  ExpectSeen("divergence", "[0,1] is ");
  ExpectSeen("divergence", ", 2 of 4 elements");
  EXPECT_FALSE(FindSeen(Seen("divergence"), "these inputs were generated").has_value());
}

// Equal bits of both sides say nothing of what they are.
TEST_F(LabMannersTest, AResultThatIsNaNOnBothSidesIsSaidToBe) {
  Open(kLogModule);
  WriteArrays("in.npz", {1, 1, 1, 1}, {0.5F, 2, 0.5F, 3});
  Choose("in.npz");
  Press("F9");
  ExpectSeen("divergence", "bit-identical: 1 result; 1 result holds NaN");
  WriteArrays("fine.npz", {1, 1, 1, 1}, {0.5F, 0.5F, 0.5F, 0.5F});
  Choose("fine.npz");
  Press("F9");
  ExpectSeen("divergence", "bit-identical: 1 result");
  EXPECT_FALSE(FindSeen(Seen("divergence"), "holds NaN").has_value());
}

// The archive has x before w: only by their names each gets its own.
TEST_F(LabMannersTest, ArraysAreMatchedToParametersByName) {
  Open(kLogModule);
  WriteArrays("in.npz", {5, 5, 5, 5}, {1, 2, 3, 4});
  Choose("in.npz");
  ExpectSeen("divergence", "in.npz: 2 of 2 parameters");
  Press("F9");
  const debug::RunReport* report = session().experiment.report();
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->warnings, std::vector<std::string>());
  ASSERT_EQ(report->arguments.size(), 2u);
  EXPECT_EQ(report->arguments[0].data<float>()[0], 5);
  EXPECT_EQ(report->arguments[1].data<float>()[3], 4);
}

TEST_F(LabMannersTest, EveryPlatformIsListedOrSaysWhatItLacks) {
  // Nowhere to find a plugin or a Python.
  const char* const names[] = {"HOME",         "XDG_DATA_HOME",        "VIRTUAL_ENV",
                               "CONDA_PREFIX", "HLOSCOPE_PLUGIN_PATH", "HLOSCOPE_PYTHON",
                               "PATH"};
  std::vector<std::pair<std::string, std::string>> before;
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) before.emplace_back(name, value);
    setenv(name, Scratch("nothing").c_str(), 1);
  }
  unsetenv("HLOSCOPE_PLUGIN_PATH");
  unsetenv("HLOSCOPE_PYTHON");
  const std::vector<debug::PlatformState> states = debug::PlatformStates();
  ASSERT_EQ(states.size(), replay::PlatformRows().size());
  for (const debug::PlatformState& state : states) {
    const replay::PlatformRow& row = *replay::FindPlatform(state.name);
    if (row.Has(replay::kNeedsPlugin)) {
      EXPECT_TRUE(Has(state.missing, "no plugin found: `")) << state.name << state.missing;
      EXPECT_TRUE(Has(state.missing, "hloscope doctor")) << state.missing;
    }
    if (row.Has(replay::kNeedsPython)) {
      EXPECT_TRUE(Has(state.missing, "no jaxlib")) << state.missing;
    }
    if (!row.Has(replay::kNeedsPlugin) && !row.Has(replay::kNeedsPython) &&
        !row.Has(replay::kNeedsDriver)) {
      EXPECT_TRUE(state.runs()) << state.name;
    }
  }
  Open(kQuietModule);
  Click(std::string(kPanel) + "/##platform");
  for (const debug::PlatformState& state : states) ExpectSeen("window", state.name);
  ExpectSeen("window", "xla-cpu: no plugin found");
  Press("Escape");
  for (const char* name : names) unsetenv(name);
  for (const auto& [name, value] : before) setenv(name.c_str(), value.c_str(), 1);
}

TEST_F(LabMannersTest, AnErrorOfARunIsAnErrorWithAFix) {
  EXPECT_EQ(debug::FixOf(Failure("x", "do this")), "do this");
  EXPECT_EQ(debug::FixOf(Failure("nothing that is known")), "");
  const Error error = Failure("No FFI handler registered for lapack_spotrf_ffi on a platform Host");
  EXPECT_TRUE(Has(debug::FixOf(error), "jaxlib")) << debug::FixOf(error);
  Open(kQuietModule);
  auto verdict = std::make_shared<Pending<debug::DivergeVerdict>>();
  verdict->state = PendingState::kFailed;
  verdict->error = error;
  AskedVerdict asked;
  asked.module = 0;
  asked.verdict = verdict;
  session().marks.Of<AskedVerdicts>().all.push_back(std::move(asked));
  session().requests.Show("verdict");
  Settle();
  ExpectSeen("verdict", "the run failed: No FFI handler registered");
  ExpectSeen("verdict", "fix: choose a platform that has it: jaxlib");
  EXPECT_FALSE(FindSeen(Seen("verdict"), "cannot load").has_value());
}

}  // namespace
}  // namespace hloscope::viewer
