// Pictures: a group that is opened is in view, rows above the legend are whole, and what a fusion
// took in is moved, not added.
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
