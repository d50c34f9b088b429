// A GraphDef put together; names of types and devices.
#include "core/dump/tensorflow/graph_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/strings.h"
#include "core/dump/readers/graph_sniff.h"
#include "core/dump/tensorflow/graph_losses.h"
#include "core/dump/tensorflow/marking.h"

namespace hloscope::dump {
namespace {

struct TypeRow {
  int32_t number;
  std::string_view name;
  int64_t bits;
};
constexpr TypeRow kTypes[] = {
#define TENSORFLOW_TYPE(number, name, bits) {number, name, bits},
#include "core/dump/tensorflow/tensorflow_types.def"
#undef TENSORFLOW_TYPE
};
constexpr int32_t kRef = 100;  // added to the number of a type for a reference to one

// What a device of TensorFlow is, by the type in its name. The first row that fits counts.
struct DeviceRow {
  std::string_view type, sentence;
};
constexpr DeviceRow kDeviceRows[] = {
    {"XLA_CPU_JIT",
     "not a device: the name under which XLA's kernels for CPU are registered; clusters of CPU "
     "nodes are compiled for it"},
    {"XLA_GPU_JIT",
     "not a device: the name under which XLA's kernels for GPU are registered; clusters of GPU "
     "nodes are compiled for it"},
    {"XLA_TPU_JIT", "not a device: the name under which XLA's kernels for TPU are registered"},
    {"XLA_CPU",
     "an old extra device that compiles every operation by itself; it is made only with "
     "--tf_xla_enable_xla_devices, and is not needed to use XLA"},
    {"XLA_GPU",
     "an old extra device that compiles every operation by itself; it is not the GPU that "
     "TensorFlow uses, is made only with --tf_xla_enable_xla_devices, and is not needed to use "
     "XLA"},
    {"TPU_SYSTEM", "the host that drives a TPU"},
    {"CPU",
     "TensorFlow's CPU device; auto-clustering compiles its nodes for XLA_CPU_JIT, only with "
     "--tf_xla_cpu_global_jit"},
    {"GPU", "TensorFlow's GPU device; auto-clustering compiles its nodes for XLA_GPU_JIT"},
    {"TPU", "a TPU: everything on it is compiled by XLA"},
};

const TypeRow* RowOf(int32_t type) {
  for (const TypeRow& row : kTypes) {
    if (row.number == type % kRef) return type > 0 && type < 2 * kRef ? &row : nullptr;
  }
  return nullptr;
}

}  // namespace

std::string TensorFlowTypeName(int32_t type) {
  const TypeRow* row = RowOf(type);
  if (row == nullptr) return fmt::format("type {}", type);
  return fmt::format("{}{}", row->name, type > kRef ? "_REF" : "");
}

int64_t TensorFlowTypeBits(int32_t type) {
  const TypeRow* row = RowOf(type);
  return row == nullptr ? 0 : row->bits;
}

int32_t TensorFlowTypeOf(std::string_view name) {
  if (!name.starts_with("DT_")) return 0;
  name.remove_prefix(3);
  const bool ref = name.ends_with("_REF");
  if (ref) name.remove_suffix(4);
  for (const TypeRow& row : kTypes) {
    if (row.name == name) return row.number + (ref ? kRef : 0);
  }
  return 0;
}

std::string_view TensorFlowDeviceType(std::string_view device) {
  size_t at = device.rfind("device:");
  if (at != std::string_view::npos) {
    device.remove_prefix(at + 7);
  } else if (device.starts_with('/')) {
    device.remove_prefix(device.rfind('/') + 1);
    if (device.starts_with("job:") || device.starts_with("task:") || device.starts_with("replica:"))
      return {};
  }
  return device.substr(0, device.find(':'));
}

std::string_view DescribeTensorFlowDevice(std::string_view device) {
  const std::string type = AsciiStrToUpper(TensorFlowDeviceType(device));
  for (const DeviceRow& row : kDeviceRows) {
    if (row.type == type) return row.sentence;
  }
  return {};
}

void GraphBuilder::NameFunction(std::string name) {
  if (!graph_.functions.empty()) graph_.functions.back().name = std::move(name);
}

void GraphBuilder::FunctionFlag(std::string_view key, bool value) {
  if (graph_.functions.empty()) return;
  if (key == "_XlaCompile") graph_.functions.back().xla_compile = value;
  if (key == "_XlaMustCompile") graph_.functions.back().must_compile = value;
}

void GraphBuilder::BeginNode(bool in_function) {
  node_ = {};
  in_function_ = in_function && !graph_.functions.empty();
}

void GraphBuilder::EndNode() {
  if (in_function_)
    graph_.functions.back().nodes.push_back(static_cast<int32_t>(graph_.nodes.size()));
  graph_.nodes.push_back(std::move(node_));
  node_ = {};
}

void GraphBuilder::String(std::string_view key, std::string value) {
  if (key == "_XlaCluster" || key == "_xla_compile_id")
    node_.cluster = std::move(value);
  else if (key == "_XlaOutsideCompilation")
    node_.outside = std::move(value);
  else if (key == "_XlaInternalScope")
    node_.scope = std::move(value);
}

void GraphBuilder::Flag(std::string_view key, bool value) {
  if (key == "_XlaCompile") node_.xla_compile = value;
  if (key == "_XlaMustCompile") node_.must_compile = value;
  if (key == "_scoped_allocator" || key == "_forward_from") node_.scoped_allocator = true;
}

void GraphBuilder::Type(std::string_view key, int32_t type) { node_.types.emplace_back(key, type); }

void GraphBuilder::Dimension(int64_t size) {
  if (!node_.shapes.empty() && node_.shapes.back()) node_.shapes.back()->push_back(size);
}

void GraphBuilder::UnknownRank() {
  if (!node_.shapes.empty()) node_.shapes.back() = std::nullopt;
}

TensorFlowGraph GraphBuilder::Finish() {
  for (const TensorFlowFunction& function : graph_.functions) {
    for (int32_t node : function.nodes)
      graph_.nodes[static_cast<size_t>(node)].function = function.name;
  }
  std::map<std::string, TensorFlowCluster> clusters;
  std::map<std::string, std::set<std::string>> devices;
  for (const TensorFlowNode& node : graph_.nodes) {
    if (node.cluster.empty()) continue;
    TensorFlowCluster& cluster = clusters[node.cluster];
    cluster.name = node.cluster;
    cluster.nodes = std::max<int64_t>(cluster.nodes, 0) + 1;
    cluster.members.push_back(node.name);
    ++cluster.operations[node.op];
    if (!node.device.empty()) devices[node.cluster].insert(node.device);
  }
  for (auto& [name, cluster] : clusters) {
    cluster.devices.assign(devices[name].begin(), devices[name].end());
    graph_.clusters.push_back(std::move(cluster));
  }
  return std::move(graph_);
}

Result<TensorFlowGraph> ReadTensorFlowGraph(std::string_view bytes, const Limits& limits) {
  GraphBuilder builder;
  const bool wire = LooksLikeGraphWire(bytes);
  GraphLosses losses;
  Status status =
      wire ? ReadGraphWire(bytes, builder) : ReadGraphText(bytes, limits, builder, losses);
  if (!status) return std::unexpected(std::move(status).error());
  TensorFlowGraph graph = builder.Finish();
  graph.warnings = wire ? LossesOfGraphWire(bytes) : losses.Finish();
  MarkOutside(graph);
  return graph;
}

}  // namespace hloscope::dump
