// Graphs of a TensorFlow dump that are not of the program itself: the functions by which Keras cuts
// arrays into batches, others that tf.data calls, those that give variables their first values, and
// bodies of clusters that TensorFlow ran without XLA.
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
// MapDataset, ReduceDataset and the like: tf.data calls their functions.
bool IsDataset(std::string_view op);

inline constexpr std::string_view kEagerPart = "operations that eager mode runs one by one";
inline constexpr std::string_view kKerasData = "Keras's data adapter";
inline constexpr std::string_view kDatasetPart = "tf.data's input pipeline";

class GraphParts {
 public:
  // The graph of the file; graphs may hold the functions of others.
  void Add(const TensorFlowGraph& graph, int32_t file, bool is_eager);
  // kKerasData, kDatasetPart, kEagerPart, "the initialization of variables"; empty: the program
  // itself. To be asked when all graphs are added.
  std::string_view PartOf(int32_t file);
  // The same of a function of a library.
  std::string_view PartOfFunction(const std::string& function) const;

 private:
  using Texts = std::set<std::string, std::less<>>;
  // A function that tf.data calls.
  struct Mapped {
    Texts operations;  // "name operation"
    Texts calls;       // names of nodes that call functions, which TensorFlow inlines
    std::string_view part;
    auto operator<=>(const Mapped&) const = default;
    bool Holds(const Texts& graph) const;
  };
  void AddFunctions(const TensorFlowGraph& graph);
  Texts by_datasets_;  // functions that operations of datasets name
  std::set<Mapped> mapped_;
  std::map<int32_t, Texts> with_args_;  // operations of graphs with arguments "args_0", …
  std::map<int32_t, std::string_view> found_;
  std::set<int32_t> initial_, eager_;
};

// The cluster whose body the graph is, which TensorFlow instantiates to run it without XLA;
// nullptr: of none.
TensorFlowCluster* ClusterOfBody(const TensorFlowGraph& graph,
                                 std::map<std::string, TensorFlowCluster>& clusters);

}  // namespace hloscope::dump
