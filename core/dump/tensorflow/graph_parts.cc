#include "core/dump/tensorflow/graph_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/dump/tensorflow/whole_advice.h"

namespace hloscope::dump {
namespace {

constexpr size_t kMaxOperations = 1024;  // of a function that tf.data calls

// keras/src/trainers/data_adapters/array_data_adapter.py of Keras 3, as tf.data names them.
bool IsKerasAdapter(std::string_view function) {
  constexpr std::array<std::string_view, 3> kNames = {
      "Dataset_map_permutation", "Dataset_flat_map_slice_batch_indices", "Dataset_map_grab_batch"};
  return std::ranges::find(kNames, TensorFlowFunctionName(function)) != kNames.end();
}

std::string TextOf(const TensorFlowNode& node) { return fmt::format("{} {}", node.name, node.op); }

}  // namespace

bool IsPlumbing(std::string_view op) {
  constexpr std::array<std::string_view, 17> kPlumbing = {
      "_Arg",  "_Retval",  "_DeviceArg", "_DeviceRetval", "Const",      "HostConst",
      "_Send", "_Recv",    "_HostSend",  "_HostRecv",     "_XlaRun",    "_EagerConst",
      "NoOp",  "Identity", "IdentityN",  "_XlaCompile",   "VarHandleOp"};
  return std::ranges::find(kPlumbing, op) != kPlumbing.end();
}

bool IsEndOfFunction(std::string_view op) {
  return op == "_Arg" || op == "_Retval" || op == "_DeviceArg" || op == "_DeviceRetval" ||
         op == "NoOp";
}

bool IsDataset(std::string_view op) { return op.contains("Dataset"); }

std::string_view GraphParts::PartOfFunction(const std::string& function) const {
  if (IsKerasAdapter(function)) return kKerasData;
  return by_datasets_.contains(function) ? kDatasetPart : "";
}

bool GraphParts::Mapped::Holds(const Texts& graph) const {
  return std::ranges::all_of(graph, [&](const std::string& operation) {
    if (operations.contains(operation)) return true;
    // "PartitionedCall/DecodeJpeg DecodeJpeg", of the function that PartitionedCall calls.
    for (size_t at = operation.find('/'); at != operation.npos; at = operation.find('/', at + 1)) {
      if (calls.contains(std::string_view(operation).substr(0, at))) return true;
    }
    return false;
  });
}

void GraphParts::AddFunctions(const TensorFlowGraph& graph) {
  for (const TensorFlowNode& node : graph.nodes) {
    if (IsDataset(node.op)) by_datasets_.insert(node.functions.begin(), node.functions.end());
  }
  for (const TensorFlowFunction& function : graph.functions) {
    Mapped mapped{.operations = {}, .calls = {}, .part = PartOfFunction(function.name)};
    if (mapped.part.empty() || function.nodes.size() > 2 * kMaxOperations) continue;
    for (int32_t n : function.nodes) {
      const TensorFlowNode& node = graph.nodes[static_cast<size_t>(n)];
      mapped.operations.insert(TextOf(node));
      if (!node.functions.empty()) mapped.calls.insert(node.name);
    }
    mapped_.insert(std::move(mapped));
  }
}

void GraphParts::Add(const TensorFlowGraph& graph, int32_t file, bool is_eager) {
  AddFunctions(graph);
  if (is_eager) {
    eager_.insert(file);
    return;
  }
  Texts operations;
  bool is_mapped = false, assigns = false, has_initializer = false, has_others = false;
  for (const TensorFlowNode& node : graph.nodes) {
    if (!node.function.empty()) continue;
    is_mapped |= node.op == "_Arg" && node.name.starts_with("args_");
    const bool is_initializer = node.name.contains("/Initializer/");
    has_initializer |= is_initializer;
    if (IsPlumbing(node.op)) continue;
    if (operations.size() <= kMaxOperations) operations.insert(TextOf(node));
    const bool is_assignment =
        node.op == "AssignVariableOp" || node.op == "Assign" || node.op == "VariableV2";
    assigns |= is_assignment;
    has_others |= !is_assignment && !is_initializer;
  }
  if (assigns && has_initializer && !has_others) initial_.insert(file);
  if (is_mapped && !operations.empty() && operations.size() <= kMaxOperations)
    with_args_.emplace(file, std::move(operations));
}

std::string_view GraphParts::PartOf(int32_t file) {
  if (eager_.contains(file)) return kEagerPart;
  if (initial_.contains(file)) return "the initialization of variables";
  const auto at = with_args_.find(file);
  if (at == with_args_.end()) return {};
  const auto [found, is_new] = found_.try_emplace(file);
  if (!is_new) return found->second;
  const auto mapped = std::ranges::find_if(
      mapped_, [&](const Mapped& function) { return function.Holds(at->second); });
  if (mapped != mapped_.end()) found->second = mapped->part;
  return found->second;
}

TensorFlowCluster* ClusterOfBody(const TensorFlowGraph& graph,
                                 std::map<std::string, TensorFlowCluster>& clusters) {
  // encapsulate_subgraphs_pass names what goes into and out of the function of a cluster so.
  bool has_ends = false;
  std::vector<std::string_view> names;
  for (const TensorFlowNode& node : graph.nodes) {
    if (!node.function.empty()) continue;
    const bool is_argument = node.op == "_Arg", is_result = node.op == "_Retval";
    if (is_argument && !node.name.ends_with("_arg")) return nullptr;
    if (is_result && !node.name.ends_with("_retval_RetVal")) return nullptr;
    has_ends |= is_argument || is_result;
    if (!IsPlumbing(node.op)) names.emplace_back(node.name);
  }
  if (!has_ends || names.empty()) return nullptr;
  for (auto& [name, cluster] : clusters) {
    const std::vector<std::string>& members = cluster.members;
    if (std::ranges::find(members, names.front()) == members.end()) continue;
    const std::set<std::string_view> all(members.begin(), members.end());
    if (std::ranges::all_of(names, [&](std::string_view one) { return all.contains(one); }))
      return &cluster;
  }
  return nullptr;
}

}  // namespace hloscope::dump
