// Every screen and key of the viewer: a name, a click or a chord, and what is selected in each
// other view.
#include <imgui.h>
#include <imgui_te_context.h>

#include "tests/viewer/reading_fixture.h"
#include "viewer/frame/svg.h"

namespace hloscope::viewer {
namespace {

constexpr const char* kPasses = "softmax_passes_a100";

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ViewerTest, HomeShowsModulesAndSelectsThem) {
  Start({Sample("attention_block_h100")});
  EXPECT_EQ(app().dock().screen(), "home");
  Click("//###home.home/**/jit_attention_block##module");
  EXPECT_EQ(session().navigation.selection(), Selection::OfModule(0));
  EXPECT_EQ(HighlightedItems("home"), "jit_attention_block");
  EXPECT_EQ(HighlightedItems("modules"), "jit_attention_block");
}

TEST_F(ViewerTest, SearchSelectsInEveryView) {
  Start({Sample(kPasses)});
  Press("Ctrl+P");
  Type("reduce_max");
  Press("Enter");
  EXPECT_TRUE(Has(SelectedName(), "reduce_max")) << SelectedName();
  EXPECT_TRUE(Has(HighlightedItems("selection"), "instruction"));
  Press("Ctrl+3");
  EXPECT_TRUE(Has(HighlightedItems("passes"), "after_optimizations")) << HighlightedItems("passes");
  Drive([](ImGuiTestContext* context) { context->WindowFocus("//###passes.text"); });
  EXPECT_TRUE(Has(HighlightedItems("text"), SelectedName() + " = ")) << HighlightedItems("text");
}

TEST_F(ViewerTest, PassesStepWithTheSelection) {
  Start({Sample(kPasses)});
  Press("Ctrl+P");
  Type("triton_softmax.2");
  Press("Enter");
  session().navigation.Select(
      Selection::OfInstruction(0, session().navigation.counterparts().final_stage,
                               session().navigation.counterparts().final_instructions.at(0)));
  Settle();
  std::string name = SelectedName();
  int32_t last = session().navigation.stage();
  Press("[");
  EXPECT_EQ(session().navigation.stage(), last - 1);
  EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kInstruction);
  Press("]");
  EXPECT_EQ(session().navigation.stage(), last);
  EXPECT_EQ(SelectedName(), name);
  Press("Shift+[");
  EXPECT_LT(session().navigation.stage(), last);
  EXPECT_TRUE(Has(HighlightedItems("passes"), "touched")) << HighlightedItems("passes");
}

TEST_F(ViewerTest, BackAndForward) {
  Start({Sample(kPasses)});
  session().navigation.Select(Selection::OfStage(0, 1));
  session().navigation.Select(Selection::OfStage(0, 2));
  Press("Alt+Left");
  EXPECT_EQ(session().navigation.selection(), Selection::OfStage(0, 1));
  Press("Alt+Right");
  EXPECT_EQ(session().navigation.selection(), Selection::OfStage(0, 2));
  Click("//##toolbar/<##back");
  EXPECT_EQ(session().navigation.selection(), Selection::OfStage(0, 1));
  session().navigation.Select({});
  EXPECT_FALSE(session().navigation.CanGoForward());
}

TEST_F(ViewerTest, TextLineSelectsItsInstruction) {
  Start({Sample(kPasses)});
  Press("Ctrl+3");
  Drive([](ImGuiTestContext* context) { context->WindowFocus("//###passes.text"); });
  Press("Ctrl+F");
  Type("ROOT");
  Press("Enter");
  Drive([](ImGuiTestContext* context) {
    context->WindowFocus("//###passes.text");
    context->KeyPress(ImGuiKey_Escape);
  });
  Drive([](ImGuiTestContext* context) { context->ItemClick("//###passes.text/**/##lines"); });
  EXPECT_EQ(app().dock().focused_view(), "text");
}

TEST_F(ViewerTest, EscapeClosesOneThing) {
  Start({Sample("attention_block_h100")});
  const Selection selected = Selection::OfStage(0, 1);
  session().navigation.Select(selected);
  session().messages.Post(Severity::kNote, "a message");
  Press("Ctrl+P");
  Press("Escape");
  EXPECT_EQ(app().popups().kind(), Popups::Kind::kNone);
  EXPECT_EQ(session().messages.all().size(), 1u);
  Press("Escape");
  EXPECT_TRUE(session().messages.all().empty());
  EXPECT_EQ(session().navigation.selection(), selected);
  // A list that dropped down.
  Click("//##toolbar/##stages");
  Press("Escape");
  EXPECT_EQ(session().navigation.selection(), selected);
  Press("Escape");
  EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kNothing);
}

