// One TensorFlow graph, and `hloscope show` of it: its nodes as text or JSON, or a picture of its
// clusters.
#pragma once

#include <memory>
#include <string>

#include "app/command.h"
#include "core/base/file.h"
#include "core/dump/tensorflow/tensorflow_graph.h"

namespace hloscope::app {

bool IsTensorFlowGraph(const FileView& file);

struct OpenedTensorFlowGraph {
  std::shared_ptr<const dump::TensorFlowGraph> graph;
  std::shared_ptr<const dump::TensorFlowSummary> summary;  // of this graph alone
};
// `file` was opened as `path`. Input error: it is no GraphDef.
Result<OpenedTensorFlowGraph> OpenTensorFlowGraph(const std::string& path, const FileView& file,
                                                  const Context& context);

// `file` was opened as `path`. `second`: another graph in the picture, right of the first; empty:
// none. The exit status.
int ShowTensorFlowGraph(const std::string& path, const FileView& file, const std::string& second,
                        const std::string& format, const Context& context);

}  // namespace hloscope::app
