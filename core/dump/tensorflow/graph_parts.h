// Graphs of a TensorFlow dump that are not of the program itself: the functions by which Keras cuts
// arrays into batches, those that give variables their first values, and bodies of clusters that
// TensorFlow ran without XLA.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/tensorflow/tensorflow_graph.h"

namespace hloscope::dump {

// What the author of a program does not write: ends of functions, constants, copies.
bool IsPlumbing(std::string_view op);
bool IsEndOfFunction(std::string_view op);

inline constexpr std::string_view kEagerPart = "operations that eager mode runs one by one";
inline constexpr std::string_view kKerasData = "Keras's data adapter";
// Of a function of a library; as PartOf below.
std::string_view PartOfFunction(std::string_view function);

class GraphParts {
 public:
  // The graph of the file; graphs may hold the functions of others.
  void Add(const TensorFlowGraph& graph, int32_t file, bool is_eager);
  // kKerasData, kEagerPart, "the initialization of variables"; empty: the program itself.
  std::string_view PartOf(int32_t file) const;

 private:
  using Operations = std::set<std::string, std::less<>>;  // "name operation"
  void AddFunctions(const TensorFlowGraph& graph);
  std::set<Operations> adapters_;
  std::map<int32_t, Operations> small_;  // graphs of a few operations with arguments "args_0", …
  std::set<int32_t> initial_, eager_;
};

// The cluster whose body the graph is, which TensorFlow instantiates to run it without XLA;
// nullptr: of none.
TensorFlowCluster* ClusterOfBody(const TensorFlowGraph& graph,
                                 std::map<std::string, TensorFlowCluster>& clusters);

}  // namespace hloscope::dump