TEST_F(ViewerTest, ViewChangesAreUndone) {
  Start({Sample(kPasses)});
  Press("Ctrl+2");
  EXPECT_EQ(app().dock().screen(), "graph");
  Press("Ctrl+T");
  EXPECT_FALSE(app().theme().dark());
  Press("Ctrl+Z");
  EXPECT_TRUE(app().theme().dark());
  EXPECT_EQ(app().dock().screen(), "graph");
  Press("Ctrl+Z");
  EXPECT_EQ(app().dock().screen(), "home");
  Press("Ctrl+Shift+Z");
  EXPECT_EQ(app().dock().screen(), "graph");
}

TEST_F(ViewerTest, BookmarksAndScreenComeBackWithTheSession) {
  std::string state = Scratch("state");
  Start({Sample(kPasses)}, state);
  session().navigation.Select(Selection::OfStage(0, 3));
  Press("Ctrl+B");
  Type("look here");
  Press("Enter");
  ASSERT_EQ(session().bookmarks.size(), 1u);
  EXPECT_EQ(session().bookmarks[0].note, "look here");
  Press("Ctrl+T");
  Press("Ctrl+3");
  app().Save();
  EXPECT_EQ(session().messages.all().size(), 0u);
  Stop();
  Start({Sample(kPasses)}, state);
  ASSERT_EQ(session().bookmarks.size(), 1u);
  EXPECT_EQ(session().bookmarks[0].note, "look here");
  EXPECT_EQ(session().navigation.selection(), Selection::OfStage(0, 3));
  EXPECT_FALSE(app().theme().dark());
  EXPECT_EQ(app().dock().screen(), "passes");
  ASSERT_EQ(session().recent.size(), 1u);
}

TEST_F(ViewerTest, OperandsAndUsersByKeys) {
  Start({Sample(kPasses)});
  auto module = session().document.dump()->Module(0, 0);
  ASSERT_TRUE(module);
  hlo::InstructionId root = (**module)[(*module)->entry_id()].root;
  session().navigation.Select(Selection::OfInstruction(0, 0, root));
  Settle();
  Press("Alt+Up");
  EXPECT_EQ(session().navigation.selection().instruction, (*module)->operands(root)[0]);
  Press("Alt+Down");
  EXPECT_NE(session().navigation.selection().instruction, (*module)->operands(root)[0]);
}

TEST_F(ViewerTest, PaletteRunsCommands) {
  Start({Sample(kPasses)});
  Press("Ctrl+Shift+P");
  Type("screen memory");
  Press("Enter");
  EXPECT_EQ(app().dock().screen(), "memory");
  EXPECT_EQ(app().popups().kind(), Popups::Kind::kNone);
}

// What was kept of a dump that is another one now.
TEST_F(ViewerTest, StaleSelectionsAreHarmless) {
  Start({Sample("attention_block_h100")});
  session().navigation.Select(Selection::OfModule(7));
  session().navigation.Select(Selection::OfStage(0, 99));
  session().navigation.Select(Selection::OfTextLine(9999, 1));
  EXPECT_EQ(session().navigation.selection(), Selection());
  for (const Selection& stale :
       {Selection::OfInstruction(0, 0, hlo::InstructionId(1u << 30)),
        Selection::OfComputation(0, 0, hlo::ComputationId(1u << 30)),
        Selection::OfKernel(0, 1 << 30), Selection::OfThunk(0, 1 << 30),
        Selection::OfBuffer(0, 1 << 30), Selection::OfTextLine(0, 1 << 30),
        Selection::OfSourceLine("gone.py", 12), Selection::OfEvent(1, 0)}) {
    for (const ScreenRow& screen : ScreenRows()) {
      app().dock().SetScreen(screen.id);
      session().navigation.Select(stale);
      Settle();
    }
  }
}

