// TensorFlow's graphs, text or binary (TF_DUMP_GRAPH_PREFIX): clusters of auto-clustering and the
// nodes left outside, with the reason, what in the graph shows it, and what would change it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope::dump {

// Why a node is in no cluster; the rows of tensorflow_reasons.def.
enum class OutsideReason : uint8_t {
#define TENSORFLOW_REASON(reason, name, log, sentence, fix) reason,
#include "core/dump/tensorflow/tensorflow_reasons.def"
#undef TENSORFLOW_REASON
};
std::string_view NameOf(OutsideReason reason);      // in JSON
std::string_view SentenceOf(OutsideReason reason);  // empty: kUnknown
std::string_view FixOf(OutsideReason reason);       // empty: nothing to change
// Then must-compile functions cannot have it either.
bool IsForLackOfKernel(OutsideReason reason);
// Nothing but its neighbours and its cluster's size keeps the node outside.
bool CouldBeCompiled(OutsideReason reason);

// "FLOAT", "INT32_REF" …; the number itself where it is none of TensorFlow's.
std::string TensorFlowTypeName(int32_t type);
// Of TensorFlow's DataType; 0: of no fixed size, or unknown.
int64_t TensorFlowTypeBits(int32_t type);
// "a TPU: everything …" of "/job:localhost/…/device:TPU:0"; empty: unknown.
std::string_view DescribeTensorFlowDevice(std::string_view device);
// "GPU" of "/job:localhost/replica:0/task:0/device:GPU:0", "gpu" or "/gpu:0" as they stand.
std::string_view TensorFlowDeviceType(std::string_view device);

struct TensorFlowNode {
  std::string name, op, device;  // device as in the graph, for example /job:…/device:GPU:0
  std::string cluster;           // _XlaCluster or the function of a launch; empty: none
  std::string function;          // of the library that it stands in; empty: the main graph
  std::string outside;           // _XlaOutsideCompilation, empty if not set
  std::string reason;    // why it is in no cluster, a sentence; empty where nothing is known
  std::string evidence;  // what shows it: types, the way of a cycle, a line of the log
  std::string fix;       // the flag or change that alters it; empty: there is none
  OutsideReason why = OutsideReason::kUnknown;
  bool by_log = false;              // TensorFlow's own log says so
  bool eager = false;               // the one operation of a graph: eager mode runs it by itself
  std::string part;                 // as of a cluster
  int32_t graph = -1;               // of DumpModel::files(), in a summary
  std::vector<std::string> inputs;  // as in the graph: "name", "name:1", "^name"

  std::vector<std::pair<std::string, int32_t>> types;  // attributes that are types: {"T", 1}
  std::vector<std::string> functions;                  // that its attributes name
  // Of its results (_output_shapes, or the value of a constant); -1: unknown. nullopt: of unknown
  // rank.
  std::vector<std::optional<std::vector<int64_t>>> shapes;
  std::string scope;  // _XlaScope or _XlaInternalScope
  std::optional<bool> xla_compile;
  bool must_compile = false, scoped_allocator = false;
};

struct TensorFlowFunction {
  std::string name;
  std::vector<int32_t> nodes;  // of TensorFlowGraph::nodes
  std::optional<bool> xla_compile;
  bool must_compile = false;
};

struct TensorFlowCluster {
  std::string name;
  std::vector<std::string> devices;  // of its nodes, sorted
  std::map<std::string, int64_t> operations;
  std::vector<std::string> members;  // names of its nodes, in the order of the graph
  int64_t nodes = -1;                // -1: unknown, no graph of the dump holds it
  int32_t graph = -1;                // of DumpModel::files() that it was marked in
  std::string part;  // of what it is, "Keras's data adapter"; empty: the program itself
  bool also_without_xla = false;          // TensorFlow's executor ran it at least once
  std::vector<int32_t> modules;           // of DumpModel::modules() that were compiled from it
  int64_t bytes_in = -1, bytes_out = -1;  // of the first of them; -1: unknown
};

struct TensorFlowGraph {
  int32_t file = -1;  // of DumpModel::files()
  std::string name;   // the dump point: "mark_for_compilation", …
  std::vector<TensorFlowNode> nodes;
  std::vector<TensorFlowFunction> functions;  // of the library, in order
  std::vector<TensorFlowCluster> clusters;    // by name
  std::vector<Error> warnings;                // what could not be read, by place in the file
};

// Reads a GraphDef in text or wire format. Input error: not a GraphDef, or cut off in a way that
// leaves no nodes.
Result<TensorFlowGraph> ReadTensorFlowGraph(std::string_view bytes, const Limits& limits);

// A value that goes into or out of a cluster.
struct ClusterBorder {
  std::string from, to;                  // nodes
  std::string from_cluster, to_cluster;  // empty: none
  std::string from_device, to_device;    // where they differ the value is copied
  int32_t type = 0;                      // 0: unknown
  int64_t bytes = -1;                    // -1: unknown
  bool copied() const { return from_device != to_device; }
};

// Whether TensorFlow's auto-clustering looked at the program's graphs.
enum class AutoClustering : uint8_t { kUnknown, kOff, kNotForCpu, kInScopes, kOn };
std::string_view NameOf(AutoClustering state);  // in JSON

// What was compiled, what was not and why, in the operations that the program's author knows:
// without arguments, results, constants and what eager mode runs one by one.
struct ClusteringVerdict {
  AutoClustering state = AutoClustering::kUnknown;
  int64_t operations = 0, clustered = 0;
  std::vector<std::string> compiled;  // functions that were compiled as a whole, by name
  std::string sentence;               // empty: there is nothing to say
  std::string fix;                    // the one change that matters most; empty: none
};

// What all graphs of a dump say together: the clusters, and each node in none of them, once.
struct TensorFlowSummary {
  std::vector<TensorFlowCluster> clusters;
  std::vector<TensorFlowNode> unclustered;
  std::vector<ClusterBorder> borders;
  std::vector<TensorFlowNode> in_functions;  // of libraries, that stop their function's compilation
  std::vector<std::string> devices;          // all that the graphs name, sorted
  ClusteringVerdict verdict;
  std::vector<std::string> warnings;
};

}  // namespace hloscope::dump
