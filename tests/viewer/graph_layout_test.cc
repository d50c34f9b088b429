// Layouts that use the proportions of their pane: columns, stable boxes, edges that go on.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/graph/overview.h"
#include "core/graph/picture.h"
#include "core/hlo/text/text.h"

namespace hloscope::graph {
namespace {

std::shared_ptr<const hlo::Module> Read(const std::string& text) {
  hlo::ParseResult result = hlo::ParseText(text);
  EXPECT_TRUE(result.ok()) << (result.diagnostics.empty() ? "" : result.diagnostics[0].message);
  return result.module;
}

// A chain with an edge past every second node.
struct Chain {
  std::vector<FlatNode> nodes;
  std::vector<FlatEdge> edges;
};
Chain MakeChain(uint32_t count) {
  Chain chain;
  chain.nodes.assign(count, FlatNode{160, 44});
  for (uint32_t k = 1; k < count; ++k) chain.edges.push_back({k - 1, k});
  for (uint32_t k = 2; k < count; k += 2) chain.edges.push_back({k - 2, k});
  return chain;
}

float FittedZoom(const FlatLayout& layout, float width, float height) {
  return std::min(width / layout.width, height / layout.height);
}

TEST(Columns, AHighPictureUsesTheWidthOfItsPane) {
  const Chain chain = MakeChain(60);
  const LayoutOptions options = ForPane(0.8f);
  const FlatLayout one =
      Place(Arrange(chain.nodes, chain.edges, options), chain.nodes, chain.edges, {}, options);
  const Arrangement arrangement = ArrangeForPane(chain.nodes, chain.edges, options);
  ASSERT_GT(arrangement.column_first.size(), 1u);
  const FlatLayout several = Place(arrangement, chain.nodes, chain.edges, {}, options);
  EXPECT_GT(FittedZoom(several, 530, 660), 2 * FittedZoom(one, 530, 660));
  for (uint32_t v = 0; v < chain.nodes.size(); ++v) {
    for (uint32_t u = 0; u < v; ++u) {
      const Point a = several.center[u], b = several.center[v];
      EXPECT_TRUE(std::abs(a.x - b.x) >= 160 || std::abs(a.y - b.y) >= 44) << u << " " << v;
    }
  }
  // A small picture, and one on paper, stand as they are.
  EXPECT_TRUE(ArrangeForPane(chain.nodes, chain.edges, LayoutOptions()).column_first.empty());
  const Chain small = MakeChain(6);
  EXPECT_TRUE(ArrangeForPane(small.nodes, small.edges, options).column_first.empty());
}

TEST(Columns, EdgesGoOnInTheNextColumnInsideThePicture) {
  const Chain chain = MakeChain(60);
  const LayoutOptions options = ForPane(0.8f);
  const Arrangement arrangement = ArrangeForPane(chain.nodes, chain.edges, options);
  const FlatLayout layout = Place(arrangement, chain.nodes, chain.edges, {}, options);
  for (size_t e = 0; e < chain.edges.size(); ++e) {
    ASSERT_GE(layout.point_count[e], 2u);
    const Point first = layout.points[layout.first_point[e]];
    const Point last = layout.points[layout.first_point[e] + layout.point_count[e] - 1];
    const Point from = layout.center[chain.edges[e].from], to = layout.center[chain.edges[e].to];
    EXPECT_FLOAT_EQ(first.x, from.x);
    EXPECT_FLOAT_EQ(first.y, from.y + 22);
    EXPECT_FLOAT_EQ(last.x, to.x);
    EXPECT_FLOAT_EQ(last.y, to.y - 22);
    for (uint32_t k = 0; k < layout.point_count[e]; ++k) {
      const Point p = layout.points[layout.first_point[e] + k];
      EXPECT_TRUE(p.x >= 0 && p.x <= layout.width && p.y >= 0 && p.y <= layout.height)
          << p.x << " " << p.y;
    }
  }
}

std::string LongChain(int count) {
  std::string text = "HloModule m\nENTRY main {\n  x0 = f32[8] parameter(0)\n";
  for (int k = 1; k <= count; ++k)
    text += "  x" + std::to_string(k) + " = f32[8] negate(x" + std::to_string(k - 1) + ")\n";
  return text + "  ROOT r = f32[8] negate(x" + std::to_string(count) + ")\n}\n";
}

TEST(Picture, AnotherProportionKeepsWhatIsThere) {
  auto module = Read(LongChain(50));
  FoldableGraph graph(Tree(module, module->entry_id()), ForPane(0.5f));
  const Picture narrow = graph.picture();
  const uint64_t version = graph.version();
  graph.SetProportion(0.5f);
  graph.picture();
  EXPECT_EQ(graph.version(), version);
  graph.SetProportion(2);
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
