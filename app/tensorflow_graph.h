// `hloscope show` of a TensorFlow graph: its nodes as text or JSON, or a picture of its clusters.
#pragma once

#include <string>

#include "app/command.h"

namespace hloscope::app {

// False too where the file cannot be read.
bool IsTensorFlowGraph(const std::string& path, const Limits& limits);

// `second`: another graph in the picture, right of the first; empty: none. The exit status.
int ShowTensorFlowGraph(const std::string& path, const std::string& second,
                        const std::string& format, const Context& context);

}  // namespace hloscope::app
