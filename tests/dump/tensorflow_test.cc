// TensorFlow's clusters against what TensorFlow itself logged, on dumps of small programs made with
// TensorFlow 2.21 (tests/dump/tensorflow); the two ways a GraphDef is written; damaged ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "core/dump/dump_model.h"
#include "core/dump/listing/sniff.h"
#include "core/dump/tensorflow/graph_builder.h"
#include "core/dump/tensorflow/graph_edges.h"
#include "core/dump/tensorflow/marking.h"
#include "core/dump/tensorflow/marking_log.h"
#include "tests/base/paths.h"
#include "tests/dump/graph_def_oracle.h"

namespace hloscope::dump {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = SourcePath("tests/dump/tensorflow");

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Case {
  std::string name;
  TensorFlowGraph graph;
  MarkingLog log;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(kCases)) folders.push_back(entry.path());
  std::ranges::sort(folders);
  for (const fs::path& folder : folders) {
    if (!fs::is_directory(folder)) continue;
    Case c{folder.filename().string(), {}, ReadMarkingLog(ReadAll(folder / "tensorflow.log"))};
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() != ".pbtxt") continue;
      auto graph = ReadTensorFlowGraph(ReadAll(entry.path()), Limits{});
      EXPECT_TRUE(graph) << entry.path();
      if (graph) c.graph = *std::move(graph);
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

bool IsCandidate(OutsideReason why) {
  switch (why) {
    case OutsideReason::kTooSmall:
    case OutsideReason::kNothingCounts:
    case OutsideReason::kCycle:
    case OutsideReason::kDeadness:
    case OutsideReason::kDevices:
    case OutsideReason::kCrossDevice:
    case OutsideReason::kScope:
    case OutsideReason::kMaxSize:
    case OutsideReason::kResourceOrder:
      return true;
    default:
      return false;
  }
}

// Each node that TensorFlow calls uncompilable has that reason by the graph alone; each that it
// says nothing of could be compiled.
TEST(TensorFlowMarkingTest, AgreesWithTensorFlowsOwnLog) {
  std::set<OutsideReason> seen;
  int nodes = 0;
  for (const Case& c : Cases()) {
    ASSERT_EQ(c.log.runs.size(), 1u) << c.name;
    EXPECT_TRUE(c.log.warnings.empty()) << c.name << ": " << c.log.warnings.front();
    const MarkingRun& run = c.log.runs[0];
    for (const TensorFlowNode& node : c.graph.nodes) {
      if (!node.function.empty()) continue;
      const auto assigned = run.assigned.find(node.name);
      EXPECT_EQ(node.cluster, assigned == run.assigned.end() ? "" : assigned->second)
          << c.name << " " << node.name;
      if (!node.cluster.empty()) continue;
      ++nodes;
      TensorFlowNode logged = node;
      const bool told = run.nodes.contains(node.name);
      if (told) {
        EXPECT_TRUE(ApplyLog(run, logged))
            << c.name << " " << node.name << ": " << run.nodes.at(node.name).text;
        EXPECT_EQ(NameOf(node.why), NameOf(logged.why))
            << c.name << " " << node.name << " (" << node.op
            << "): " << run.nodes.at(node.name).text;
      } else {
        EXPECT_TRUE(IsCandidate(node.why) || node.why == OutsideReason::kForbidden)
            << c.name << " " << node.name << " (" << node.op << "): " << node.reason << "; "
            << node.evidence;
      }
      seen.insert(node.why);
    }
  }
  EXPECT_GT(nodes, 150);
  EXPECT_GE(seen.size(), 20u) << "kinds of reasons";
}

// Each that TensorFlow could not join to a neighbour, by the graph alone: one of the reasons that
// its log gives for the node's edges.
TEST(TensorFlowMarkingTest, AgreesWithTensorFlowsOwnLogOnEdges) {
  std::map<std::string_view, int> seen;
  for (const Case& c : Cases()) {
    const MarkingRun& run = c.log.runs[0];
    for (const TensorFlowNode& node : c.graph.nodes) {
      const auto [begin, end] = run.edges.equal_range(node.name);
      if (begin == end || !node.function.empty() || !node.cluster.empty()) continue;
      ++seen[NameOf(node.why)];
      EXPECT_TRUE(std::any_of(begin, end, [&](const auto& e) { return e.second.why == node.why; }))
          << c.name << " " << node.name << " is " << NameOf(node.why) << ": " << node.evidence
          << "; the log: " << begin->second.text;
    }
  }
  EXPECT_EQ(seen["max_size"], 4);
  EXPECT_EQ(seen["cross_device"], 2);
}

struct Expected {
  std::string_view folder, node;
  OutsideReason why;
  std::string_view evidence;  // part of it
};

TEST(TensorFlowMarkingTest, NamesReasonAndFacts) {
  using enum OutsideReason;
  const Expected rows[] = {
      {"lowered_cond", "PartitionedCall/cond/then/_8/cond/Tanh", kCycle,
       "Sum and PartitionedCall/cond/then/_8/cond/PartitionedCall/Cast in one cluster, and also "
       "by "},
      {"no_kernel", "EagerPyFunc", kPython, "EagerPyFunc"},
      {"no_kernel_strings", "AsString", kString, "AsString"},
      {"random", "random_uniform/RandomUniform", kRandom, ""},
      {"asserts", "CheckNumerics", kAssert, ""},
      {"variant", "TensorListSetItem", kVariant, ""},
      {"stack", "StackPushV2", kStack, ""},
      {"tensor_array", "TensorArrayV3", kTensorArray, ""},
      {"slow", "MatrixInverse", kSlow, ""},
      {"inaccurate", "Svd", kInaccurate, ""},
      {"cycle", "Exp", kCycle, "EagerPyFunc"},
      {"ref_variable", "v/read", kRefCast, "VariableV2"},
      {"control_trigger", "ControlTrigger", kTrigger, ""},
      {"deadness", "Switch", kControlFlow, ""},
      {"const_variable", "Reshape/ReadVariableOp", kMustBeConstant, "Reshape"},
      {"devices", "Exp", kDevices, "CPU:1"},
      {"devices", "add/y", kCrossDevice, "waits for Exp of /job"},
      {"max_size", "mul/y", kMaxSize, "has 3 nodes, the largest cluster 3"},
      {"table", "", kTable, ""},
      {"nms", "non_max_suppression/NonMaxSuppressionV3", kSlow, ""},
      {"dynamic", "Unique", kUniqueSize, ""},
      {"too_small", "Exp", kTooSmall, "Exp"},
      {"tensor_array", "TensorArrayV3/size", kNothingCounts,
       "feeds only TensorArrayV3 (TensorArrayV3), which is outside"},
  };
  const std::vector<Case> cases = Cases();
  for (const Expected& row : rows) {
    auto c = std::ranges::find(cases, row.folder, &Case::name);
    ASSERT_NE(c, cases.end()) << row.folder;
    bool found = false;
    for (const TensorFlowNode& node : c->graph.nodes) {
      const bool asked = row.node.empty() ? node.why == row.why : node.name == row.node;
      if (!asked || !node.function.empty()) continue;
      found = true;
      EXPECT_EQ(NameOf(node.why), NameOf(row.why))
          << row.folder << " " << node.name << ": " << node.evidence;
      EXPECT_NE(node.evidence.find(row.evidence), std::string::npos)
          << row.folder << ": " << node.evidence;
    }
    EXPECT_TRUE(found) << row.folder << " " << row.node;
  }
}

// A cluster of one node needs a node that counts: no flag brings in a constant alone.
TEST(TensorFlowMarkingTest, SmallerClustersAreAdvisedForWhatCounts) {
  int advised = 0, alone = 0;
  for (const Case& c : Cases()) {
    for (const TensorFlowNode& node : c.graph.nodes) {
      if (node.fix.find("--tf_xla_min_cluster_size") != std::string_view::npos) {
        ++advised;
        EXPECT_NE(node.evidence.find(" that count: "), std::string::npos)
            << c.name << " " << node.name << ": " << node.evidence;
      }
      if (node.why != OutsideReason::kNothingCounts) continue;
      ++alone;
      EXPECT_TRUE(node.op == "Const" || node.op == "Identity") << c.name << " " << node.name;
      EXPECT_EQ(node.fix, "") << c.name << " " << node.name;
    }
  }
  EXPECT_GT(advised, 0);
  EXPECT_GT(alone, 3);
}

// ---- the wire format ----

std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string Bytes(uint32_t number, std::string_view bytes) {
  return Varint(number << 3 | 2) + Varint(bytes.size()) + std::string(bytes);
}
std::string Number(uint32_t number, uint64_t value) { return Varint(number << 3) + Varint(value); }
// The facts that the text reader took, written as a GraphDef in wire format.
std::string ToWire(const TensorFlowGraph& graph) {
  auto Attribute = [&](std::string_view key, const std::string& value) {
    return Bytes(5, Bytes(1, key) + Bytes(2, value));
  };
  auto node_of = [&](const TensorFlowNode& node) {
    std::string out = Bytes(1, node.name) + Bytes(2, node.op);
    for (const std::string& input : node.inputs) out += Bytes(3, input);
    if (!node.device.empty()) out += Bytes(4, node.device);
    if (!node.cluster.empty()) out += Attribute("_XlaCluster", Bytes(2, node.cluster));
    if (!node.scope.empty()) out += Attribute("_XlaInternalScope", Bytes(2, node.scope));
    if (node.xla_compile) out += Attribute("_XlaCompile", Number(5, *node.xla_compile));
    for (const auto& [key, type] : node.types)
      out += Attribute(key, Number(6, static_cast<uint64_t>(type)));
    for (const std::string& name : node.functions) out += Attribute("f", Bytes(10, Bytes(1, name)));
    std::string shapes;
    for (const auto& shape : node.shapes) {
      std::string dims = shape ? "" : Number(3, 1);
      for (int64_t size : shape.value_or(std::vector<int64_t>()))
        dims += Bytes(2, Number(1, static_cast<uint64_t>(size)));
      shapes += Bytes(7, dims);
    }
    if (!shapes.empty()) out += Attribute("_output_shapes", Bytes(1, shapes));
    return out;
  };
  std::string out, library;
  for (const TensorFlowNode& node : graph.nodes) {
    if (node.function.empty()) out += Bytes(1, node_of(node));
  }
  for (const TensorFlowFunction& function : graph.functions) {
    // What no node of the body gives is an argument.
    std::set<std::string> given;
    std::string signature = Bytes(1, function.name);
    for (int32_t n : function.nodes) given.insert(graph.nodes[static_cast<size_t>(n)].name);
    for (int32_t n : function.nodes) {
      for (const std::string& input : graph.nodes[static_cast<size_t>(n)].inputs) {
        const std::string name(ParseInput(input).node);
        if (given.insert(name).second) signature += Bytes(2, Bytes(1, name));
      }
    }
    std::string body = Bytes(1, signature);
    for (int32_t n : function.nodes) body += Bytes(3, node_of(graph.nodes[static_cast<size_t>(n)]));
    library += Bytes(1, body);
  }
  return out + Bytes(2, library) + Bytes(4, Number(1, 2000));
}

TEST(TensorFlowMarkingTest, WireSaysWhatTextSays) {
  for (const Case& c : Cases()) {
    const std::string wire = ToWire(c.graph);
    EXPECT_EQ(Sniff(wire, true), FileKind::kTensorFlowGraphProto) << c.name;
    auto graph = ReadTensorFlowGraph(wire, Limits{});
    ASSERT_TRUE(graph) << c.name << graph.error().ToString();
    ASSERT_EQ(graph->nodes.size(), c.graph.nodes.size());
    std::map<std::string, const TensorFlowNode*> by_name;
    for (const TensorFlowNode& node : graph->nodes)
      by_name[node.function + "/" + node.name] = &node;
    for (const TensorFlowNode& node : c.graph.nodes) {
      const TensorFlowNode& other = *by_name.at(node.function + "/" + node.name);
      EXPECT_EQ(NameOf(other.why), NameOf(node.why)) << c.name << " " << node.name;
      EXPECT_EQ(other.cluster, node.cluster);
      EXPECT_EQ(other.shapes, node.shapes) << node.name;
    }
    EXPECT_EQ(graph->clusters.size(), c.graph.clusters.size());
  }
}

TEST(TensorFlowMarkingTest, DevicesAreExplained) {
  EXPECT_EQ(TensorFlowDeviceType("/job:localhost/replica:0/task:0/device:XLA_GPU:0"), "XLA_GPU");
  EXPECT_NE(DescribeTensorFlowDevice("/device:XLA_GPU:0").find("not the GPU"), std::string::npos);
  EXPECT_NE(DescribeTensorFlowDevice("XLA_CPU_JIT").find("not a device"), std::string::npos);
  EXPECT_NE(DescribeTensorFlowDevice("/gpu:0").find("XLA_GPU_JIT"), std::string::npos);
  EXPECT_EQ(DescribeTensorFlowDevice("/job:a/task:0"), "");
}

// A dump as a folder: the log names the graphs, borders have sizes where the graph tells them.
TEST(TensorFlowMarkingTest, FolderWithLogIsOneModel) {
  auto model = DumpModel::Open((kCases / "stack").string(), Limits{});
  ASSERT_TRUE(model) << model.error().ToString();
  auto summary = (*model)->TensorFlow();
  ASSERT_TRUE(summary);
  ASSERT_EQ((*summary)->clusters.size(), 2u);
  EXPECT_EQ((*summary)->clusters[0].nodes, 6);
  EXPECT_EQ((*summary)->clusters[0].members.size(), 6u);
  int64_t by_log = 0, known = 0;
  for (const TensorFlowNode& node : (*summary)->unclustered) by_log += node.by_log;
  for (const ClusterBorder& border : (*summary)->borders) known += border.bytes == 64;
  EXPECT_GE(by_log, 5);
  EXPECT_GE(known, 2) << "the argument t and the result of Tanh, f32[4,4]";
  EXPECT_TRUE((*summary)->warnings.empty());
}

struct Verdict {
  std::string_view folder;
  AutoClustering state;
  int64_t operations, clustered;
  std::string_view sentence, fix;  // parts; an empty fix: there is none
};

// Whole dumps as one sentence, by what TensorFlow's log or the flags of the run say.
TEST(TensorFlowVerdictTest, WhatBecameOfAProgram) {
  using enum AutoClustering;
  const Verdict rows[] = {
      {"none", kOn, 3, 0,
       "auto-clustering was on for the CPU: none of the 3 operations is in a cluster; outside: "
       "StringLower, StaticRegexReplace, StringLength (works on strings",
       "convert to numbers"},
      {"none_recorded", kOn, 3, 0, "auto-clustering was on for the CPU: none of the 3",
       "convert to numbers"},
      {"not_for_cpu", kNotForCpu, 4, 0,
       "auto-clustering was on, but not for the CPU: none of the 4 operations is in a cluster",
       "add --tf_xla_cpu_global_jit to TF_XLA_FLAGS"},
      {"unrecorded", kUnknown, 13, 0, "auto-clustering was off, or not on for this device",
       "--tf_xla_cpu_global_jit"},
      {"whole", kOff, 1, 0,
       "`inner` was compiled as a whole; TF_XLA_FLAGS did not enable auto-clustering: the other "
       "operation is in no cluster",
       ""},
      {"remapped", kOn, 5, 4,
       "4 of the 5 operations are in 1 cluster; outside: _FusedMatMul (made "
       "by TensorFlow's remapper",
       "'remapping': False"},
      {"jit_scope", kInScopes, 6, 4,
       "auto-clustering was on only inside jit_scope: 4 of the 6 operations are in 1 cluster; "
       "outside: Sum, Mul (outside of jit_scope",
       "jit_scope too"},
      {"eager", kOn, 0, 0, "eager mode ran each operation by itself", "tf.function"},
      {"nested", kOn, 6, 4,
       "`inner` was compiled as a whole; auto-clustering was on for the CPU: 4 of the other 6 "
       "operations are in 1 cluster; outside: Mul, AddV2 (could be compiled",
       "--tf_xla_min_cluster_size=1"},
      {"control_flow", kOn, 15, 6,
       "; tf.while_loop and tf.cond are run by TensorFlow's executor, not by XLA (lowered control "
       "flow)",
       "keeps tf.while_loop and tf.cond whole"},
      {"keras_data", kOn, 32, 29,
       "Keras ran steps without jit_compile: `sequential` (jit_compile=\"auto\" leaves CPUs out, "
       "keras_data.py:3); auto-clustering was on for the CPU: 29 of the 32 operations are in 3 "
       "clusters; outside: ReadVariableOp (could be compiled",
       "--tf_xla_min_cluster_size=1"},
      {"two_shapes", kOn, 5, 5,
       "all 5 operations are in 1 cluster; a call of `cluster_0` ran without XLA, for instance a "
       "shape that came for the first time: TensorFlow compiles a further shape when it comes a "
       "second time",
       ""},
      {"strings", kOn, 14, 8, "in 1 cluster; outside: StringUpper, StringLength, Substr, …",
       "convert to numbers"},
  };
  for (const Verdict& row : rows) {
    auto model = DumpModel::Open(
        SourcePath("tests/dump/tensorflow_runs/") + std::string(row.folder), Limits{});
    ASSERT_TRUE(model) << row.folder;
    auto summary = (*model)->TensorFlow();
    ASSERT_TRUE(summary) << row.folder;
    const ClusteringVerdict& verdict = (*summary)->verdict;
    EXPECT_EQ(NameOf(verdict.state), NameOf(row.state)) << row.folder;
    EXPECT_EQ(verdict.operations, row.operations) << row.folder << ": " << verdict.sentence;
    EXPECT_EQ(verdict.clustered, row.clustered) << row.folder << ": " << verdict.sentence;
    EXPECT_TRUE(verdict.sentence.contains(row.sentence)) << verdict.sentence;
    EXPECT_EQ(verdict.fix.empty(), row.fix.empty()) << verdict.fix;
    EXPECT_TRUE(verdict.fix.contains(row.fix)) << verdict.fix;
    EXPECT_TRUE((*summary)->warnings.empty()) << row.folder << (*summary)->warnings.front();
  }
}

// Every node that the log refuses is named, with the log as evidence, in graphs without a
// candidate too.
TEST(TensorFlowVerdictTest, NoRefusedNodeIsLeftOut) {
  for (const char* folder : {"none", "strings", "control_flow"}) {
    const fs::path path = fs::path(SourcePath("tests/dump/tensorflow_runs")) / folder;
    auto model = DumpModel::Open(path.string(), Limits{});
    ASSERT_TRUE(model);
    auto summary = (*model)->TensorFlow();
    ASSERT_TRUE(summary);
    std::multiset<std::string> named;
    for (const TensorFlowNode& node : (*summary)->unclustered) {
      if (node.by_log) named.insert(node.name);
    }
    size_t refused = 0;
    for (const MarkingRun& run : ReadMarkingLog(ReadAll(path / "stderr.log")).runs) {
      refused += run.nodes.size();
      for (const auto& [name, word] : run.nodes)
        EXPECT_TRUE(named.contains(name)) << folder << " " << name;
    }
    EXPECT_EQ(named.size(), refused) << folder;
  }
}

// Nodes of functions that are compiled as a whole stop nothing.
TEST(TensorFlowVerdictTest, WholeFunctionsAreNotUnclustered) {
  auto model = DumpModel::Open(SourcePath("tests/dump/tensorflow_runs/whole"), Limits{});
  ASSERT_TRUE(model);
  auto summary = (*model)->TensorFlow();
  ASSERT_TRUE(summary);
  EXPECT_TRUE((*summary)->in_functions.empty());
  ASSERT_EQ((*summary)->verdict.compiled.size(), 1U);
}

// A function whose compilation failed is what matters, not auto-clustering.
TEST(TensorFlowVerdictTest, AFunctionThatWasNotCompiled) {
  const fs::path folder = fs::path(testing::TempDir()) / "not_compiled";
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const auto& entry : fs::directory_iterator(SourcePath("tests/dump/tensorflow_runs/whole"))) {
    if (entry.path().extension() != ".txt") fs::copy(entry.path(), folder);
  }
  auto model = DumpModel::Open(folder.string(), Limits{});
  ASSERT_TRUE(model);
  auto summary = (*model)->TensorFlow();
  ASSERT_TRUE(summary);
  const ClusteringVerdict& verdict = (*summary)->verdict;
  EXPECT_TRUE(verdict.compiled.empty());
  EXPECT_TRUE(verdict.sentence.starts_with(
      "`inner` was to be compiled as a whole (jit_compile=True), and left no module; "))
      << verdict.sentence;
  EXPECT_TRUE(verdict.fix.empty()) << verdict.fix;
  fs::remove_all(folder);
}

