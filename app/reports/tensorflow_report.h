// What is said of TensorFlow's graphs: of all that a dump has, and of one alone.
#pragma once

#include <string>

#include "core/dump/dump_model.h"
#include "core/dump/listing/sniff.h"
#include "core/dump/tensorflow/tensorflow_graph.h"

namespace hloscope::app {

// Verdict, clusters, nodes in no cluster by reason, borders and devices; empty: no graph.
std::string TensorFlowText(const dump::DumpModel& model, const dump::TensorFlowSummary& tf);

// A graph that was opened alone: what other graphs of its dump say is not known, so that nothing is
// said of auto-clustering as a whole.
struct LoneTensorFlowGraph {
  std::string path;
  dump::FileKind kind;
  int64_t bytes = 0;  // of the file
  const dump::TensorFlowGraph& graph;
  const dump::TensorFlowSummary& summary;
};
std::string LoneGraphText(const LoneTensorFlowGraph& lone);
std::string LoneGraphJson(const LoneTensorFlowGraph& lone);  // one object with a line end

}  // namespace hloscope::app
