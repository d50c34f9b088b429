// Shapes go from operands to users in the order of execution; what stands in a loop stays unknown.
#include "core/dump/tensorflow/known_shapes.h"

#include <algorithm>

namespace hloscope::dump {
namespace {

using Shape = std::optional<std::vector<int64_t>>;

bool IsElementwise(std::string_view op) {
  constexpr std::string_view kElementwise[] = {
#define ELEMENTWISE(operation) operation,
#include "core/dump/tensorflow/elementwise.def"
#undef ELEMENTWISE
  };
  return std::ranges::find(kElementwise, op) != std::end(kElementwise);
}

// As NumPy does; nullopt where the two do not fit.
Shape Broadcast(const Shape& a, const Shape& b) {
  if (!a || !b) return std::nullopt;
  std::vector<int64_t> out(std::max(a->size(), b->size()));
  for (size_t k = 0; k < out.size(); ++k) {
    const int64_t x = k < a->size() ? (*a)[a->size() - 1 - k] : 1;
    const int64_t y = k < b->size() ? (*b)[b->size() - 1 - k] : 1;
    if (x != y && x != 1 && y != 1 && x != -1 && y != -1) return std::nullopt;
    // A known size above 1 wins over an unknown one, which must then be it or 1.
    out[out.size() - 1 - k] = x == 1 ? y : y == 1 ? x : std::max(x, y);
  }
  return out;
}

Shape ShapeOf(const TensorFlowNode& node, const std::vector<GraphEdge>& inputs,
              const std::vector<Shape>& known) {
  if (!node.shapes.empty()) return node.shapes.front();
  if (!IsElementwise(node.op)) return std::nullopt;
  Shape shape;
  bool first = true;
  for (const GraphEdge& input : inputs) {
    if (input.slot < 0) continue;
    if (input.node < 0 || input.slot > 0) return std::nullopt;
    const Shape& own = known[static_cast<size_t>(input.node)];
    shape = first ? own : Broadcast(shape, own);
    first = false;
    if (!shape) return std::nullopt;
  }
  return shape;
}

}  // namespace

std::vector<Shape> KnownShapes(const TensorFlowGraph& graph, const GraphEdges& edges) {
  std::vector<Shape> known(graph.nodes.size());
  std::vector<int32_t> waiting(graph.nodes.size(), 0), ready;
  for (int32_t n : edges.main()) {
    for (const GraphEdge& edge : edges.inputs(n)) waiting[static_cast<size_t>(n)] += edge.node >= 0;
    if (waiting[static_cast<size_t>(n)] == 0) ready.push_back(n);
  }
  for (size_t k = 0; k < ready.size(); ++k) {
    const auto n = static_cast<size_t>(ready[k]);
    known[n] = ShapeOf(graph.nodes[n], edges.inputs(ready[k]), known);
    for (const GraphEdge& user : edges.users(ready[k])) {
      if (--waiting[static_cast<size_t>(user.node)] == 0) ready.push_back(user.node);
    }
  }
  return known;
}

}  // namespace hloscope::dump
