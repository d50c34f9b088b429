// One TensorFlow graph, without the others of its dump.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <ranges>

#include "app/reports/dump_report.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/dump/listing/sniff.h"
#include "core/dump/tensorflow_borders.h"

namespace hloscope::app {
namespace {

constexpr size_t kShownOperations = 12;

// Of the main graph, or of its library's functions.
struct NodeCounts {
  int64_t nodes = 0, clustered = 0, in_functions = 0;
  std::map<std::string, int64_t> operations;  // of the main graph
};

NodeCounts CountNodes(const dump::TensorFlowGraph& graph) {
  NodeCounts counts;
  for (const dump::TensorFlowNode& node : graph.nodes) {
    if (!node.function.empty()) {
      ++counts.in_functions;
      continue;
    }
    ++counts.nodes;
    counts.clustered += node.cluster.empty() ? 0 : 1;
    ++counts.operations[node.op];
  }
  return counts;
}

// "operations: 12 Const 4 MatMul …", the most frequent first.
std::string OperationsText(const std::map<std::string, int64_t>& operations) {
  std::vector<std::pair<std::string, int64_t>> sorted(operations.begin(), operations.end());
  std::ranges::stable_sort(sorted, std::greater(), &std::pair<std::string, int64_t>::second);
  std::string out = "  operations:";
  for (const auto& [op, count] : sorted | std::views::take(kShownOperations))
    out += FormatText(" {} {}", count, op);
  if (sorted.size() > kShownOperations)
    out += FormatText(" and {} more", sorted.size() - kShownOperations);
  return out + "\n";
}

// Nodes of the main graph that marking left out; a graph from before marking has none.
std::vector<dump::TensorFlowNode> LeftOut(const dump::TensorFlowSummary& summary) {
  std::vector<dump::TensorFlowNode> nodes;
  std::ranges::copy_if(summary.unclustered, std::back_inserter(nodes),
                       [](const dump::TensorFlowNode& node) {
                         return node.why != dump::OutsideReason::kNotMarked && !node.eager;
                       });
  return nodes;
}

}  // namespace

std::string GraphText(const LoneGraph& lone) {
  const NodeCounts counts = CountNodes(lone.graph);
  std::string out =
      FormatText("{}: {} ({})\n", lone.path, dump::Describe(lone.kind), BytesText(lone.bytes));
  out += FormatText("  {}", Counted(static_cast<size_t>(counts.nodes), "node"));
  if (!lone.graph.functions.empty()) {
    out += FormatText(", and {} in {} of its library",
                      Counted(static_cast<size_t>(counts.in_functions), "node"),
                      Counted(lone.graph.functions.size(), "function"));
  }
  out += lone.summary.clusters.empty()
             ? "; no clusters: written before they are marked, or none was made\n"
             : FormatText("; {} in {}\n", Counted(static_cast<size_t>(counts.clustered), "node"),
                          Counted(lone.summary.clusters.size(), "cluster"));
  if (counts.nodes > 0) out += OperationsText(counts.operations);
  for (const dump::TensorFlowCluster& cluster : lone.summary.clusters) {
    out += FormatText("  cluster {}: {}", cluster.name,
                      Counted(static_cast<size_t>(std::max<int64_t>(cluster.nodes, 0)), "node"));
    for (const std::string& device : cluster.devices) out += FormatText(" on {}", device);
    out += "\n";
  }
  if (const auto left_out = LeftOut(lone.summary); !left_out.empty()) {
    out += FormatText("  {} in no cluster:\n", Counted(left_out.size(), "node"));
    out += OutsideText(left_out);
  }
  if (std::ranges::any_of(lone.summary.unclustered, &dump::TensorFlowNode::eager))
    out += "  eager mode runs its operation by itself: XLA compiles functions\n";
  const auto borders = dump::FindBorders(lone.graph);
  if (const std::string text = dump::BordersText(borders, BytesText); !text.empty())
    out += FormatText("  {}\n", text);
  out += DevicesText(lone.summary.devices);
  for (const std::string& warning : lone.summary.warnings)
    out += FormatText("  warning: {}\n", warning);
  return out + "  hloscope show lists its nodes, show --format svg draws it\n";
}

std::string GraphJson(const LoneGraph& lone) {
  const NodeCounts counts = CountNodes(lone.graph);
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("file", lone.path).Field("kind", dump::ToString(lone.kind));
  json.Field("bytes", lone.bytes).Field("nodes", counts.nodes);
  json.Field("nodes_in_clusters", counts.clustered);
  json.Field("nodes_in_functions", counts.in_functions);
  json.Key("functions").BeginArray();
  for (const dump::TensorFlowFunction& function : lone.graph.functions) json.Value(function.name);
  json.EndArray().Key("operations").BeginObject();
  for (const auto& [op, count] : counts.operations) json.Field(op, count);
  json.EndObject().Key("clusters").BeginArray();
  for (const dump::TensorFlowCluster& cluster : lone.summary.clusters) {
    json.BeginObject().Field("name", cluster.name).Field("nodes", cluster.nodes);
    json.Key("devices").BeginArray();
    for (const std::string& device : cluster.devices) json.Value(device);
    json.EndArray().EndObject();
  }
  json.EndArray().Key("unclustered").BeginArray();
  for (const dump::TensorFlowNode& node : LeftOut(lone.summary)) {
    json.BeginObject().Field("node", node.name).Field("op", node.op).Field("device", node.device);
    json.Field("reason", node.reason).Field("evidence", node.evidence).Field("fix", node.fix);
    json.EndObject();
  }
  json.EndArray().Key("devices").BeginArray();
  for (const std::string& device : lone.summary.devices) json.Value(device);
  json.EndArray().Key("warnings").BeginArray();
  for (const std::string& warning : lone.summary.warnings) json.Value(warning);
  json.EndArray().EndObject();
  return out + "\n";
}

}  // namespace hloscope::app
