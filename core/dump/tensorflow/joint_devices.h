// Which devices the nodes of one cluster may be on. Source: device_util.cc and
// mark_for_compilation_pass.cc (AreDevicesCompatible) of TensorFlow 2.21.
#pragma once

#include <set>
#include <string>

#include "core/dump/tensorflow/tensorflow_graph.h"

namespace hloscope::dump {

struct DeviceSet {
  std::set<std::string> devices;    // of nodes, as in the graph; those that name none are left out
  std::set<std::string> resources;  // of the nodes that use resources
  void Add(const TensorFlowNode& node);
};

// Whether one cluster may hold the nodes of both: on one GPU, or one CPU, or one of each, where the
// GPU is taken; resources stay where they are.
bool MayJoin(const DeviceSet& a, const DeviceSet& b);

}  // namespace hloscope::dump
