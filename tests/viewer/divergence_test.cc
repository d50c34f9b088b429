// The screen Divergence: run, find a NaN, look at values, with keys and with clicks.
#include <imgui.h>
#include <imgui_te_context.h>

#include "core/base/file.h"
#include "tests/viewer/viewer_fixture.h"
#include "viewer/facts/profile_model.h"

namespace hloscope::viewer {
namespace {

constexpr const char* kPanel = "//###divergence.divergence";

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

void ChooseInterpreter(ImGuiTestContext* context) {
  context->SetRef(kPanel);
  context->ComboClick("##platform/interpreter");
}

TEST_F(ViewerTest, DivergenceRunsNothingByItself) {
  Start({Sample("mlp_train_step")});
  Press("Ctrl+4");
  EXPECT_EQ(HighlightedItems("divergence"), "not run yet");
  EXPECT_EQ(HighlightedItems("values"), "no values");
  EXPECT_EQ(session().experiment.module(), nullptr);
}

TEST_F(ViewerTest, DivergenceComparesEveryInstruction) {
  Start({Sample("mlp_train_step")});
  Press("Ctrl+4");
  Drive(ChooseInterpreter);
  Click(std::string(kPanel) + "/Run");
  ASSERT_NE(session().experiment.report(), nullptr);
  EXPECT_TRUE(HighlightedItems("divergence").starts_with("bit-identical: "))
      << HighlightedItems("divergence");
  EXPECT_EQ(std::ssize(session().experiment.findings()), session().experiment.expected_findings());
}

class RecordedRunTest : public ViewerTest {
 protected:
  void RunRecorded() {
    Press("Ctrl+4");
    Drive(ChooseInterpreter);
    Click(std::string(kPanel) + "/record a profile");
    Click(std::string(kPanel) + "/Run");
  }
  // The names of its groups of lanes.
  static std::vector<std::string> GroupsOf(const ProfileModel& model) {
    std::vector<std::string> names;
    for (const profiler::Group& group : model.store().groups())
      names.emplace_back(model.store().text(group.name));
    return names;
  }
};

TEST_F(RecordedRunTest, ItsProfileOpensInKernelsWithBothPlatforms) {
  Start({Sample("mlp_train_step")}, Scratch("state"));
  RunRecorded();
  ASSERT_NE(session().experiment.report(), nullptr);
  EXPECT_EQ(session().experiment.report()->status, debug::RunStatus::kEqual);
  EXPECT_EQ(app().dock().screen(), "kernels");
  const std::string file = Scratch("state/profiles/jit_mlp_train_step.interpreter.1.hloprof");
  EXPECT_EQ(session().document.profile_paths(), std::vector<std::string>{file});
  EXPECT_TRUE(Has(Messages(), "profile of the run: " + file)) << Messages();
  const Pending<ProfileModel>* profile = ProfileOf(session());
  ASSERT_TRUE(profile != nullptr && profile->ready());
  EXPECT_EQ(GroupsOf(**profile),
            (std::vector<std::string>{"interpreter", "interpreter (reference)", "hloscope"}));
  // What ran is the stage before optimization: its instructions are what events select, twice.
  EXPECT_EQ((*profile)->places, (std::vector<ProfileModel::Place>{{0, 0}, {0, 0}}));
  const auto module = *session().document.dump()->Module(0, 0);
  const auto dot = std::ranges::find_if(
      module->instructions(), [](const auto& i) { return i.opcode == hlo::Opcode::kDot; });
  const hlo::InstructionId id(static_cast<size_t>(dot - module->instructions().begin()));
  for (uint32_t m : {0U, 1U}) {
    const profiler::InstructionTime* time = (*profile)->attribution->TimeOf(m, id);
    ASSERT_NE(time, nullptr) << m;
    EXPECT_EQ(SelectionOf(**profile, time->longest).instruction, id);
    EXPECT_EQ(SelectionOf(**profile, time->longest).stage, 0);
  }
  session().navigation.Select(Selection::OfInstruction(0, 0, id));
  Settle();
  EXPECT_TRUE(HighlightedItems("timeline").starts_with("highlighted 1\n"))
      << HighlightedItems("timeline");
  EXPECT_TRUE(Has(HighlightedItems("kernels"), std::string(module->name(id))))
      << HighlightedItems("kernels");
}

TEST_F(RecordedRunTest, TheNextOneTakesItsPlaceAndWhatWasSelectedStays) {
  Start({Sample("mlp_train_step")}, Scratch("state"));
  RunRecorded();
  const Pending<ProfileModel>* profile = ProfileOf(session());
  const auto& times = (*profile)->attribution->times();
  session().navigation.Select(SelectionOf(**profile, times.front().longest));
  const std::string first = session().document.profile_paths().front();
  Press("Ctrl+4");
  Click(std::string(kPanel) + "/Run");
  EXPECT_NE(session().document.profile_paths().front(), first);
  EXPECT_TRUE(Has(Messages(), "shown in place of " + first)) << Messages();
  EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kInstruction);
  EXPECT_EQ(session().navigation.selection().instruction, times.front().target.instruction);
}

TEST_F(RecordedRunTest, TheTickIsUndone) {
  Start({Sample("mlp_train_step")});
  Press("Ctrl+4");
  const View& view = *app().dock().Find("divergence")->view;
  const std::string before = view.State();
  Click(std::string(kPanel) + "/record a profile");
  EXPECT_NE(view.State(), before);
  Press("Ctrl+Z");
  EXPECT_EQ(view.State(), before);
  Drive(ChooseInterpreter);
  Click(std::string(kPanel) + "/Run");
  EXPECT_TRUE(session().document.profile_paths().empty());
  EXPECT_EQ(app().dock().screen(), "divergence");
}

TEST_F(RecordedRunTest, WithoutAFolderItLastsAsLongAsTheWindow) {
  Start({Sample("mlp_train_step")});
  RunRecorded();
  ASSERT_EQ(session().document.profile_paths().size(), 1U);
  const std::string file = session().document.profile_paths().front();
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_TRUE(Has(Messages(), "deleted on exit")) << Messages();
  Stop();
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(RecordedRunTest, AFolderThatCannotBeWrittenIsSaid) {
  ASSERT_TRUE(std::filesystem::create_directories(Scratch("state")));
  ASSERT_TRUE(WriteFileAtomically(Scratch("state/profiles"), "in the way"));
  Start({Sample("mlp_train_step")}, Scratch("state"));
  RunRecorded();
  EXPECT_TRUE(Has(Messages(), "the run has no profile: ")) << Messages();
  EXPECT_TRUE(session().document.profile_paths().empty());
  EXPECT_EQ(session().experiment.report()->status, debug::RunStatus::kEqual);
}

TEST_F(ViewerTest, FindsTheNanAndSelectsIt) {
  const std::string path = Scratch("module_0001.nan.before_optimizations.txt");
  ASSERT_TRUE(WriteFileAtomically(path, R"(HloModule nan
ENTRY e {
  x = f32[4] parameter(0)
  zero = f32[4] subtract(x, x)
  ROOT born = f32[4] divide(zero, zero)
}
)"));
  Start({path});
  Press("Ctrl+4");
  Drive([](ImGuiTestContext* context) { context->WindowFocus(kPanel); });
  Press("Ctrl+Shift+N");
  EXPECT_TRUE(Has(HighlightedItems("divergence"), "the first NaN appears in born"))
      << HighlightedItems("divergence");
  Click(std::string(kPanel) + "/Go to instruction");
  EXPECT_EQ(SelectedName(), "born");
  Drive([](ImGuiTestContext* context) { context->WindowFocus("//###divergence.values"); });
  Press("V");
  EXPECT_TRUE(Has(HighlightedItems("values"), "values of born\nf32[4]"))
      << HighlightedItems("values");
}

}  // namespace
}  // namespace hloscope::viewer