// A further shape is one reason why a cluster runs without XLA; the log may name another.
TEST(TensorFlowVerdictTest, AClusterThatXlaRefused) {
  const fs::path folder = fs::path(testing::TempDir()) / "refused";
  fs::remove_all(folder);
  fs::copy(SourcePath("tests/dump/tensorflow_runs/two_shapes"), folder);
  std::ofstream(folder / "stderr.log")
      << "W0000 00:00:1796059820.395085   20408 xla_ops.cc:577] Compilation failed:UNIMPLEMENTED: "
         "x.  Falling back to TF function call.\n";
  auto model = DumpModel::Open(folder.string(), Limits{});
  ASSERT_TRUE(model);
  auto summary = (*model)->TensorFlow();
  ASSERT_TRUE(summary);
  const std::string& sentence = (*summary)->verdict.sentence;
  EXPECT_TRUE(
      sentence.ends_with("a call of `cluster_0` ran without XLA, and the log says that XLA "
                         "could not compile a cluster (\"Falling back to TF function "
                         "call\")"))
      << sentence;
  fs::remove_all(folder);
}

// Between marking and cutting out TensorFlow takes nodes out again; graphs are numbered by
// themselves at each point.
TEST(TensorFlowMarkingTest, NodesTakenOutAgainAreNamed) {
  const fs::path folder = fs::path(testing::TempDir()) / "declustered";
  fs::remove_all(folder);
  fs::create_directories(folder);
  auto node = [](const std::string& name, const std::string& op, bool clustered) {
    return "node {\n  name: \"" + name + "\"\n  op: \"" + op + "\"\n" +
           (clustered ? "  attr {\n    key: \"_XlaCluster\"\n    value {\n      s: \"cluster_0\"\n"
                        "    }\n  }\n"
                      : "") +
           "}\n";
  };
  const std::string end = "library {\n}\nversions {\n  producer: 1\n}\n";
  std::ofstream(folder / "mark_for_compilation_3.pbtxt")
      << node("a", "Relu", true) << node("size", "Size", true) << end;
  std::ofstream(folder / "encapsulate_subgraphs_before_7.pbtxt")
      << node("a", "Relu", true) << node("size", "Size", false) << end;
  auto model = DumpModel::Open(folder.string(), Limits{});
  ASSERT_TRUE(model);
  auto summary = (*model)->TensorFlow();
  ASSERT_TRUE(summary);
  ASSERT_EQ((*summary)->unclustered.size(), 1u);
  EXPECT_EQ((*summary)->unclustered[0].name, "size");
  EXPECT_EQ((*summary)->unclustered[0].why, OutsideReason::kDeclustered);
  fs::remove_all(folder);
}

