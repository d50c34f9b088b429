// Layout, groups and pictures of graphs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>

#include "core/graph/picture.h"
#include "core/graph/svg.h"
#include "core/graph/unfolding.h"
#include "core/hlo/text/text.h"

namespace hloscope::graph {
namespace {

struct Flat {
  std::vector<FlatNode> nodes;
  std::vector<FlatEdge> edges;
};

Flat RandomGraph(uint32_t nodes, uint32_t edges, bool cycles) {
  std::mt19937 random(7);
  Flat flat;
  for (uint32_t k = 0; k < nodes; ++k)
    flat.nodes.push_back({40.0f + static_cast<float>(random() % 100), 40});
  for (uint32_t e = 0; e < edges; ++e) {
    auto to = static_cast<uint32_t>(random() % nodes),
         from = static_cast<uint32_t>(random() % nodes);
    if (!cycles && from > to) std::swap(from, to);
    flat.edges.push_back({from, to});
  }
  return flat;
}

TEST(Layout, RowsLeadDownAndNothingOverlaps) {
  for (bool cycles : {false, true}) {
    const Flat flat = RandomGraph(300, 420, cycles);
    const LayoutOptions options;
    const Arrangement a = Arrange(flat.nodes, flat.edges, options);
    const FlatLayout layout = Place(a, flat.nodes, flat.edges, {}, options);
    for (size_t e = 0; e < flat.edges.size(); ++e) {
      if (flat.edges[e].from == flat.edges[e].to) continue;
      const bool down = a.row[flat.edges[e].from] < a.row[flat.edges[e].to];
      EXPECT_EQ(down, !a.reversed[e]) << e;
      EXPECT_EQ(layout.point_count[e] > 0, !a.jump[e]) << e;
      if (!cycles) {
        EXPECT_FALSE(a.reversed[e]) << e;
      }
    }
    std::map<uint32_t, std::vector<uint32_t>> rows;
    for (uint32_t v = 0; v < flat.nodes.size(); ++v) rows[a.row[v]].push_back(v);
    for (auto& [row, items] : rows) {
      std::ranges::sort(items, {}, [&](uint32_t v) { return layout.center[v].x; });
      for (size_t k = 1; k < items.size(); ++k) {
        const uint32_t left = items[k - 1], right = items[k];
        EXPECT_GE(layout.center[right].x - flat.nodes[right].width / 2,
                  layout.center[left].x + flat.nodes[left].width / 2 + options.node_gap - 0.1f);
      }
    }
  }
}

TEST(Layout, FindsTheFewestCrossingsOfSmallGraphs) {
  // Two chains that a bad order would cross, and a graph that cannot be drawn without one crossing.
  const std::vector<FlatNode> nodes(6, {50, 40});
  const std::vector<FlatEdge> ladder = {{0, 3}, {1, 2}, {2, 4}, {3, 5}};
  EXPECT_EQ(Arrange(nodes, ladder, {}).crossings, 0);
  const std::vector<FlatEdge> crossed = {{0, 2}, {0, 3}, {1, 2}, {1, 3}};
  EXPECT_EQ(Arrange(std::span(nodes).first(4), crossed, {}).crossings, 1);
}

TEST(Layout, LongEdgesBecomeJumpsInLargeGraphsOnly) {
  std::vector<FlatNode> nodes(400, {50, 40});
  std::vector<FlatEdge> edges;
  for (uint32_t k = 0; k + 1 < nodes.size(); ++k) edges.push_back({k, k + 1});
  edges.push_back({0, 399});
  EXPECT_FALSE(Arrange(nodes, edges, {}).jump.back());
  for (uint32_t k = 0; k < 100; ++k) edges.push_back({k, 399 - k});
  const Arrangement a = Arrange(nodes, edges, {});
  EXPECT_TRUE(a.jump[399]);
  EXPECT_FALSE(a.jump[0]);
}

std::shared_ptr<const hlo::Module> Parse(const std::string& text) {
  hlo::ParseResult result = hlo::ParseText(text);
  EXPECT_TRUE(result.ok()) << (result.diagnostics.empty() ? "" : result.diagnostics[0].message);
  return result.module;
}

std::string Layers(int count, bool metadata) {
  std::string text =
      "HloModule layers\n"
      "fused { p = f32[8,8] parameter(0)\n  q = f32[8,8] negate(p)\n  ROOT r = f32[8,8] "
      "exponential(q) }\n"
      "ENTRY main {\n  x0 = f32[8,8] parameter(0)\n";
  for (int k = 0; k < count; ++k) {
    auto meta = [&](std::string_view op) {
      return metadata ? fmt::format(", metadata={{op_name=\"jit(f)/layer_{}/{}\"}}", k, op)
                      : std::string();
    };
    text += fmt::format("  w{0} = f32[] constant({0})\n", k);
    text += fmt::format("  b{0} = f32[8,8] broadcast(w{0}), dimensions={{}}{1}\n", k,
                        meta("broadcast"));
    text += fmt::format(
        "  m{0} = f32[8,8] dot(x{0}, b{0}), lhs_contracting_dims={{1}}, "
        "rhs_contracting_dims={{0}}{1}\n",
        k, meta("dot"));
    text += fmt::format("  a{0} = f32[8,8] add(m{0}, b{0}){1}\n", k, meta("add"));
    text +=
        fmt::format("  g{0} = f32[8,8] fusion(a{0}), kind=kLoop, calls=fused{1}\n", k, meta("exp"));
    text += fmt::format("  x{1} = f32[8,8] multiply(g{0}, x{0}){2}\n", k, k + 1, meta("mul"));
  }
  return text + "  ROOT out = f32[8,8] negate(x" + std::to_string(count) + ")\n}\n";
}

// Every leaf below the root, in order of the instructions.
std::multiset<uint32_t> Leaves(const Tree& tree) {
  std::multiset<uint32_t> leaves;
  std::vector<NodeId> open(1, tree.root());
  while (!open.empty()) {
    NodeId id = open.back();
    open.pop_back();
    if (tree[id].kind == NodeKind::kInstruction) leaves.insert(tree[id].instruction.index);
    for (NodeId child : tree.children(id)) open.push_back(child);
  }
  return leaves;
}

TEST(Tree, FoldsLayersWithAndWithoutMetadata) {
  for (bool metadata : {true, false}) {
    auto module = Parse(Layers(32, metadata));
    Tree tree(module, module->entry_id());
    const Node* repeat = nullptr;
    for (NodeId id : tree.children(tree.root())) {
      if (tree[id].kind == NodeKind::kRepeat) repeat = &tree[id];
    }
    ASSERT_NE(repeat, nullptr) << metadata;
    EXPECT_GE(repeat->repeats, 30u) << metadata;
    if (metadata) {
      EXPECT_TRUE(repeat->label.starts_with("layer_")) << repeat->label;
      EXPECT_NE(repeat->label.find("…"), std::string_view::npos) << repeat->label;
    }
    std::multiset<uint32_t> expected;
    for (uint32_t k = 0; k < module->entry().instruction_count; ++k) {
      const uint32_t i = module->entry().first_instruction + k;
      if (module->instructions()[i].opcode != hlo::Opcode::kConstant) expected.insert(i);
    }
    EXPECT_EQ(Leaves(tree), expected) << metadata;
  }
}

TEST(Tree, DividesLongProgramsWithoutAnyStructure) {
  std::mt19937 random(3);
  std::string text = "HloModule m\nENTRY main {\n  v0 = f32[4] parameter(0)\n";
  const char* kOpcodes[] = {"add", "multiply", "subtract", "maximum"};
  for (int k = 1; k < 5000; ++k) {
    text +=
        "  v" + std::to_string(k) + " = f32[4] " + kOpcodes[random() % 4] + "(v" +
        std::to_string(random() % static_cast<unsigned>(k)) + ", v" +
        std::to_string(k - 1 - static_cast<int>(random() % static_cast<unsigned>(std::min(k, 9)))) +
        ")\n";
  }
  auto module = Parse(text + "}\n");
  Tree tree(module, module->entry_id());
  EXPECT_EQ(Leaves(tree).size(), 5000u);
  for (uint32_t k = 0; k < tree.size(); ++k)
    EXPECT_LE(tree[NodeId(k)].child_count, TreeOptions().most_children);
}

bool Inside(const Box& outer, const Box& inner) {
  return inner.x >= outer.x && inner.y >= outer.y &&
         inner.x + inner.width <= outer.x + outer.width + 0.1f &&
         inner.y + inner.height <= outer.y + outer.height + 0.1f;
}

bool Apart(const Box& a, const Box& b) {
  return a.x + a.width <= b.x + 0.1f || b.x + b.width <= a.x + 0.1f ||
         a.y + a.height <= b.y + 0.1f || b.y + b.height <= a.y + 0.1f;
}

void CheckFrames(FoldableGraph& graph) {
  const Picture& picture = graph.picture();
  for (const Box& box : picture.boxes) {
    NodeId parent = graph.tree()[box.node].parent;
    if (parent != graph.tree().root()) {
      ASSERT_NE(picture.Find(parent), nullptr);
      EXPECT_TRUE(Inside(*picture.Find(parent), box));
    }
    for (NodeId other : graph.tree().children(parent)) {
      if (other == box.node) continue;
      EXPECT_TRUE(Apart(box, *picture.Find(other)));
    }
  }
}

TEST(Picture, FramesHoldTheirBoxesAndOrderOutlivesFolding) {
  auto module = Parse(Layers(32, true));
  FoldableGraph graph(Tree(module, module->entry_id()));
  const size_t closed = graph.picture().boxes.size();
  CheckFrames(graph);
  // From one layer down to the body of its fusion.
  NodeId fusion = graph.tree().Find(hlo::InstructionId(module->entry().first_instruction + 5));
  ASSERT_TRUE(graph.Reveal(fusion));
  ASSERT_TRUE(graph.tree().IsBody(fusion));
  ASSERT_TRUE(graph.Open(fusion));
  CheckFrames(graph);
  const Box* frame = graph.picture().Find(fusion);
  ASSERT_NE(frame, nullptr);
  EXPECT_TRUE(frame->open);
  EXPECT_EQ(graph.tree().children(fusion).size(), 3u);
  // A line into the frame goes on to the parameter inside, at the same place.
  const Picture& picture = graph.picture();
  bool met = false;
  for (const Wire& outer : picture.wires) {
    for (const Wire& inner : picture.wires) {
      if (outer.to != fusion || inner.from != outer.from || outer.point_count == 0 ||
          inner.point_count == 0 || graph.tree()[inner.to].parent != fusion)
        continue;
      const Point a = picture.points[outer.first_point + outer.point_count - 1];
      const Point b = picture.points[inner.first_point];
      met |= std::abs(a.x - b.x) < 0.1f && std::abs(a.y - b.y) < 0.1f;
    }
  }
  EXPECT_TRUE(met);
  std::vector<NodeId> order;
  for (const Box& box : picture.boxes) {
    if (graph.tree()[box.node].parent == graph.tree().root()) order.push_back(box.node);
  }
  ASSERT_TRUE(graph.Close(fusion));
  for (NodeId up = graph.tree()[fusion].parent; up != graph.tree().root();
       up = graph.tree()[up].parent)
    graph.Close(up);
  EXPECT_EQ(graph.picture().boxes.size(), closed);
  for (size_t k = 0; k < closed; ++k) EXPECT_EQ(graph.picture().boxes[k].node, order[k]);
}

TEST(Picture, LoopsShowBodyAndCondition) {
  auto module = Parse(R"(HloModule loop
body { p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[4] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  w = f32[4] add(v, v)
  ROOT t = (s32[], f32[4]) tuple(next, w) }
condition { p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(5)
  ROOT less = pred[] compare(i, n), direction=LT }
ENTRY main { x = (s32[], f32[4]) parameter(0)
  loop = (s32[], f32[4]) while(x), condition=condition, body=body
  ROOT r = f32[4] get-tuple-element(loop), index=1 }
)");
  FoldableGraph graph(Tree(module, module->entry_id()));
  Unfold(graph, 100);
  CheckFrames(graph);
  size_t frames = 0;
  for (const Box& box : graph.picture().boxes) frames += box.open ? 1 : 0;
  EXPECT_EQ(frames, 3u);  // the loop, its body and its condition
}

TEST(Svg, EscapesAndShowsEveryInstructionWithoutScripts) {
  auto module = Parse(
      "HloModule m\nENTRY main {\n  p = f32[4] parameter(0), "
      "metadata={op_name=\"<script>alert(1)</script>\" source_file=\"a&b.py\" source_line=3}\n"
      "  c = f32[4] custom-call(p), custom_call_target=\"<b>\"\n  ROOT q = f32[4] negate(c)\n}\n");
  FoldableGraph graph(Tree(module, module->entry_id()));
  const analysis::Placement placement = analysis::FindPlacement(*module);
  SvgOptions options;
  options.placement = &placement;
  options.heading = "<i>&";
  std::vector<hlo::InstructionId> all;
  for (uint32_t k = 0; k < module->instructions().size(); ++k) all.push_back(hlo::InstructionId(k));
  for (const std::string& out : {ToSvg(graph, options), ToHtml(graph, options, all)}) {
    EXPECT_EQ(out.find("<script"), std::string::npos);
    EXPECT_EQ(out.find("<b>"), std::string::npos);
    EXPECT_EQ(out.find("<i>"), std::string::npos);
    EXPECT_NE(out.find("&lt;b&gt;"), std::string::npos);
    EXPECT_NE(out.find("a&amp;b.py:3"), std::string::npos);
    EXPECT_NE(out.find(">q</text>"), std::string::npos);
  }
}

TEST(Labels, ElideKeepsTheNumberAndCountsColumns) {
  EXPECT_EQ(Elide("short", 20), "short");
  const std::string cut = Elide("loop_add_multiply_subtract_fusion.1234", 20);
  EXPECT_EQ(Columns(cut), 20u);
  EXPECT_TRUE(cut.ends_with(".1234")) << cut;
  EXPECT_LE(Columns(Elide(std::string(100000, 'x'), 20)), 20u);
  EXPECT_EQ(Elide("a\x1b\xff", 20), "a\\x1b\\xff");
}

}  // namespace
}  // namespace hloscope::graph
