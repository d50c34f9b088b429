// The screen Graph and devices: every key of it, the pointer, and what is selected elsewhere.
#include <imgui.h>
#include <imgui_te_context.h>

#include <algorithm>
#include <sstream>

#include "tests/viewer/viewer_fixture.h"
#include "viewer/graph/graph_data.h"

namespace hloscope::viewer {
namespace {

constexpr const char* kSample = "attention_block_h100";

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class GraphViewTest : public ViewerTest {
 protected:
  void Show(const char* sample) {
    Start({Sample(sample)});
    ShowPictures();
    Press("Ctrl+2");
    Focus();
  }
  void Focus() {
    Drive([](ImGuiTestContext* context) { context->WindowFocus("//###graph.graph"); });
  }
  const hlo::Module& Final() { return *session().data.Module(0, session().navigation.stage()); }
  // The first fusion of the final stage's entry.
  hlo::InstructionId Fusion() {
    const hlo::Module& module = Final();
    for (uint32_t k = 0; k < module.entry().instruction_count; ++k) {
      hlo::InstructionId id(module.entry().first_instruction + k);
      if (module[id].opcode == hlo::Opcode::kFusion) return id;
    }
    return {};
  }
  void SelectFusion() {
    session().data.Module(0, session().navigation.stage());
    Settle();
    session().navigation.Select(
        Selection::OfInstruction(0, session().navigation.stage(), Fusion()));
    Settle();
    Focus();
  }
  // "12 boxes" of the line that the view says about itself.
  int Boxes() {
    const std::string highlighted = HighlightedItems("graph");
    const size_t end = highlighted.find(" boxes");
    if (end == std::string::npos) return -1;
    size_t begin = highlighted.rfind('\n', end);
    begin = begin == std::string::npos ? 0 : begin + 1;
    return std::atoi(highlighted.c_str() + begin);
  }
  std::string State() { return app().dock().Find("graph")->view->State(); }
};

TEST_F(GraphViewTest, SelectionIsHighlightedInBothGraphsAndArrowsWalk) {
  Show(kSample);
  SelectFusion();
  const std::string name = SelectedName();
  EXPECT_TRUE(Has(HighlightedItems("graph"), "fusions: " + name)) << HighlightedItems("graph");
  EXPECT_TRUE(Has(HighlightedItems("graph"), "source: ")) << HighlightedItems("graph");
  Press("Up");
  ASSERT_NE(SelectedName(), name);
  const hlo::InstructionId operand = session().navigation.selection().instruction;
  const auto operands = Final().operands(Fusion());
  EXPECT_NE(std::ranges::find(operands, operand), operands.end());
  Press("Down");
  EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kInstruction);
  const auto read = Final().operands(session().navigation.selection().instruction);
  EXPECT_NE(std::ranges::find(read, operand), read.end());
  session().navigation.Select(Selection::OfInstruction(0, session().navigation.stage(), operand));
  Settle();
  Focus();
  Press("Right");
  const bool right = session().navigation.selection().instruction != operand;
  if (!right) Press("Left");
  EXPECT_NE(session().navigation.selection().instruction, operand);
}

TEST_F(GraphViewTest, FusionsOpenInPlaceAndCloseAgain) {
  Show(kSample);
  SelectFusion();
  const int closed = Boxes();
  Press("Enter");
  EXPECT_TRUE(Has(HighlightedItems("graph"), ", 1 open")) << HighlightedItems("graph");
  EXPECT_GT(Boxes(), closed);
  Press("Enter");
  EXPECT_EQ(Boxes(), closed);
  Press("Shift+Enter");
  EXPECT_GT(Boxes(), closed + 2) << HighlightedItems("graph");
  Press("Shift+Backspace");
  EXPECT_EQ(Boxes(), closed);
  // An instruction inside a fusion is shown by the fusion until it is revealed.
  const hlo::ComputationId body = Final().CalledComputations(Final()[Fusion()])[0];
  const hlo::InstructionId inner = Final()[body].root;
  session().navigation.Select(Selection::OfInstruction(0, session().navigation.stage(), inner));
  Settle();
  EXPECT_TRUE(Has(HighlightedItems("graph"), "fusions: " + std::string(Final().name(Fusion()))))
      << HighlightedItems("graph");
  Focus();
  Press("F");
  EXPECT_TRUE(Has(HighlightedItems("graph"), "fusions: " + std::string(Final().name(inner))))
      << HighlightedItems("graph");
  Press("Backspace");
  EXPECT_EQ(Boxes(), closed);
}

TEST_F(GraphViewTest, NeighbourhoodAndPaths) {
  Show(kSample);
  SelectFusion();
  const int whole = Boxes();
  Press("N");
  EXPECT_TRUE(Has(HighlightedItems("graph"), "around")) << HighlightedItems("graph");
  const int near = Boxes();
  EXPECT_LT(near, whole);
  Press("Shift+N");
  EXPECT_GE(Boxes(), near);
  Press("N");
  EXPECT_EQ(Boxes(), whole);
  Press("P");
  session().navigation.Select(
      Selection::OfInstruction(0, session().navigation.stage(), Final().entry().root));
  Settle();
  Focus();
  Press("P");
  EXPECT_TRUE(Has(HighlightedItems("graph"), "paths")) << HighlightedItems("graph");
  EXPECT_LE(Boxes(), whole);
  Press("P");
  EXPECT_EQ(Boxes(), whole);
}

TEST_F(GraphViewTest, EveryKeyOfTheLookIsKeptInTheState) {
  Show(kSample);
  SelectFusion();
  for (const char* key : {"C", "L", "M", "1", "2"}) {
    const std::string before = State();
    Press(key);
    EXPECT_NE(State(), before) << key;
  }
  // One picture always stays.
  EXPECT_EQ(State().substr(6, 3), "001");
  Press("3");
  EXPECT_EQ(State().substr(6, 3), "001");
  Press("2");
  for (size_t k = 0; k < ColorModeRows().size(); ++k) Press("C");
  EXPECT_EQ(State()[0], '0');
  for (const char* key : {"=", "-", "0", "Home", "F"}) Press(key);
  EXPECT_GT(Boxes(), 0);
}

TEST_F(GraphViewTest, ClicksSelectAndDoubleClicksOpen) {
  Show(kSample);
  SelectFusion();
  Press("0");
  Press("F");
  // The selection stands in the middle of its picture, a little below a third of the height.
  Press("Escape");
  EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kNothing);
  const int closed = Boxes();
  auto at = [](ImGuiTestContext* context) {
    ImGuiTestItemInfo info = context->ItemInfo("//###graph.graph/**/##fusions");
    context->MouseMoveToPos(info.RectFull.GetCenter());
  };
  Drive([&](ImGuiTestContext* context) {
    at(context);
    context->MouseClick(0);
  });
  EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kInstruction);
  EXPECT_EQ(session().navigation.selection().instruction, Fusion());
  Drive([&](ImGuiTestContext* context) {
    at(context);
    context->MouseDoubleClick(0);
  });
  EXPECT_GT(Boxes(), closed);
}

