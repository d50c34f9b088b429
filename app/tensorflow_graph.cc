#include "app/tensorflow_graph.h"

#include <fmt/format.h>

#include <map>

#include "app/fail.h"
#include "app/output.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/dump/container.h"
#include "core/dump/dump_model.h"
#include "core/dump/listing/sniff.h"
#include "core/dump/tensorflow_borders.h"
#include "core/graph/labels.h"
#include "core/graph/tensorflow/tensorflow_picture.h"

namespace hloscope::app {
namespace {

// The nodes that marking left out. A graph from before marking has none yet.
std::map<std::string, const dump::TensorFlowNode*> OutsideOf(const OpenedTensorFlowGraph& opened) {
  std::map<std::string, const dump::TensorFlowNode*> outside;
  for (const dump::TensorFlowNode& node : opened.summary->unclustered) {
    if (node.why != dump::OutsideReason::kNotMarked) outside.emplace(node.name, &node);
  }
  return outside;
}

// "ops/Relu (Relu) on …: cluster_0", one for each node of the main graph.
std::string TextOf(const OpenedTensorFlowGraph& opened) {
  const auto outside = OutsideOf(opened);
  std::string out;
  for (const dump::TensorFlowNode& node : opened.graph->nodes) {
    if (!node.function.empty()) continue;
    out += FormatText("{} ({})", node.name, node.op);
    if (!node.device.empty()) out += " on " + node.device;
    const auto why = outside.find(node.name);
    if (!node.cluster.empty()) {
      out += ": in " + node.cluster;
    } else if (why != outside.end() && !why->second->reason.empty()) {
      out += ": in no cluster: " + why->second->reason;
      if (!why->second->evidence.empty()) out += " (" + why->second->evidence + ")";
      if (!why->second->fix.empty()) out += "; fix: " + why->second->fix;
    }
    out += '\n';
  }
  const auto borders = dump::FindBorders(*opened.graph);
  if (const std::string text = dump::BordersText(borders, graph::BytesText); !text.empty())
    out += text + '\n';
  return out;
}

std::string JsonOf(const std::string& path, const OpenedTensorFlowGraph& opened) {
  const auto outside = OutsideOf(opened);
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("file", path).Key("nodes").BeginArray();
  for (const dump::TensorFlowNode& node : opened.graph->nodes) {
    if (!node.function.empty()) continue;
    json.BeginObject().Field("node", node.name).Field("op", node.op);
    json.Field("device", node.device).Field("cluster", node.cluster);
    const auto why = outside.find(node.name);
    const bool is_outside = node.cluster.empty() && why != outside.end();
    json.Field("reason", is_outside ? why->second->reason : "");
    json.Field("evidence", is_outside ? why->second->evidence : "");
    json.Field("fix", is_outside ? why->second->fix : "").EndObject();
  }
  json.EndArray().Key("borders").BeginArray();
  for (const dump::ClusterBorder& border : dump::FindBorders(*opened.graph)) {
    json.BeginObject().Field("from", border.from).Field("to", border.to).Key("bytes");
    border.bytes < 0 ? json.Null() : json.Value(border.bytes);
    json.Field("copied", border.copied()).EndObject();
  }
  json.EndArray().Key("warnings").BeginArray();
  for (const std::string& warning : opened.summary->warnings) json.Value(warning);
  json.EndArray().EndObject();
  return out + "\n";
}

void PrintWarnings(const OpenedTensorFlowGraph& opened) {
  for (const std::string& warning : opened.summary->warnings) PrintError("warning: " + warning);
}

}  // namespace

Result<OpenedTensorFlowGraph> OpenTensorFlowGraph(const std::string& path, const FileView& file,
                                                  const Context& context) {
  dump::OpenOptions options;
  options.file = &file;
  HLOSCOPE_ASSIGN_OR_RETURN(auto model, dump::DumpModel::Open(path, context.limits, options));
  if (model->files().empty() || !dump::IsTensorFlowKind(model->files().front().kind))
    return InputError(path + ": no graph of TensorFlow: expected a GraphDef, text or binary",
                      "TF_DUMP_GRAPH_PREFIX=DIR makes TensorFlow write its graphs");
  OpenedTensorFlowGraph opened;
  HLOSCOPE_ASSIGN_OR_RETURN(opened.graph, model->TensorFlow(0));
  HLOSCOPE_ASSIGN_OR_RETURN(opened.summary, model->TensorFlow());
  return opened;
}

bool IsTensorFlowGraph(const FileView& file) {
  return dump::IsTensorFlowKind(dump::Sniff(file.bytes()));
}

int ShowTensorFlowGraph(const std::string& path, const FileView& file, const std::string& second,
                        const std::string& format, const Context& context) {
  const auto opened = OpenTensorFlowGraph(path, file, context);
  if (!opened) return Fail(path, opened.error(), context);
  if (!second.empty() && format != "svg")
    return Fail(second,
                InputError(second + ": two graphs are drawn, expected --format svg",
                           "hloscope show lists the nodes of one graph")
                    .error(),
                context);
  if (format == "json") {
    WriteOut(JsonOf(path, *opened));
    return kGood;
  }
  if (format != "hlo" && format != "svg")
    return Fail(path,
                InputError(fmt::format("{}: no {} of a TensorFlow graph", path, format),
                           "--format svg draws it, --format json lists its nodes")
                    .error(),
                context);
  PrintWarnings(*opened);
  if (format == "hlo") {
    PrintOut(TextOf(*opened));
    return kGood;
  }
  std::vector<graph::TensorFlowPane> panes = {
      graph::PaneOf(path, *opened->graph, *opened->summary)};
  if (!second.empty()) {
    const auto other_file = dump::OpenInput(second, context.limits);
    if (!other_file) return Fail(second, other_file.error(), context);
    const auto other = OpenTensorFlowGraph(second, *other_file, context);
    if (!other) return Fail(second, other.error(), context);
    PrintWarnings(*other);
    panes.push_back(graph::PaneOf(second, *other->graph, *other->summary));
  }
  WriteOut(graph::ToSvg(panes));
  return kGood;
}

}  // namespace hloscope::app