TEST_F(ViewerTest, KernelLightsItsCodeAndBuffer) {
  Start({Sample("attention_block_h100")});
  auto kernels = session().document.dump()->Kernels(0);
  ASSERT_TRUE(kernels);
  ASSERT_FALSE((*kernels)->kernels.empty());
  session().navigation.Select(Selection::OfKernel(0, 0));
  Settle();
  const Counterparts& found = session().navigation.counterparts();
  EXPECT_TRUE(found.HasKernel(0));
  EXPECT_FALSE(found.lines.empty());
  EXPECT_FALSE(found.thunks.empty());
  EXPECT_FALSE(found.final_instructions.empty());
  const dump::TextRange& ptx = (*kernels)->kernels[0].ptx;
  ASSERT_TRUE(ptx.found());
  session().navigation.Select(Selection::OfTextLine(ptx.file, ptx.first_line + 1));
  Settle();
  EXPECT_TRUE(session().navigation.counterparts().HasKernel(0))
      << "a line of PTX leads back to its kernel";
}

TEST_F(ViewerTest, PicturesAsVectorsHoldTheText) {
  Start({Sample(kPasses)});
  Dock::Panel* home = app().dock().Find("home");
  Result<std::string> svg = SvgOfFrame(home->x, home->y, home->width, home->height, 0x1B1F26);
  ASSERT_TRUE(svg);
  EXPECT_TRUE(svg->starts_with("<svg"));
  EXPECT_TRUE(Has(*svg, ">j</text>")) << "the j of jit_softmax";
}

TEST_F(ViewerTest, TablesAreExported) {
  Start({Sample(kPasses)});
  Press("Ctrl+3");
  Dock::Panel* passes = app().dock().Find("passes");
  Result<std::string> csv = passes->view->Export(ExportFormat::kCsv, session());
  ASSERT_TRUE(csv);
  EXPECT_TRUE(Has(*csv, "priority-fusion"));
}

class EqualRowsTest : public ReadingTest {};

TEST_F(EqualRowsTest, EqualTransfersAreOneRowThatOpensAndIsUndone) {
  Start({Sample("gpt_train_step_h100")});
  ExpectSeen("home", "48 × its buffer is in host memory (S(5)): 805 MB total");
  ExpectSeen("home", "24 × to the host, 16.8 MB once per run: 403 MB total");
  EXPECT_FALSE(FindSeen(Seen("home"), "copy-start.24.0").has_value());
  ClickOn("home", "48 × its buffer");
  ExpectSeen("home", "copy-start.24.0");
  ClickOn("home", "copy-start.24.0");
  EXPECT_EQ(SelectedName(), "copy-start.24.0");
  Press("Ctrl+Z");
  EXPECT_FALSE(FindSeen(Seen("home"), "copy-start.24.0").has_value());
}

TEST_F(EqualRowsTest, ProgramsCompiledAgainAreATableThatSelects) {
  Start({Sample("../tests/debug/recompile/torch")});
  ExpectSeen("home", "Recompilations");
  ClickOn("home", "module_0003.SyncTensorsGraph.5");
  EXPECT_EQ(session().navigation.module(), 3);
}

TEST_F(ViewerTest, ChoicesOfBuffersAndSeedsAreUndone) {
  Start({Sample("attention_block_h100")});
  Press("Ctrl+6");
  const View& buffers = *app().dock().Find("buffers")->view;
  const std::string before = buffers.Arrangement();
  Click("//###memory.buffers/all values");
  EXPECT_NE(buffers.Arrangement(), before);
  Press("Ctrl+Z");
  EXPECT_EQ(buffers.Arrangement(), before);
  Press("Ctrl+4");
  session().requests.Show("verdict");
  Settle();
  const View& verdict = *app().dock().Find("verdict")->view;
  Drive([](ImGuiTestContext* context) {
    context->ItemInputValue("//###divergence.verdict/##seed", 7);
  });
  EXPECT_EQ(verdict.State(), "7");
  Press("Ctrl+Z");
  EXPECT_EQ(verdict.State(), "");
}

TEST_F(ViewerTest, ZoomOfTheRooflineIsUndone) {
  Start({Sample("conv_net")});
  Press("Ctrl+5");
  app().dock().Focus("roofline");
  Settle();
  const View& view = *app().dock().Find("roofline")->view;
  EXPECT_EQ(view.Arrangement(), "") << "everything is shown";
  const Dock::Panel& panel = *app().dock().Find("roofline");
  Drive([&](ImGuiTestContext* context) {
    context->MouseMoveToPos(ImVec2(panel.x + panel.width / 2, panel.y + panel.height / 2));
    context->MouseWheelY(3);
  });
  EXPECT_NE(view.Arrangement(), "");
  Press("Ctrl+Z");
  EXPECT_EQ(view.Arrangement(), "");
}

}  // namespace
}  // namespace hloscope::viewer
