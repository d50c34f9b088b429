// Layouts for the width of a pane; overviews.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/graph/overview.h"
#include "core/graph/picture.h"
#include "core/graph/widening.h"
#include "core/hlo/text/text.h"

namespace hloscope::graph {
namespace {

std::shared_ptr<const hlo::Module> Read(const std::string& text) {
  hlo::ParseResult result = hlo::ParseText(text);
  EXPECT_TRUE(result.ok()) << (result.diagnostics.empty() ? "" : result.diagnostics[0].message);
  return result.module;
}

TEST(Layout, RowsOfAPaneHaveAsManyBoxesAsThereIsRoomFor) {
  for (const auto& [width, boxes] : {std::pair(300.0f, 2u), std::pair(430.0f, 3u)}) {
    const LayoutOptions options = ForPane(width);
    std::vector<FlatNode> nodes(40, FlatNode{122, options.line_height});
    const FlatLayout layout = Place(Arrange(nodes, {}, options), nodes, {}, {}, options);
    EXPECT_LE(layout.width, width);
    EXPECT_EQ(std::ranges::count(layout.center, layout.center[0].y, &Point::y), boxes);
  }
}

// As far apart as the height asks for, from the gap of many rows up to the largest one.
TEST(Layout, FewRowsAreSpreadOverTheHeight) {
  LayoutOptions options = ForPane(400);
  const std::vector<FlatNode> nodes(5, FlatNode{100, options.line_height});
  std::vector<FlatEdge> edges;
  for (uint32_t k = 1; k < nodes.size(); ++k) edges.push_back({.from = k - 1, .to = k});
  const Arrangement chain = Arrange(nodes, edges, options);
  const auto height = [&](float least) {
    options.least_height = least;
    return Place(chain, nodes, edges, {}, options).height;
  };
  const float boxes = 5 * options.line_height;
  EXPECT_EQ(height(0), boxes + 4 * options.row_gap);
  EXPECT_EQ(height(250), 250);
  EXPECT_EQ(height(5000), boxes + 4 * options.most_row_gap);
  // Pictures that are not of a pane are as they were.
  options.most_row_gap = 0;
  EXPECT_EQ(height(5000), boxes + 4 * options.row_gap);
}

// Into the free room of their row: not over the border, a neighbour, or an edge that passes.
TEST(Layout, BoxesGrowAsTheirTextsNeed) {
  FlatLayout layout;
  layout.width = 300;
  layout.height = 80;
  layout.center = {{50, 10}, {200, 10}, {120, 60}};
  layout.points = {{150, 0}, {150, 40}, {90, 60}};
  layout.first_point = {0};
  layout.point_count = {3};
  const std::vector<FlatNode> nodes(3, FlatNode{40, 22});
  const std::vector<float> wanted = {200, 60, 500};
  const std::vector<Extent> grown = Widened(layout, nodes, wanted, 8);
  ASSERT_EQ(grown.size(), 3u);
  EXPECT_EQ(grown[0].left, 0);
  EXPECT_EQ(grown[0].right, 142);  // beside the edge
  EXPECT_EQ(grown[1].left, 170);   // as much as it needs, on both sides
  EXPECT_EQ(grown[1].right, 230);
  EXPECT_EQ(grown[2].left, 0);
  EXPECT_EQ(grown[2].right, 300);
  // What nobody wants wider stays, and an edge is not covered.
  const std::vector<Extent> few = Widened(layout, nodes, std::span(wanted).first(0), 8);
  EXPECT_EQ(few[0].right, 70);
  const std::vector<float> much = {40, 400, 40};
  EXPECT_EQ(Widened(layout, nodes, much, 8)[1].left, 158);
}

// Many readers of one value.
std::string Fan(int count) {
  std::string text = "HloModule m\nENTRY main {\n  x0 = f32[8] parameter(0)\n";
  for (int k = 1; k <= count; ++k) text += "  x" + std::to_string(k) + " = f32[8] negate(x0)\n";
  return text + "  ROOT r = f32[8] negate(x0)\n}\n";
}

TEST(Picture, AnotherWidthKeepsWhatIsThere) {
  auto module = Read(Fan(50));
  FoldableGraph graph(Tree(module, module->entry_id()), ForPane(300));
  const Picture narrow = graph.picture();
  const uint64_t version = graph.version();
  graph.SetPaneWidth(310);
  graph.picture();
  EXPECT_EQ(graph.version(), version);
  graph.SetPaneWidth(600);
  const Picture& wide = graph.picture();
  EXPECT_GT(graph.version(), version);
  ASSERT_EQ(wide.boxes.size(), narrow.boxes.size());
  for (size_t k = 0; k < wide.boxes.size(); ++k)
    EXPECT_EQ(wide.boxes[k].node, narrow.boxes[k].node);
  EXPECT_EQ(wide.wires.size(), narrow.wires.size());
  EXPECT_GT(wide.width / wide.height, narrow.width / narrow.height);
}

TEST(Overview, OfKernelsWithEquallyManyOperationsTheLargestTells) {
  auto module = Read(R"(HloModule m, is_scheduled=true
small { a = f32[8] parameter(0)
  ROOT s = f32[8] negate(a) }
large { b = f32[4096] parameter(0)
  ROOT l = f32[4096] negate(b) }
ENTRY main {
  p = f32[8] parameter(0)
  q = f32[4096] parameter(1)
  c = f32[4096] copy(q)
  f = f32[8] fusion(p), kind=kLoop, calls=small
  g = f32[4096] fusion(c), kind=kLoop, calls=large
  ROOT t = (f32[8], f32[4096]) tuple(f, g)
}
)");
  const Overview overview =
      MakeOverview(*module, *module, analysis::FindPlacement(*module, analysis::Target::kGpu));
  ASSERT_TRUE(overview.telling.valid());
  EXPECT_EQ(module->name(overview.telling), "g");
  EXPECT_EQ(overview.telling_operations, 1);
}

TEST(Labels, WhatFitsOnANarrowBoxStillTells) {
  auto module = Read(
      "HloModule m\nENTRY main {\n  ROOT loop_add_of_everything.1234 = f32[4] iota(), "
      "iota_dimension=0\n}\n");
  const Tree tree(module, module->entry_id());
  const NodeId node = tree.Find(module->entry().root);
  const NodeText text = TextOf(tree, node);
  EXPECT_EQ(TitleWithin(tree, node, text, 40), "loop_add_of_everything.1234");
  EXPECT_TRUE(TitleWithin(tree, node, text, 14).ends_with("1234"));
  EXPECT_EQ(TitleWithin(tree, node, text, 5), "iota");
  EXPECT_EQ(TitleWithin(tree, node, text, 4), "iota");
  EXPECT_EQ(TitleWithin(tree, node, text, 3), "");
}

}  // namespace
}  // namespace hloscope::graph
