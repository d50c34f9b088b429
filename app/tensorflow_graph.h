// `hloscope info` and `show` of one TensorFlow graph: what is in it, its nodes as text or JSON, or a
// picture of its clusters.
#pragma once

#include <string>

#include "app/command.h"
#include "core/base/file.h"

namespace hloscope::app {

bool IsTensorFlowGraph(const FileView& file);

// The exit status. `file` was opened as `path`.
int ReportTensorFlowGraph(const std::string& path, const FileView& file, const Context& context);

// `file` was opened as `path`. `second`: another graph in the picture, right of the first; empty:
// none. The exit status.
int ShowTensorFlowGraph(const std::string& path, const FileView& file, const std::string& second,
                        const std::string& format, const Context& context);

}  // namespace hloscope::app
