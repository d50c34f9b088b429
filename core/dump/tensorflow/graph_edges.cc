// Inputs of nodes resolved by name.
#include "core/dump/tensorflow/graph_edges.h"

#include <charconv>

namespace hloscope::dump {

InputName ParseInput(std::string_view input) {
  if (input.starts_with('^')) return {input.substr(1), -1};
  InputName name{input.substr(0, input.find(':')), 0};
  size_t colon = input.rfind(':');
  if (colon != std::string_view::npos)
    std::from_chars(input.data() + colon + 1, input.data() + input.size(), name.slot);
  return name;
}

GraphEdges::GraphEdges(const TensorFlowGraph& graph)
    : inputs_(graph.nodes.size()), users_(graph.nodes.size()) {
  std::unordered_map<std::string_view, int32_t> by_name;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!graph.nodes[n].function.empty()) continue;
    main_.push_back(static_cast<int32_t>(n));
    by_name.try_emplace(graph.nodes[n].name, static_cast<int32_t>(n));
  }
  for (int32_t n : main_) {
    for (const std::string& input : graph.nodes[Position(n)].inputs) {
      const InputName name = ParseInput(input);
      auto at = by_name.find(name.node);
      const int32_t producer = at == by_name.end() ? -1 : at->second;
      inputs_[Position(n)].push_back({producer, name.slot});
      if (producer >= 0) users_[Position(producer)].push_back({n, name.slot});
    }
  }
}

}  // namespace hloscope::dump
