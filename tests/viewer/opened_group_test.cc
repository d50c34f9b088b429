// Pictures: a group that is opened is in view, rows above the legend are whole, and what a fusion
// took in is moved, not added.
#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <filesystem>

#include "core/analysis/align/alignment.h"
#include "core/analysis/align/pass_changes.h"
#include "core/base/file.h"
#include "tests/hlo/parsed.h"
#include "tests/viewer/drawn.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/graph/graph_canvas.h"

namespace hloscope::viewer {
namespace {

using graph::Box;

Box At(float x, float y, float width, float height) {
  Box box;
  box.x = x;
  box.y = y;
  box.width = width;
  box.height = height;
  return box;
}

TEST(GraphCanvasTest, ABoxThatIsNotInViewIsFitted) {
  for (const bool fills : {true, false}) {
    GraphCanvas canvas;
    canvas.fills_width = fills;
    const Box far = At(3000, 2000, 500, 300);
    EXPECT_FALSE(canvas.ShowsAll(far));
    canvas.FitBox(far);
    EXPECT_TRUE(canvas.ShowsAll(far));
    EXPECT_LE(canvas.zoom, 1) << "no larger than it was";
    // What is in view stays where it is.
    const float x = canvas.x, y = canvas.y, zoom = canvas.zoom;
    canvas.FitBox(At(3100, 2100, 50, 30));
    EXPECT_EQ(canvas.x, x);
    EXPECT_EQ(canvas.y, y);
    EXPECT_EQ(canvas.zoom, zoom);
  }
  // Of one that could not be read as a whole the top.
  GraphCanvas canvas;
  canvas.fills_width = true;
  canvas.FitBox(At(0, 5000, 300, 9000));
  EXPECT_TRUE(canvas.ShowsAll(At(0, 5000, 300, 100)));
}

// What is selected at the end of a picture leaves no room empty below it.
TEST(GraphCanvasTest, ABoxIsBroughtWithoutLeavingThePicture) {
  GraphCanvas canvas;
  canvas.fills_width = true;
  graph::Picture picture;
  picture.width = canvas.width();
  picture.height = 5000;
  canvas.x = picture.width / 2;
  canvas.Bring(At(100, 4970, 100, 22), picture);
  EXPECT_TRUE(canvas.ShowsAll(At(100, 4970, 100, 22)));
  EXPECT_LE(canvas.y + canvas.height() / 2 / canvas.zoom, picture.height + 30);
  canvas.Bring(At(100, 2000, 100, 22), picture);
  EXPECT_NEAR(canvas.y, 2011, 1) << "in the middle elsewhere";
  // One that is lower than the canvas keeps its top.
  picture.height = 300;
  canvas.Bring(At(100, 270, 100, 22), picture);
  EXPECT_TRUE(canvas.ShowsAll(At(100, 0, 100, 300)));
}

class OpenedGroupTest : public ReadingTest {};

TEST_F(OpenedGroupTest, TheLegendCutsNoRow) {
  for (const auto& [width, height] : {std::pair(1600, 1000), std::pair(1280, 903)}) {
    Stop();
    surface_.width = width;
    surface_.height = height;
    Start({Sample("gpt_train_step"), Sample("gpt_train_step/gpt_train_step.xplane.pb.gz")});
    Press("Ctrl+2");
    int rows = 0;
    for (const DrawnText& text : DrawnTexts()) {
      const bool is_seen = text.seen.bottom > text.seen.top && text.seen.right > text.seen.left;
      if (text.window.find("rows") == std::string::npos || !is_seen) continue;
      ++rows;
      EXPECT_LE(text.box.bottom, text.seen.bottom + 1) << text.text;
    }
    EXPECT_GT(rows, 20);
  }
}

// The mark of each operation of the shown kernel is in its row, however far down.
TEST_F(OpenedGroupTest, MarksOfAKernelAreInTheirRows) {
  for (const int height : {1000, 987, 950, 903}) {
    SCOPED_TRACE(height);
    Stop();
    surface_.width = 1600;
    surface_.height = height;
    Start({Sample("attention_block_h100")});
    Press("Ctrl+2");
    float left = 1e9F;
    for (const DrawnArea& area : DrawnAreas()) {
      if (area.window.find("rows") != std::string::npos) left = std::min(left, area.seen.left);
    }
    int marks = 0;
    for (const DrawnArea& area : DrawnAreas()) {
      const float width = area.seen.right - area.seen.left;
      if (area.window.find("rows") == std::string::npos || area.seen.left != left || width > 5)
        continue;
      ++marks;
      float nearest = 1e9F;
      for (const DrawnText& text : DrawnTexts()) {
        if (text.window != area.window || text.seen.bottom <= text.seen.top) continue;
        nearest = std::min(nearest, std::abs((text.box.top + text.box.bottom) / 2 -
                                             (area.seen.top + area.seen.bottom) / 2));
      }
      EXPECT_LE(nearest, 1.5F) << area.seen.top;
    }
    EXPECT_GT(marks, 0);
  }
}

// In a narrow window the tools are one row: what has no room is behind a button.
TEST_F(OpenedGroupTest, ANarrowBarHasTheRestOfItsToolsBehindAButton) {
  Stop();
  surface_.width = 1024;
  surface_.height = 700;
  Start({Sample("conv_net")});
  Press("Ctrl+2");
  const View& graph = *app().dock().Find("graph")->view;
  EXPECT_FALSE(FindSeen(Seen("graph"), "Minimap").has_value());
  const std::string before = graph.State();
  ClickOn("graph", "More");
  ExpectSeen("window", "Minimap");
  ClickOn("window", "Minimap");
  EXPECT_NE(graph.State(), before);
  Click("**/Neighbours");
  Press("Escape");
  EXPECT_NE(HighlightedItems("graph").find(", around"), std::string::npos);
  ClickOn("graph", "Whole graph");
  EXPECT_EQ(HighlightedItems("graph").find(", around"), std::string::npos);
}

// The side of the graphs gives them its room in a narrow window; one click brings a panel back, one
// folds it again.
TEST_F(OpenedGroupTest, TheSideIsFoldedInANarrowWindow) {
  Stop();
  surface_.width = 1024;
  surface_.height = 700;
  Start({Sample("conv_net")});
  const auto panel = [&](const char* id) -> const Dock::Panel& { return *app().dock().Find(id); };
  Press("Ctrl+2");
  EXPECT_EQ(panel("selection").width, 0);
  EXPECT_EQ(panel("notes").width, 0);
  const float whole = panel("graph").width;
  EXPECT_GT(whole, 1000);
  ClickOn("window", "Notes");
  EXPECT_GT(panel("notes").width, 0);
  EXPECT_LT(panel("graph").width, whole);
  Click("//##side/>##side");
  EXPECT_EQ(panel("notes").width, 0);
  EXPECT_EQ(panel("graph").width, whole);
  EXPECT_EQ(app().dock().focused_view(), "graph");
  ClickOn("window", "Selection");
  EXPECT_GT(panel("selection").width, 0);
  EXPECT_EQ(app().dock().focused_view(), "selection");
  // It stays while something else is selected.
  session().navigation.Select(Selection::OfModule(0));
  Press("Ctrl+3");
  EXPECT_GT(panel("selection").width, 0) << "other screens keep theirs";
  EXPECT_EQ(ImGui::FindWindowByName("##side")->Active, false);
  Press("Ctrl+2");
  EXPECT_GT(panel("selection").width, 0);
  Stop();
  surface_.width = 1600;
  surface_.height = 1000;
  Start({Sample("conv_net")});
  Press("Ctrl+2");
  EXPECT_GT(panel("selection").width, 0);
  EXPECT_EQ(ImGui::FindWindowByName("##side"), nullptr);
}

// The keys reach what is folded, and fold it again when they go on.
TEST_F(OpenedGroupTest, KeysBringBackWhatIsFolded) {
  Stop();
  surface_.width = 1024;
  surface_.height = 700;
  Start({Sample("conv_net")});
  Press("Ctrl+2");
  for (int k = 0; k < 10 && app().dock().focused_view() != "selection"; ++k) Press("Ctrl+Tab");
  EXPECT_EQ(app().dock().focused_view(), "selection");
  EXPECT_GT(app().dock().Find("selection")->width, 0);
  for (int k = 0; k < 10 && app().dock().focused_view() != "graph"; ++k) Press("Ctrl+Tab");
  EXPECT_EQ(app().dock().focused_view(), "graph");
  EXPECT_EQ(app().dock().Find("selection")->width, 0);
  // What was asked for stays; the keys passed by the tab behind it last.
  ClickOn("window", "Selection");
  for (int k = 0; k < 10 && app().dock().focused_view() != "graph"; ++k) Press("Ctrl+Tab");
  EXPECT_GT(app().dock().Find("notes")->width, 0);
}

// What had the keys in a wide window is folded in a narrow one, and the graphs have them then.
TEST_F(OpenedGroupTest, KeysLeaveWhatIsFolded) {
  Start({Sample("conv_net")});
  Press("Ctrl+2");
  session().requests.Show("selection");
  Settle();
  ASSERT_EQ(app().dock().focused_view(), "selection");
  app().surface().Resize(1024, 700);
  Settle();
  EXPECT_EQ(app().dock().Find("selection")->width, 0);
  EXPECT_EQ(app().dock().focused_view(), "graph");
  const std::string before = HighlightedItems("graph");
  Press("Down");
  EXPECT_NE(HighlightedItems("graph"), before);
}

// The legend has the colours that are there: none is reused for one kernel.
TEST_F(OpenedGroupTest, TheLegendHasTheColoursOfThePicture) {
  Start({Sample("softmax_passes_a100")});
  Press("Ctrl+2");
  ExpectSeen("graph", "one colour per kernel");
  EXPECT_FALSE(FindSeen(Seen("graph"), "reused").has_value());
  app().Open({Sample("conv_net")});
  Settle();
  app().Run(Command::kHeatOff);
  Settle();
  ExpectSeen("graph", "one colour per kernel (5 colours, reused)");
}

// Modules are above the selection, so that the pictures are as wide as with one module.
TEST_F(OpenedGroupTest, ModulesTakeNoWidthFromThePictures) {
  const std::string folder = Scratch("two");
  std::filesystem::create_directories(folder);
  for (const std::string name : {"1.jit_f", "2.jit_g"})
    ASSERT_TRUE(WriteFileAtomically(folder + "/module_000" + name + ".before_optimizations.txt",
                                    "HloModule m\nENTRY e {\n  ROOT x = f32[4] parameter(0)\n}\n"));
  Start({folder});
  app().SelectWhenOpen("jit_f:x");
  Press("Ctrl+2");
  const Dock::Panel& modules = *app().dock().Find("modules");
  const Dock::Panel& selection = *app().dock().Find("selection");
  const Dock::Panel& graph = *app().dock().Find("graph");
  EXPECT_GT(modules.width, 0);
  EXPECT_EQ(modules.x, selection.x);
  EXPECT_LT(modules.y + modules.height, selection.y);
  EXPECT_EQ(graph.x, 0);
  EXPECT_GE(graph.width, 0.8F * 1600);
}

constexpr const char* kBefore = R"(HloModule m
ENTRY e {
  x = f32[8] parameter(0)
  a = f32[8] negate(x)
  b = f32[8] multiply(a, x)
  ROOT c = f32[8] exponential(b)
}
)";
constexpr const char* kAfter = R"(HloModule m
fused_computation {
  p = f32[8] parameter(0)
  a.1 = f32[8] negate(p)
  b.1 = f32[8] multiply(a.1, p)
  ROOT c.1 = f32[8] exponential(b.1)
}
ENTRY e {
  x = f32[8] parameter(0)
  ROOT fusion = f32[8] fusion(x), kind=kLoop, calls=fused_computation
}
)";

TEST(FusionChangesTest, WhatAFusionTookInIsMoved) {
  const auto before = hlo::Parsed(kBefore), after = hlo::Parsed(kAfter);
  const analysis::PassChanges changes =
      analysis::FindChanges(*before, *after, analysis::Align(*before, *after));
  EXPECT_EQ(changes.counts.moved, 3);
  EXPECT_EQ(changes.counts.added, 2) << "the fusion and its parameter";
}

TEST_F(OpenedGroupTest, BeforeAndAfterCallsItMoved) {
  const std::string folder = Scratch("fused");
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(WriteFileAtomically(folder + "/module_0001.jit_f.before_optimizations.txt", kBefore));
  ASSERT_TRUE(WriteFileAtomically(
      folder + "/module_0001.jit_f.0001.pipeline.after_fusion.before_end.txt", kAfter));
  Start({folder});
  Press("Ctrl+3");
  session().requests.Show("before-after");
  Settle();
  ExpectSeen("before-after", "> 3 moved");
  ExpectSeen("before-after", "+ 2 added");
}

}  // namespace
}  // namespace hloscope::viewer