TEST_F(GraphViewTest, ExportsTheGraphAsItIsOpen) {
  Show(kSample);
  SelectFusion();
  Result<std::string> svg = app().dock().Find("graph")->view->Export(ExportFormat::kSvg, session());
  ASSERT_TRUE(svg.has_value());
  EXPECT_TRUE(svg->starts_with("<svg"));
  EXPECT_EQ(svg->find("<script"), std::string::npos);
  // As the window has it: the sentences, the lanes, the colours of the theme, the ribbon.
  for (const char* part :
       {" operations → ", "Kernel: ", " you wrote → ", "What you wrote: ", ">kernels</text>",
        "fill=\"#14171c\"", "fill-opacity=\"0.2\"", "one colour per kernel"})
    EXPECT_TRUE(Has(*svg, part)) << part;
  const Result<std::string> table =
      app().dock().Find("graph")->view->Export(ExportFormat::kCsv, session());
  ASSERT_TRUE(table.has_value());
  const std::string name(Final().name(Fusion()));
  const std::string cell = '"' + name + '"';
  EXPECT_TRUE(Has(*table, cell + ",fusion,device_kernel," + cell + ",kernels,")) << *table;
}

TEST_F(GraphViewTest, AClosedLoopSaysWhichKernelItHolds) {
  Show("power_iteration");
  const hlo::Module& module = Final();
  hlo::InstructionId inside;
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    const hlo::InstructionId id(k);
    if (module[id].computation == module.entry_id() || module[id].opcode != hlo::Opcode::kFusion)
      continue;
    inside = id;
  }
  ASSERT_TRUE(inside.valid());
  session().navigation.Select(Selection::OfInstruction(0, session().navigation.stage(), inside));
  Settle();
  const Result<std::string> svg =
      app().dock().Find("graph")->view->Export(ExportFormat::kSvg, session());
  ASSERT_TRUE(svg.has_value());
  EXPECT_TRUE(Has(*svg, "holds " + std::string(module.name(inside)))) << HighlightedItems("graph");
}

TEST_F(GraphViewTest, HidingPicturesLaysOutForTheRoom) {
  Show(kSample);
  SelectFusion();
  const auto row_width = [this] {
    std::istringstream in(app().dock().Find("graph")->view->Arrangement());
    std::string line;
    std::getline(in, line);
    std::getline(in, line);
    std::istringstream words(line);
    float graph = 0, found = 0;
    words >> graph >> found;
    return found;
  };
  const float narrow = row_width();
  const std::string selected = SelectedName();
  Press("1");
  Press("3");
  const float wide = row_width();
  EXPECT_GT(wide, narrow);
  EXPECT_EQ(SelectedName(), selected);
  Press("3");
  Press("1");
  EXPECT_LT(row_width(), wide);
}

}  // namespace
}  // namespace hloscope::viewer
