// The three pictures and their sentence: what is fitted, marked, said and hidden.
#include <imgui.h>
#include <imgui_te_context.h>

#include <algorithm>
#include <unordered_set>

#include "core/dump/dump_model.h"
#include "core/graph/overview.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/model/bookmark.h"
#include "viewer/views/graph_data.h"

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
  ExpectSeen("graph", "What was fused: ");
  ExpectSeen("graph", "Where it runs: ");
  ExpectSeen("graph", "operations → ");
  ExpectSeen("graph", "nothing on the host");
  ExpectSeen("graph", "Shown: " + SelectedName());
  // Undoing what the program chose is no step of the user's.
  EXPECT_FALSE(SelectedName().empty());
  ExpectSeen("graph", "device kernel");  // of the legend of outlines
  ExpectSeen("graph", "boxes without code");
}

TEST_F(PicturesTest, TheGraphDoesNotWaitForItsSentence) {
  Start({});
  Press("Ctrl+2");
  app().Open({Sample("attention_block_h100")});
  ASSERT_TRUE(DrawUntil([this] { return !Lit("graph").empty(); }));
  // What is suggested is known with the sentence, which is counted after the graph is there.
  EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kNothing);
  Settle();
  ExpectSeen("graph", "operations → ");
  EXPECT_FALSE(SelectedName().empty());
}

TEST_F(PicturesTest, AGraphComesWithItsKernels) {
  auto dump = dump::DumpModel::Open(Sample("attention_block_h100"), Limits{});
  ASSERT_TRUE(dump) << dump.error().ToString();
  auto module = (*dump)->Module(0, (*dump)->FinalStage(0));
  ASSERT_TRUE(module) << module.error().ToString();
  const auto place = [&] { return debug::PlacementIn(**dump, 0, **module); };
  auto data = MakeGraphData(*module, GraphPart(), place);
  auto again = MakeGraphData(*module, GraphPart(), place);
  ASSERT_TRUE(data && again);
  const graph::KernelMap map = graph::MapKernels(**module, place());
  EXPECT_EQ((*data)->kernels->map.kernel_of, map.kernel_of);
  EXPECT_EQ((*data)->kernels->lanes, graph::MakeOverview(**module, **module, place()).lanes);
  EXPECT_EQ((*data)->kernels->members.Of(0).size(),
            static_cast<size_t>(std::ranges::count(map.kernel_of, 0u)));
  // The same picture every time, whichever thread is first.
  const graph::Picture &a = (*data)->graph.picture(), &b = (*again)->graph.picture();
  EXPECT_EQ(a.points, b.points);
  EXPECT_TRUE(std::ranges::equal(a.boxes, b.boxes, [](const graph::Box& x, const graph::Box& y) {
    return x.node == y.node && x.x == y.x && x.y == y.y && x.width == y.width;
  }));
}

TEST_F(PicturesTest, ManyAreFoundAsOneByOne) {
  auto dump = dump::DumpModel::Open(Sample("attention_block_h100"), Limits{});
  ASSERT_TRUE(dump) << dump.error().ToString();
  auto module = (*dump)->Module(0, (*dump)->FinalStage(0));
  ASSERT_TRUE(module) << module.error().ToString();
  auto data =
      MakeGraphData(*module, GraphPart(), [&] { return debug::PlacementIn(**dump, 0, **module); });
  ASSERT_TRUE(data) << data.error().ToString();
  TaskControl control;
  for (const char* text : {"", "FUSION", "gemm", "p"}) {
    auto hits = FindHits(**module, text, control);
    ASSERT_TRUE(hits);
    EXPECT_FALSE((*hits)->instructions.empty()) << text;
    // Closed, then with every third box opened.
    for (int round = 0; round < 2; ++round) {
      std::unordered_set<uint32_t> one_by_one, all;
      for (hlo::InstructionId id : (*hits)->instructions) {
        if (auto node = (*data)->NodeOf(id, false); node.valid()) one_by_one.insert(node.index);
      }
      (*data)->AddNodesOf((*hits)->instructions, all);
      EXPECT_EQ(all, one_by_one) << text;
      const std::vector<graph::Box> boxes = (*data)->graph.picture().boxes;
      for (size_t k = 0; k < boxes.size(); k += 3) (*data)->graph.Open(boxes[k].node);
    }
  }
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
