// The three pictures and their sentence: what is fitted, marked, said and hidden.
#include <imgui.h>
#include <imgui_te_context.h>

#include "tests/viewer/reading_fixture.h"
#include "viewer/model/bookmark.h"

namespace hloscope::viewer {
namespace {

class PicturesTest : public ReadingTest {
 protected:
  void Show(const char* sample) {
    Start({Sample(sample)});
    Press("Ctrl+2");
    Settle();
  }
  std::string State() { return app().dock().Find("graph")->view->State(); }
  float Width(std::string_view view) { return app().dock().Find(view)->width; }
};

TEST_F(PicturesTest, OpenWithTheSentenceAndTheMostTellingKernel) {
  Show("attention_block_h100");
  ExpectSeen("graph", "What you wrote: before_optimizations");
  ExpectSeen("graph", "What XLA fused: ");
  ExpectSeen("graph", "Where it runs: ");
  ExpectSeen("graph", "operations → ");
  ExpectSeen("graph", "nothing on the host");
  ExpectSeen("graph", "Shown: " + SelectedName());
  // Undoing what the program chose is no step of the user's.
  EXPECT_FALSE(SelectedName().empty());
  ExpectSeen("graph", "device kernel");  // of the legend of outlines
  ExpectSeen("graph", "boxes without code");
}

TEST_F(PicturesTest, WhatIsSelectedIsNotTakenAway) {
  Start({});
  app().SelectWhenOpen("jit_attention_block:gemm_fusion_dot.5");
  app().Open({Sample("attention_block_h100")});
  Settle();
  Press("Ctrl+2");
  Settle();
  EXPECT_EQ(SelectedName(), "gemm_fusion_dot.5");
}

TEST_F(PicturesTest, TheCaptionGoesAndStaysAway) {
  Show("attention_block_h100");
  ExpectSeen("graph", "One colour is one kernel");
  ClickOn("graph", "Hide");
  EXPECT_EQ(State().back(), '0');
  EXPECT_FALSE(FindSeen(Seen("graph"), "One colour is one kernel").has_value());
}

TEST_F(PicturesTest, HitsOfASearchAreCounted) {
  Show("attention_block_h100");
  Drive([](ImGuiTestContext* context) { context->WindowFocus("//###graph.graph"); });
  Press("Ctrl+F");
  Type("gemm_fusion_dot");
  EXPECT_NE(Lit("graph").find("found 6"), std::string::npos) << Lit("graph");
  ExpectSeen("graph", "6 found");
}

TEST_F(PicturesTest, KeysZoomAndMoveAtThePointer) {
  Show("attention_block_h100");
  Drive([](ImGuiTestContext* context) {
    context->WindowFocus("//###graph.graph");
    context->MouseMoveToPos(ImVec2(700, 600));
  });
  const auto zoom = [this] {
    return std::atof(Lit("graph").substr(Lit("graph").find("zoom ") + 5).c_str());
  };
  const double before = zoom();
  Press("W");
  EXPECT_GT(zoom(), before * 1.2);
  Press("S");
  EXPECT_NEAR(zoom(), before, 0.01);
}

TEST_F(PicturesTest, AnEmptySideGivesItsRoomAway) {
  Start({Sample("attention_block_h100")});
  EXPECT_EQ(Width("selection"), 0);
  EXPECT_EQ(Width("notes"), 0);
  const float wide = Width("home");
  Press("Ctrl+P");
  Type("gemm_fusion_dot.5");
  Press("Enter");
  EXPECT_GT(Width("selection"), 100);
  EXPECT_LT(Width("home"), wide);
  // Notes are there as soon as there is one.
  session().navigation.Select({});
  session().bookmarks.push_back({.title = "kept", .note = "", .selection = {}});
  Settle();
  EXPECT_LT(Width("home"), wide);
}

}  // namespace
}  // namespace hloscope::viewer