// What whole graphs say has no losses, in text and in wire format.
TEST(TensorFlowLossesTest, WholeGraphsHaveNone) {
  for (const Case& c : Cases()) {
    EXPECT_TRUE(c.graph.warnings.empty()) << c.name << ": " << c.graph.warnings.front().ToString();
    auto graph = ReadTensorFlowGraph(ToWire(c.graph), Limits{});
    ASSERT_TRUE(graph);
    EXPECT_TRUE(graph->warnings.empty()) << c.name << ": " << graph->warnings.front().ToString();
  }
}

TEST(TensorFlowLossesTest, EachIsNamedWithItsPlace) {
  const std::string node = "node {\n  name: \"a\"\n  op: \"Relu\"\n";
  const std::string attr =
      "  attr {\n    key: \"T\"\n    value {\n      type: DT_FLOAT\n    }\n  }\n";
  const std::string end = "}\nversions {\n  producer: 1\n}\n";
  struct Row {
    std::string text;
    std::string_view warning;
  };
  const Row rows[] = {
      {node + "  colour: 1\n" + end,
       "4:3: node a: NodeDef has no field colour, expected name, op, "},
      {node + "  ?\n" + end, "4:3: node a: expected the name of a field, got ? (correct it"},
      {node + "  input: \"b:1\"\n" + end, "4:3: node a: its input b is not a node of the graph"},
      {node + "  op: \"Abs\"\n" + end, "4:3: node a: op of NodeDef is duplicated"},
      {node + "  device: 7\n" + end, "4:11: node a: device: expected a quoted string, got 7"},
      {node + "  device: \"\xff\"\n" + end,
       "4:11: node a: device: expected text in UTF-8, got \"\\xff\""},
      {"node {\n  op: \"Relu\"\n" + end, "3:1: a node has no name"},
      {node + end + node + "}\n", "9:3: another node a is at line 2"},
      {node + end + "}\n", "8:1: an unmatched brace"},
      {node + "}\n", "5:1: the graph may be cut off: `versions`"},
      {node + attr, "the graph is cut off inside NodeDef"},
      {node + "  attr {\n    key: \"T\"\n    value {\n      type: DT_FLOAX\n    }\n  }\n" + end,
       "7:13: node a: type: expected a type of TensorFlow, got DT_FLOAX"},
      {node + "  attr {\n    key: \"T\"\n    value {\n    }\n  }\n" + end,
       "7:5: node a: an attribute has no value"},
      {node + "  attr {\n    key: \"T\"\n    value {\n      i: 1\n      b: true\n    }\n  }\n" +
           end,
       "8:7: node a: an attribute has two values"},
  };
  for (const Row& row : rows) {
    auto graph = ReadTensorFlowGraph(row.text, Limits{});
    ASSERT_TRUE(graph) << row.text;
    ASSERT_EQ(graph->warnings.size(), 1u) << row.text << graph->warnings[0].ToString();
    EXPECT_TRUE(graph->warnings[0].ToString().contains(row.warning))
        << graph->warnings[0].ToString();
  }
  EXPECT_TRUE(ReadTensorFlowGraph(node + attr + end, Limits{})->warnings.empty());
  std::string wire;
  for (const char* name : {"c", "d", "e", "f", "g", "h"})
    wire += Bytes(1, Bytes(1, name) + Bytes(2, "Relu"));
  auto with = [&](const std::string& fields) {
    return wire + Bytes(1, Bytes(1, "b") + fields) + Bytes(4, Number(1, 2000));
  };
  // The node begins at byte 66, its second field at 71, the third at 76.
  const Row wires[] = {
      {with(Bytes(2, "Abs") + Bytes(9, "x")), "byte 76: node b: NodeDef has no field 9"},
      {with(Bytes(2, "Abs") + Bytes(3, "z")),
       "byte 76: node b: its input z is not a node of the graph"},
      {with(Number(2, 1)), "byte 71: node b: op of NodeDef is not stored as its kind is"},
      {with(Bytes(2, "Abs") + "\x22\x09x"), "byte 76: node b: NodeDef is damaged or cut off"},
      {wire, "byte 66: the graph may be cut off"},
  };
  for (const Row& row : wires) {
    auto graph = ReadTensorFlowGraph(row.text, Limits{});
    ASSERT_TRUE(graph) << row.warning;
    ASSERT_FALSE(graph->warnings.empty()) << row.warning;
    EXPECT_TRUE(graph->warnings[0].ToString().contains(row.warning))
        << graph->warnings[0].ToString();
  }
}

