// TensorFlow's clusters against what TensorFlow itself logged, on dumps of small programs made with
// TensorFlow 2.21 (tests/dump/tensorflow); the two ways a GraphDef is written; damaged ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "core/dump/dump_model.h"
#include "core/dump/listing/sniff.h"
#include "core/dump/tensorflow/graph_builder.h"
#include "core/dump/tensorflow/marking.h"
#include "core/dump/tensorflow/marking_log.h"

namespace hloscope::dump {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = fs::path(HLOSCOPE_SOURCE_DIR) / "tests/dump/tensorflow";

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

struct Expected {
  std::string_view folder, node;
  OutsideReason why;
  std::string_view evidence;  // part of it
};

TEST(TensorFlowMarkingTest, NamesReasonAndFacts) {
  using enum OutsideReason;
  const Expected rows[] = {
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
      {"table", "", kTable, ""},
      {"nms", "non_max_suppression/NonMaxSuppressionV3", kSlow, ""},
      {"dynamic", "Unique", kUniqueSize, ""},
      {"too_small", "Exp", kTooSmall, "Exp"},
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
std::string Attribute(std::string_view key, std::string_view value) {
  return Bytes(5, Bytes(1, key) + Bytes(2, value));
}

// The facts that the text reader took, written as a GraphDef in wire format.
std::string ToWire(const TensorFlowGraph& graph) {
  auto node_of = [](const TensorFlowNode& node) {
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
    std::string body = Bytes(1, Bytes(1, function.name));
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

// Nothing dies, and what is lost is named.
TEST(TensorFlowMarkingTest, DamagedGraphsAndLogsAreSurvived) {
  std::mt19937 random(21);
  const std::vector<Case> cases = Cases();
  auto damage = [&](std::string& text) {
    for (uint32_t k = 0; k < 1 + random() % 4; ++k) {
      if (text.empty()) return;
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
          text.resize(at);
          break;
      }
    }
  };
  int64_t cut = 0, named = 0;
  const char* more = std::getenv("HLOSCOPE_MUTATIONS");
  const int count = more == nullptr ? 60 : std::atoi(more);
  for (int k = 0; k < count; ++k) {
    const Case& c = cases[static_cast<size_t>(k) % cases.size()];
    std::string wire = ToWire(c.graph), log;
    auto cut_wire = ReadTensorFlowGraph(wire.substr(0, random() % (wire.size() - 5)), Limits{});
    ++cut;
    named += !cut_wire || !cut_wire->warnings.empty();
    damage(wire);
    auto graph = ReadTensorFlowGraph(wire, Limits{});
    EXPECT_TRUE(graph || !graph.error().message.empty());
    for (const auto& entry : fs::directory_iterator(kCases / c.name)) {
      std::string text = ReadAll(entry.path());
      if (entry.path().extension() == ".pbtxt") {
        std::string half = text.substr(0, random() % (text.size() - 40));
        auto cut_off = ReadTensorFlowGraph(half, Limits{});
        ++cut;
        named += !cut_off || !cut_off->warnings.empty();
      }
      damage(text);
      (void)ReadTensorFlowGraph(text, Limits{});
      (void)ReadMarkingLog(text);
    }
  }
  EXPECT_EQ(named, cut) << "a cut graph says so";
}

}  // namespace
}  // namespace hloscope::dump
