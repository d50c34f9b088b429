// TensorFlow's graphs on the Graph screen: alone, beside the graphs of modules, before and after
// marking; what is selected, searched and exported there.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/viewer/drawn.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/tensorflow_facts.h"
#include "viewer/model/document.h"
#include "viewer/model/navigation.h"
#include "viewer/model/state_folder.h"

namespace hloscope::viewer {
namespace {

namespace fs = std::filesystem;

const std::string kStack = SourcePath("tests/dump/tensorflow/stack/mark_for_compilation_1.pbtxt");

class TensorFlowGraphsTest : public ReadingTest {
 protected:
  void Write(const std::string& name, std::string_view text) {
    fs::create_directories(fs::path(Scratch(name)).parent_path());
    std::ofstream(Scratch(name)) << text;
  }
  void StartOnGraph(const std::vector<std::string>& paths) {
    Start(paths);
    Press("Ctrl+2");
    Settle();
  }
  void SelectNode(const std::string& text) {
    const auto selection = SelectionFromText(*session().document.dump(), text);
    ASSERT_TRUE(selection) << selection.error().ToString();
    session().navigation.Select(*selection);
    Settle();
  }
  std::string SelectedNode() {
    const Selection& now = session().navigation.selection();
    if (now.kind != SelectionKind::kGraphNode) return std::string(ToString(now.kind));
    const auto graph = session().document.dump()->TensorFlow(now.file);
    return (*graph)->nodes[static_cast<size_t>(now.node)].name;
  }
  void ExpectSaid(std::string_view view, std::string_view text) {
    const std::string said = HighlightedItems(view);
    EXPECT_NE(said.find(text), std::string::npos) << "expected " << text << " in\n" << said;
  }
};

std::string Node(const std::string& name, const std::string& op, const std::string& device,
                 const std::string& inputs, const std::string& cluster) {
  return "node { name: \"" + name + "\" op: \"" + op + "\" input: [" + inputs + "] device: \"" +
         device +
         "\" attr { key: \"T\" value { type: DT_FLOAT } } attr { key: \"_output_shapes\" "
         "value { list { shape { dim { size: 256 } dim { size: 4 } } } } }" +
         (cluster.empty() ? std::string()
                          : " attr { key: \"_XlaCluster\" value { s: \"" + cluster + "\" } }") +
         " }\n";
}

std::string TwoDevices(bool is_marked) {
  const std::string cluster = is_marked ? "cluster_0" : "";
  return Node("x", "_Arg", "/device:GPU:0", "", "") +
         Node("net/mul", "Mul", "/device:GPU:0", "\"x\", \"x\"", cluster) +
         Node("net/exp", "Exp", "/device:GPU:0", "\"net/mul\"", cluster) +
         Node("say", "AsString", "/device:CPU:0", "\"net/exp\"", "") + "versions { }\n";
}

TEST_F(TensorFlowGraphsTest, ALoneGraphIsDrawn) {
  StartOnGraph({kStack});
  ExpectSaid("graph", "mark_for_compilation_1.pbtxt: 18 nodes, 12 in 2 clusters");
  ExpectSeen("graph", "cluster_0: 6 nodes");
  ExpectSeen("graph", "CPU:0 18 nodes");
  ExpectSeen("graph", "works on a stack");
  ExpectSeen("graph", "outside all clusters, and why");
  ClickOn("graph", "StackPushV2");
  EXPECT_EQ(SelectedNode(), "StackPushV2");
  ExpectSaid("graph", "selected: StackPushV2");
  ExpectSaid("selection", "in no cluster: works on a stack");
  ExpectSaid("selection", "reads StackV2");
  ExpectSaid("selection", "reads Tanh: FLOAT [4,4], 64 B, across a cluster boundary");
  Press("Up");
  EXPECT_NE(SelectedNode(), "StackPushV2");
}

TEST_F(TensorFlowGraphsTest, LanesCopiesAndBytes) {
  Write("g/mark_for_compilation_1.pbtxt", TwoDevices(true));
  StartOnGraph({Scratch("g")});
  ExpectSeen("graph", "GPU:0 3 nodes");
  ExpectSeen("graph", "CPU:0 1 node");
  ExpectSeen("graph", "copied 4.10 kB");
  ExpectSeen("graph", "8.19 kB");
  SelectNode("say");
  ExpectSaid("selection", "AsString on CPU:0");
  ExpectSaid("selection",
             "reads net/exp: FLOAT [256,4], 4.10 kB, across a cluster boundary, "
             "copied between devices");
  SelectNode("net/mul");
  ExpectSaid("selection", "in cluster_0, which XLA compiles as one program");
  ExpectSaid("selection", "read by net/exp: FLOAT [256,4], 4.10 kB");
}

// Wider than the window, of values whose sizes nothing tells.
TEST_F(TensorFlowGraphsTest, AWideGraphBeginsWhereMostOfItIs) {
  StartOnGraph({SourcePath("tests/viewer/graphs/session_v1.pbtxt")});
  ExpectSaid("graph", "70 nodes, 46 in 2 clusters, 8 outside with a reason");
  ExpectSeen("graph", "18 values across cluster boundaries, all of unknown size");
  for (const char* text : {"_arg_Placeholder_1_0_1", "Adam_1", "cluster_2: 37 nodes",
                           "gradients/Mean_grad", "gradients/add_grad"})
    ExpectSeen("graph", text);
}

TEST_F(TensorFlowGraphsTest, ReasonsAreNotCut) {
  StartOnGraph({SourcePath("tests/dump/tensorflow/bad_while/mark_for_compilation_1.pbtxt")});
  const auto graph = session().document.dump()->TensorFlow(0);
  const auto summary = session().document.dump()->TensorFlow();
  size_t lines = 0;
  std::vector<std::string> drawn;
  for (const DrawnText& text : DrawnTexts()) drawn.push_back(text.text);
  const auto boxes = graph::BoxesOf(**graph, **summary);
  for (const graph::TensorFlowItem& item : boxes.items) {
    for (const graph::TensorFlowBox& box : item.boxes) {
      const std::vector<std::string> reason = graph::ReasonLines(box);
      // Of those in view all lines are there.
      if (reason.empty() || std::ranges::find(drawn, reason.front()) == drawn.end()) continue;
      for (const std::string& line : reason) {
        ++lines;
        EXPECT_NE(std::ranges::find(drawn, line), drawn.end()) << line;
      }
    }
  }
  EXPECT_GT(lines, 0u);
}

TEST_F(TensorFlowGraphsTest, BeforeAndAfterStandSideBySide) {
  Write("g/mark_for_compilation_before_1.pbtxt", TwoDevices(false));
  Write("g/mark_for_compilation_after_1.pbtxt", TwoDevices(true));
  StartOnGraph({Scratch("g")});
  const std::string said = HighlightedItems("graph");
  const size_t before = said.find("mark_for_compilation_before_1.pbtxt: 4 nodes, 0 in 0 clusters");
  const size_t after = said.find("mark_for_compilation_after_1.pbtxt: 4 nodes, 2 in 1 cluster");
  EXPECT_LT(before, after) << said;
  EXPECT_NE(after, std::string::npos) << said;
  // What stands for the selection is selected in both.
  SelectNode("mark_for_compilation_after_1.pbtxt:net/mul");
  const std::string both = HighlightedItems("graph");
  EXPECT_NE(both.find("selected: mul"), both.rfind("selected: mul")) << both;
  Click("**/Both");
  EXPECT_EQ(HighlightedItems("graph").find("before_1"), std::string::npos);
}

TEST_F(TensorFlowGraphsTest, TheLegendSaysWhatNodesBeforeMarkingAre) {
  Write("g/before_mark_for_compilation_1.pbtxt", TwoDevices(false));
  StartOnGraph({Scratch("g")});
  ExpectSeen("graph", "in no cluster, as before marking");
  Stop();
  StartOnGraph({kStack});
  EXPECT_FALSE(FindSeen(Seen("graph"), "as before marking").has_value());
}

TEST_F(TensorFlowGraphsTest, TwoGraphsOfTwoPaths) {
  Write("a.pbtxt", TwoDevices(false));
  Write("b.pbtxt", TwoDevices(true));
  StartOnGraph({Scratch("a.pbtxt"), Scratch("b.pbtxt")});
  const std::string said = HighlightedItems("graph");
  EXPECT_LT(said.find("a.pbtxt: 4 nodes, 0 in 0 clusters"),
            said.find("b.pbtxt: 4 nodes, 2 in 1 cluster"))
      << said;
  EXPECT_NE(said.find("b.pbtxt"), std::string::npos) << said;
}

TEST_F(TensorFlowGraphsTest, NodesAreFoundAndMarked) {
  StartOnGraph({kStack});
  Press("Ctrl+F");
  Type("tanh");
  Settle();
  ExpectSaid("graph", "found 2");
  Press("Ctrl+P");
  Type("StackPopV2");
  Settle();
  Press("Enter");
  Settle();
  EXPECT_EQ(SelectedNode(), "StackPopV2");
}

TEST_F(TensorFlowGraphsTest, GraphsOfModulesStandBeside) {
  Write("g/mark_for_compilation_1.pbtxt", TwoDevices(true));
  Write("g/module_0001.jit_f.after_optimizations.txt",
        "HloModule jit_f\n\nENTRY main {\n  p = f32[8] parameter(0)\n  ROOT n = f32[8] "
        "negate(p)\n}\n");
  StartOnGraph({Scratch("g")});
  EXPECT_EQ(HighlightedItems("graph").find("mark_for"), std::string::npos);
  Click("**/TensorFlow");
  ExpectSaid("graph", "mark_for_compilation_1.pbtxt: 4 nodes");
  Click("**/Graphs of modules");
  EXPECT_EQ(HighlightedItems("graph").find("mark_for"), std::string::npos);
  SelectNode("say");
  ExpectSaid("graph", "selected: say");
  SelectNode("jit_f:n");
  EXPECT_EQ(HighlightedItems("graph").find("mark_for"), std::string::npos);
}

// By the name of the node, in a graph that has others before it.
TEST_F(TensorFlowGraphsTest, TheSelectionOutlivesAnotherReading) {
  Write("g/mark_for_compilation_1.pbtxt", TwoDevices(true));
  StartOnGraph({Scratch("g")});
  SelectNode("net/exp");
  Write("g/mark_for_compilation_1.pbtxt",
        Node("first", "_Arg", "/device:GPU:0", "", "") + TwoDevices(true));
  app().Run(Command::kReload);
  Settle();
  EXPECT_EQ(SelectedNode(), "net/exp");
}

TEST_F(TensorFlowGraphsTest, ExportsAreWhatShowPrints) {
  StartOnGraph({kStack});
  View& view = *app().dock().Find("graph")->view;
  const auto svg = view.Export(ExportFormat::kSvg, session());
  ASSERT_TRUE(svg);
  EXPECT_TRUE(svg->starts_with("<svg"));
  EXPECT_NE(svg->find("cluster_0: 6 nodes"), std::string::npos);
  const auto csv = view.Export(ExportFormat::kCsv, session());
  ASSERT_TRUE(csv);
  EXPECT_EQ(std::ranges::count(*csv, '\n'), 19);
  EXPECT_NE(csv->find("StackPushV2"), std::string::npos) << *csv;
}

// 70 nodes: two clusters of scopes, and a scope of strings outside.
std::string ManyScopes() {
  std::string text = Node("x", "_Arg", "/device:CPU:0", "", "");
  std::string last = "x";
  const auto add = [&](const std::string& name, const std::string& op, const std::string& cluster) {
    text += Node(name, op, "/device:CPU:0", "\"" + last + "\"", cluster);
    last = name;
  };
  for (int layer = 0; layer < 4; ++layer) {
    for (int k = 0; k < 10; ++k)
      add("net/layer_" + std::to_string(layer) + "/mul_" + std::to_string(k), "Mul", "cluster_0");
  }
  for (int k = 0; k < 29; ++k) add("words/join_" + std::to_string(k), "AsString", "");
  return text + "versions { }\n";
}

// A click opens a scope into its nodes, in its cluster; another one on its frame closes it.
TEST_F(TensorFlowGraphsTest, ScopesOpenInPlace) {
  Write("g/mark_for_compilation_1.pbtxt", ManyScopes());
  StartOnGraph({Scratch("g")});
  ExpectSeen("graph", "cluster_0: 40 nodes");
  ExpectSeen("graph", "net/layer_1");
  ExpectSeen("graph", "10 nodes, 10 Mul");
  ExpectSeen("graph", "a click opens one");
  const auto sees = [&](std::string_view text) {
    return FindSeen(Seen("graph"), text).has_value();
  };
  EXPECT_FALSE(sees("mul_3"));
  ClickOn("graph", "net/layer_1");
  EXPECT_EQ(SelectedNode(), "net/layer_1/mul_0");
  ExpectSeen("graph", "net/layer_1");
  ExpectSeen("graph", "mul_3");
  // Its nodes are nodes as any other.
  ClickOn("graph", "mul_3");
  EXPECT_EQ(SelectedNode(), "net/layer_1/mul_3");
  ExpectSaid("selection", "in cluster_0, which XLA compiles as one program");
  Press("Down");
  EXPECT_EQ(SelectedNode(), "net/layer_1/mul_4");
  // As it looks.
  View& view = *app().dock().Find("graph")->view;
  const auto svg = view.Export(ExportFormat::kSvg, session());
  ASSERT_TRUE(svg);
  EXPECT_NE(svg->find(">mul_3<"), std::string::npos);
  EXPECT_NE(svg->find(">net/layer_1  10 nodes"), std::string::npos);
  ClickOn("graph", "net/layer_1");
  EXPECT_FALSE(sees("mul_3"));
  // By keys, too: of what is selected, and the scope around it.
  Press("Enter");
  ExpectSeen("graph", "mul_3");
  SelectNode("net/layer_1/mul_5");
  Press("Backspace");
  EXPECT_FALSE(sees("mul_5"));
}

// Each wire is drawn in the innermost frame that has both its ends, and each node is once there.
TEST_F(TensorFlowGraphsTest, AnOpenScopeHasItsWires) {
  Write("g/mark_for_compilation_1.pbtxt", ManyScopes());
  const auto dump = dump::DumpModel::Open(Scratch("g"), Limits{});
  ASSERT_TRUE(dump);
  const auto graph = *(*dump)->TensorFlow(0);
  const auto summary = *(*dump)->TensorFlow();
  graph::TensorFlowFolding folding{.whole = 60, .most_outside = 24, .most_inside = 16, .open = {}};
  const auto closed = graph::BoxesOf(*graph, *summary, folding);
  ASSERT_EQ(closed.items.front().boxes.size(), 4u);
  EXPECT_EQ(closed.items.front().wires.size(), 3u);
  folding.open.insert(closed.items.front().boxes[1].scope());
  const auto open = graph::BoxesOf(*graph, *summary, folding);
  const graph::TensorFlowBox& layer = open.items.front().boxes[1];
  EXPECT_EQ(layer.inside.size(), 10u);
  EXPECT_EQ(layer.wires.size(), 9u);
  EXPECT_EQ(open.items.front().wires.size(), 3u);
  EXPECT_EQ(open.wires.size(), closed.wires.size());
  int64_t nodes = 0;
  for (const graph::TensorFlowBox& box : layer.inside) nodes += box.nodes;
  EXPECT_EQ(nodes, layer.nodes);
  // Small graphs are not folded.
  folding = {.whole = 70, .most_outside = 1, .most_inside = 1, .open = {}};
  EXPECT_FALSE(graph::BoxesOf(*graph, *summary, folding).is_folded);
}

// Of a scope that has none in it the rest is one box, which opens as a scope does.
TEST_F(TensorFlowGraphsTest, AFlatScopeOpensPartByPart) {
  std::string text;
  for (int k = 0; k < 500; ++k)
    text += Node("flat/op_" + std::to_string(k), "AsString", "/device:CPU:0", "", "");
  Write("g/mark_for_compilation_1.pbtxt", text + "versions { }\n");
  const auto dump = dump::DumpModel::Open(Scratch("g"), Limits{});
  ASSERT_TRUE(dump);
  const auto graph = *(*dump)->TensorFlow(0);
  const auto summary = *(*dump)->TensorFlow();
  graph::TensorFlowFolding folding{
      .whole = 60, .most_outside = 24, .most_inside = 16, .most_opened = 100, .open = {}};
  const auto closed = graph::BoxesOf(*graph, *summary, folding);
  ASSERT_EQ(closed.items.size(), 1u);
  folding.open.insert(closed.items.front().boxes.front().scope());
  auto boxes = graph::BoxesOf(*graph, *summary, folding);
  const graph::TensorFlowBox* scope = &boxes.items.front().boxes.front();
  ASSERT_EQ(scope->inside.size(), 100u);
  EXPECT_EQ(scope->inside[98].title, "op_98");
  EXPECT_EQ(scope->inside.back().title, "401 more");
  EXPECT_EQ(scope->inside.back().nodes, 401);
  folding.open.insert(scope->inside.back().scope());
  boxes = graph::BoxesOf(*graph, *summary, folding);
  scope = &boxes.items.front().boxes.front();
  ASSERT_EQ(scope->inside.back().inside.size(), 100u);
  EXPECT_EQ(scope->inside.back().inside.front().title, "op_99");
  EXPECT_EQ(scope->inside.back().inside.back().title, "302 more");
}

TEST_F(TensorFlowGraphsTest, PairsAreFoundByName) {
  for (const char* name :
       {"encapsulate_subgraphs_before_2", "encapsulate_subgraphs_after_2",
        "before_increase_dynamism_for_auto_jit_pass_2", "mark_for_compilation_2"})
    Write("g/" + std::string(name) + ".pbtxt", TwoDevices(true));
  const auto dump = dump::DumpModel::Open(Scratch("g"), Limits{});
  ASSERT_TRUE(dump);
  const auto name_of = [&](int32_t file) {
    return file < 0 ? std::string() : (*dump)->files()[static_cast<size_t>(file)].path;
  };
  EXPECT_EQ(name_of(MainGraphOf(**dump)), "mark_for_compilation_2.pbtxt");
  std::map<std::string, std::string> pairs;
  for (const int32_t file : GraphFilesOf(**dump))
    pairs[name_of(file)] = name_of(GraphBesideOf(**dump, file));
  EXPECT_EQ(pairs["encapsulate_subgraphs_after_2.pbtxt"], "encapsulate_subgraphs_before_2.pbtxt");
  EXPECT_EQ(pairs["encapsulate_subgraphs_before_2.pbtxt"], "encapsulate_subgraphs_after_2.pbtxt");
  EXPECT_EQ(pairs["mark_for_compilation_2.pbtxt"], "");
  EXPECT_EQ(pairs["before_increase_dynamism_for_auto_jit_pass_2.pbtxt"], "");
}

}  // namespace
}  // namespace hloscope::viewer
