// Edges of the main graph between a cluster and what is outside it, or in another.
#include "core/dump/tensorflow_borders.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/dump/tensorflow/known_shapes.h"

namespace hloscope::dump {
namespace {

// Attributes that hold the type of a result, the most telling first.
constexpr std::string_view kResultTypes[] = {"DstT", "out_type", "output_type",
                                             "Tout", "dtype",    "T"};

// Their results are of another type than their attribute T.
bool GivesBooleans(std::string_view op) {
  constexpr std::string_view kOperations[] = {"Less",     "LessEqual",  "Greater", "GreaterEqual",
                                              "Equal",    "NotEqual",   "IsNan",   "IsInf",
                                              "IsFinite", "LogicalNot", "All",     "Any"};
  return std::ranges::find(kOperations, op) != std::end(kOperations);
}

// All their results are of the type T (their OpDefs).
bool HasResultsOfOneType(std::string_view op) {
  constexpr std::string_view kOperations[] = {"Split",  "SplitV",    "Unpack",
                                              "Switch", "RefSwitch", "_SwitchN"};
  return std::ranges::find(kOperations, op) != std::end(kOperations);
}

int32_t ResultType(const TensorFlowNode& node, int32_t slot) {
  if (GivesBooleans(node.op)) return 10;
  if (HasResultsOfOneType(node.op)) slot = 0;
  for (std::string_view key : kResultTypes) {
    std::vector<int32_t> types;
    for (const auto& [attribute, type] : node.types) {
      if (attribute == key) types.push_back(type);
    }
    if (types.size() == 1 && slot == 0) return types.front();
    if (static_cast<size_t>(slot) < types.size()) return types[static_cast<size_t>(slot)];
  }
  return 0;
}

int64_t BytesOfShape(const std::optional<std::vector<int64_t>>& shape, int32_t type) {
  const int64_t bits = TensorFlowTypeBits(type);
  if (bits == 0 || !shape) return -1;
  int64_t bytes = bits / 8;
  for (int64_t size : *shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) return -1;
  }
  return bytes;
}

}  // namespace

GraphValues::GraphValues(const TensorFlowGraph& graph, const GraphEdges& edges)
    : graph_(graph), first_(KnownShapes(graph, edges)) {}

int32_t GraphValues::TypeOf(const GraphEdge& value) const {
  return ResultType(graph_.nodes[static_cast<size_t>(value.node)], value.slot);
}

std::optional<std::vector<int64_t>> GraphValues::ShapeOf(const GraphEdge& value) const {
  const auto node = static_cast<size_t>(value.node), slot = static_cast<size_t>(value.slot);
  if (slot == 0) return first_[node];
  const auto& shapes = graph_.nodes[node].shapes;
  return slot < shapes.size() ? shapes[slot] : std::nullopt;
}

int64_t GraphValues::BytesOf(const GraphEdge& value) const {
  return BytesOfShape(ShapeOf(value), TypeOf(value));
}

std::string GraphValues::Text(const GraphEdge& value) const {
  const int32_t type = TypeOf(value);
  std::string text = type == 0 ? std::string() : TensorFlowTypeName(type);
  if (const auto shape = ShapeOf(value)) {
    text += text.empty() ? "[" : " [";
    for (size_t k = 0; k < shape->size(); ++k) {
      const int64_t size = (*shape)[k];
      text += fmt::format("{}{}", k == 0 ? "" : ",", size < 0 ? "?" : std::to_string(size));
    }
    text += ']';
  }
  return text;
}

std::vector<ClusterBorder> FindBorders(const TensorFlowGraph& graph) {
  std::vector<ClusterBorder> borders;
  const GraphEdges edges(graph);
  const GraphValues values(graph, edges);
  for (int32_t n : edges.main()) {
    const TensorFlowNode& to = graph.nodes[static_cast<size_t>(n)];
    for (const GraphEdge& edge : edges.inputs(n)) {
      if (edge.node < 0 || edge.slot < 0) continue;
      const TensorFlowNode& from = graph.nodes[static_cast<size_t>(edge.node)];
      if (from.cluster == to.cluster) continue;
      ClusterBorder border{from.name, to.name, from.cluster, to.cluster, from.device, to.device};
      border.type = values.TypeOf(edge);
      border.bytes = values.BytesOf(edge);
      borders.push_back(std::move(border));
    }
  }
  return borders;
}

std::string BordersText(const std::vector<ClusterBorder>& borders,
                        const std::function<std::string(int64_t)>& bytes_text) {
  if (borders.empty()) return {};
  int64_t bytes = 0, unknown = 0, copied = 0;
  for (const ClusterBorder& border : borders) {
    border.bytes < 0 ? ++unknown : bytes += border.bytes;
    copied += border.copied() ? 1 : 0;
  }
  std::string out = Counted(borders.size(), "value") + " across cluster boundaries";
  if (unknown < std::ssize(borders)) {
    out += ": " + bytes_text(bytes);
    if (unknown > 0) out += fmt::format(" and {} of unknown size", unknown);
  } else {
    out += borders.size() == 1 ? ", of unknown size" : ", all of unknown size";
  }
  return out + (copied > 0 ? fmt::format("; {} copied between devices", copied)
                           : "; none is copied between devices");
}

}  // namespace hloscope::dump