// Damages a text in one to four places: a byte, up to 200 bytes out, up to 200 copied in, the rest
// cut off.
void Damage(std::string& text, std::mt19937& random) {
  for (uint32_t k = 0, count = 1 + random() % 4; k < count && !text.empty(); ++k) {
    const size_t at = random() % text.size();
    switch (random() % 4) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, random() % 200);
        break;
      case 2:
        text.insert(at, text.substr(random() % text.size(), random() % 200));
        break;
      default:
        if (random() % 4 == 0) text.resize(at);
        break;
    }
  }
}

// How many things a graph says: fewer is a loss.
int64_t FactsOf(const TensorFlowGraph& graph) {
  auto count = static_cast<int64_t>(graph.functions.size());
  for (const TensorFlowNode& node : graph.nodes) {
    for (const std::string* text : {&node.name, &node.op, &node.device, &node.cluster, &node.scope})
      count += text->empty() ? 0 : 1;
    count += std::ssize(node.inputs) + std::ssize(node.types) + std::ssize(node.shapes) +
             std::ssize(node.functions) + node.xla_compile.has_value() + node.must_compile;
    for (const auto& shape : node.shapes) count += shape ? std::ssize(*shape) : 0;
  }
  return count;
}

// 500 graphs in wire format (texts: graph_text_test.cc): nothing dies, and one that says less than
// before says what it lost, or is a whole graph itself.
TEST(TensorFlowLossesTest, DamagedGraphsNameWhatTheyLost) {
  const std::vector<Case> cases = Cases();
  const GraphDefOracle oracle;
  const char* more = std::getenv("HLOSCOPE_MUTATIONS");
  const int count = more == nullptr ? 500 : std::atoi(more);
  std::mt19937 random(21);
  int lost = 0, named = 0, whole = 0, unsaid = 0;
  for (int k = 0; k < count; ++k) {
    const Case& c = cases[static_cast<size_t>(k) % cases.size()];
    std::string bytes = ToWire(c.graph);
    Damage(bytes, random);
    auto graph = ReadTensorFlowGraph(bytes, Limits{});
    EXPECT_TRUE(graph || !graph.error().message.empty());
    if (graph && FactsOf(*graph) >= FactsOf(c.graph)) continue;
    ++lost;
    if (!graph || !graph->warnings.empty()) {
      ++named;
    } else if (oracle.IsWhole(bytes)) {
      ++whole;
    } else {
      ++unsaid;
      ADD_FAILURE() << "mutant " << k << " of " << c.name << " lost something in silence";
    }
  }
  std::printf("%d mutants: %d say less, %d of them name it, %d are whole graphs, %d silent\n",
              count, lost, named, whole, unsaid);
  EXPECT_GT(lost, count / 3);
}

