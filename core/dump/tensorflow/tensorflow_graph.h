// TensorFlow's graphs as text protos (TF_DUMP_GRAPH_PREFIX): clusters of auto-clustering and the
// nodes left outside, with the reason where one is known.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope::dump {

struct TensorFlowNode {
  std::string name, op, device;     // device as in the graph, for example /job:…/device:GPU:0
  std::string cluster;              // _XlaCluster or the function of a launch; empty: none
  std::string function;             // of the library that it stands in; empty: the main graph
  std::string outside;              // _XlaOutsideCompilation, empty if not set
  std::string reason;               // why it is in no cluster; empty where nothing is known
  std::vector<std::string> inputs;  // as in the graph: "name", "name:1", "^name"
};

struct TensorFlowCluster {
  std::string name;
  std::vector<std::string> devices;  // of its nodes, sorted
  std::map<std::string, int64_t> operations;
  int64_t nodes = 0;
  int32_t module = -1;  // of DumpModel::modules() that was compiled from it
};

struct TensorFlowGraph {
  int32_t file = -1;  // of DumpModel::files()
  std::string name;   // the dump point: "mark_for_compilation", …
  std::vector<TensorFlowNode> nodes;
  std::vector<TensorFlowCluster> clusters;  // by name
  std::vector<std::string> warnings;
};

// Reads a GraphDef in text form. Input error: not a GraphDef, or cut off in a way that leaves no
// nodes.
Result<TensorFlowGraph> ReadTensorFlowGraph(std::string_view text, const Limits& limits);

// What all graphs of a dump say together: the clusters, and each node in none of them, once.
struct TensorFlowSummary {
  std::vector<TensorFlowCluster> clusters;
  std::vector<TensorFlowNode> unclustered;
  std::vector<std::string> warnings;
};

}  // namespace hloscope::dump