int64_t FactsOf(const MarkingLog& log) {
  int64_t count = 0;
  for (const MarkingRun& run : log.runs) {
    count += run.graph.empty() ? 0 : 1;
    count += std::ssize(run.nodes) + std::ssize(run.edges) + std::ssize(run.assigned);
    for (const auto& [name, word] : run.nodes) count += word.why != OutsideReason::kUnknown;
    for (const auto& [name, word] : run.edges) count += word.why != OutsideReason::kUnknown;
  }
  return count;
}

// Lines that programs print between those of the log, with words that it has too.
TEST(TensorFlowLossesTest, SoundLinesOfOthersAreNone) {
  const std::string text = ReadAll(kCases / "stack" / "tensorflow.log");
  for (std::string_view line :
       {"moved 3 nodes to cluster cluster_2", "layer dense_1 (op MatMul)", "step (op 3): done",
        "TF_CPP_VMODULE=mark_for_compilation_pass=4,compilability_check_util=4",
        "AsString (No registered 'AsString' OpKernel for XLA_CPU_JIT devices compatible with node "
        "{{node AsString}}){{node AsString}}",
        "reads mark_for_compilation_1.pbtxt", "W1234: a ticket", "as in [a, b].", "(a, b).",
        "2026-11-26 08:35:14,583 INFO: epoch 3"}) {
    const MarkingLog log = ReadMarkingLog(std::string(line) + "\n" + text);
    EXPECT_TRUE(log.warnings.empty()) << log.warnings.front();
  }
}

// Of TensorFlow 2.21: the path between two clusters may lead through other clusters alone.
TEST(TensorFlowLossesTest, CyclesThroughClustersAreWhole) {
  std::string text = ReadAll(kCases / "stack" / "tensorflow.log");
  const size_t info = text.find(" Built ");
  ASSERT_NE(info, std::string::npos);
  const std::string edge =
      text.substr(0, text.find("mark_for_compilation_pass.cc")) +
      "mark_for_compilation_pass.cc:445] Could not contract <f/Mean + 1 others #54> -> <f/NoOp + "
      "36 others #100> because contracting the edge would create a cycle via (all clusters) "
      "[<f/Add + 14 others #70>].\n";
  text.insert(text.rfind('\n', info) + 1, edge);
  const MarkingLog log = ReadMarkingLog(text);
  EXPECT_TRUE(log.warnings.empty()) << log.warnings.front();
  const auto found = std::ranges::find_if(
      log.runs, [](const MarkingRun& run) { return run.edges.contains("f/Mean"); });
  ASSERT_NE(found, log.runs.end());
  EXPECT_EQ(found->edges.find("f/Mean")->second.why, OutsideReason::kCycle);
}

// The kernel of a fused operation may be for other types than those that the user's have, and
// operations of a pipeline are its own.
TEST(TensorFlowMarkingTest, WhyThereIsNoKernel) {
  TensorFlowNode node;
  node.op = "_FusedConv2D";
  node.types = {{"T", 1}};  // DT_FLOAT
  EXPECT_EQ(NoKernelReason(node), OutsideReason::kRemapped);
  node.op = "SparseApplyAdagrad";
  EXPECT_EQ(NoKernelReason(node), OutsideReason::kRefVariable);
  node.op = "ApplyAdam";
  EXPECT_EQ(NoKernelReason(node), OutsideReason::kRefVariable);
  node.op = "RemoteCall";
  node.types = {{"Tin", 7}};  // DT_STRING
  EXPECT_EQ(NoKernelReason(node), OutsideReason::kRemoteCall);
  node.op = "MergeV2Checkpoints";
  EXPECT_EQ(NoKernelReason(node), OutsideReason::kHostEffect);
  node.op = "MultiDeviceIteratorInit";
  EXPECT_EQ(NoKernelReason(node), OutsideReason::kInputPipeline);
  for (const char* op : {"OptionalGetValue", "GetOptions"}) {
    node.op = op;
    EXPECT_EQ(NoKernelReason(node), OutsideReason::kInputPipeline) << op;
  }
  for (const char* op : {"ShardedFilename", "ShardedFilespec"}) {
    node.op = op;
    node.types = {};
    EXPECT_EQ(NoKernelReason(node), OutsideReason::kString) << op;
  }
  node.op = "DisableCopyOnRead";
  EXPECT_EQ(NoKernelReason(node), OutsideReason::kHostEffect);
}

// Lines of which little is left, each of a mutant that lost something in silence.
TEST(TensorFlowLossesTest, LinesThatBreakOffAreNamed) {
  const std::string text = ReadAll(kCases / "stack" / "tensorflow.log");
  const std::string frame = text.substr(0, text.find("mark_for_compilation_pass.cc"));
  const auto with = [&](std::string_view was, std::string_view is) {
    std::string out = text;
    const size_t at = out.find(was);
    EXPECT_NE(at, std::string::npos) << was;
    return at == std::string::npos ? out : out.replace(at, was.size(), is);
  };
  for (const std::string& log : {
           text + frame + "compilability_check_util.cc:62] Foun\n",
           with("(op _Retval)", "(op _\xfe\x65tval)"),
           frame.substr(0, frame.size() - 2) + "rk_for_c",
           text + frame.substr(0, 4) + "ompilation_1.pbtxt\n",
           text + "node_a,node_b].\n",
           with(" Unclustered nodes: ", " Unclustered nodes: &"),
       }) {
    EXPECT_FALSE(ReadMarkingLog(log).warnings.empty()) << log.substr(log.size() - 120);
  }
}

// 500 logs: one that says less than before names a line, or what is left are whole lines of it and
// lines that hold nothing of the log's own words any more.
TEST(TensorFlowLossesTest, DamagedLogsNameWhatTheyLost) {
  std::vector<std::string> texts;
  for (const Case& c : Cases()) texts.push_back(ReadAll(kCases / c.name / "tensorflow.log"));
  for (const std::string& text : texts) {
    const MarkingLog log = ReadMarkingLog(text);
    EXPECT_TRUE(log.warnings.empty()) << log.warnings.front();
  }
  const char* more = std::getenv("HLOSCOPE_MUTATIONS");
  const int count = more == nullptr ? 500 : std::atoi(more);
  std::mt19937 random(22);
  int lost = 0, named = 0, whole = 0, unsaid = 0;
  for (int k = 0; k < count; ++k) {
    const std::string& before = texts[static_cast<size_t>(k) % texts.size()];
    std::string text = before;
    Damage(text, random);
    const MarkingLog log = ReadMarkingLog(text);
    if (FactsOf(log) >= FactsOf(ReadMarkingLog(before))) continue;
    ++lost;
    if (!log.warnings.empty()) {
      ++named;
      continue;
    }
    // The time before a message may be any, and so may the number at its end.
    auto message_of = [](std::string line) {
      while (!line.empty() && std::isdigit(static_cast<unsigned char>(line.back())) != 0)
        line.pop_back();
      return line.substr(std::min(line.size(), line.find(".cc:")));
    };
    std::set<std::string> lines;
    std::istringstream all(before), left(text);
    for (std::string line; std::getline(all, line);) lines.insert(message_of(line));
    bool good = true;
    for (std::string line; std::getline(left, line);)
      good &= lines.contains(message_of(line)) || line.empty();
    good |= !text.contains("_");  // no word of it is left
    whole += good;
    unsaid += !good;
    std::istringstream again(text);
    for (std::string line; !good && std::getline(again, line);)
      if (!lines.contains(message_of(line))) std::printf("silent %d: %s\n", k, line.c_str());
  }
  std::printf("%d logs: %d say less, %d of them name it, %d are whole lines, %d silent\n", count,
              lost, named, whole, unsaid);
  EXPECT_EQ(unsaid, 0);
  EXPECT_GT(lost, count / 3);
}

TEST(TensorFlowLossesTest, CutGraphsSaySo) {
  std::mt19937 random(21);
  const std::vector<Case> cases = Cases();
  int64_t cut = 0, named = 0;
  const char* more = std::getenv("HLOSCOPE_MUTATIONS");
  const int count = more == nullptr ? 60 : std::atoi(more);
  for (int k = 0; k < count; ++k) {
    const Case& c = cases[static_cast<size_t>(k) % cases.size()];
    const std::string wire = ToWire(c.graph);
    auto cut_wire = ReadTensorFlowGraph(wire.substr(0, random() % (wire.size() - 5)), Limits{});
    ++cut;
    named += !cut_wire || !cut_wire->warnings.empty();
    for (const auto& entry : fs::directory_iterator(kCases / c.name)) {
      if (entry.path().extension() != ".pbtxt") continue;
      const std::string text = ReadAll(entry.path());
      auto cut_off = ReadTensorFlowGraph(text.substr(0, random() % (text.size() - 40)), Limits{});
      ++cut;
      named += !cut_off || !cut_off->warnings.empty();
    }
  }
  EXPECT_EQ(named, cut) << "a cut graph says so";
}

}  // namespace
}  // namespace hloscope::dump
