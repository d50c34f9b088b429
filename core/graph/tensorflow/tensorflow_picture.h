// A TensorFlow graph as a picture for browsers: its clusters as hulls, devices as lanes, what stays
// outside with its reason. Nodes are boxes, or scopes of them where they are many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/tensorflow/tensorflow_graph.h"
#include "core/graph/svg.h"

namespace hloscope::graph {

struct TensorFlowBox {
  std::string title;     // the last part of the node's name, or the scope
  std::string subtitle;  // its operation, or how many nodes
  std::string reason;    // why it is in no cluster; empty: it is in one, or there is nothing to say
  std::string tip;       // all of it
  std::string device;    // as in the graph
  int64_t nodes = 0;
  std::vector<int32_t> members;  // positions in TensorFlowGraph::nodes
  bool is_plumbing = false;      // constants, arguments, copies: nothing of it runs by itself
};

// Values between two boxes of one frame, or between two items of the picture.
struct TensorFlowWire {
  uint32_t from = 0, to = 0;
  int64_t values = 0;      // 0: order alone
  int64_t bytes = 0;       // of those whose size the graph tells
  int64_t unknown = 0;     // of no known size
  bool is_border = false;  // of a cluster
  bool is_copied = false;  // the two are on different devices
};

// A cluster, with boxes in it; or one box that is in none.
struct TensorFlowItem {
  std::string cluster;  // empty: it is in none
  std::string device;
  int64_t nodes = 0;
  std::vector<TensorFlowBox> boxes;
  std::vector<TensorFlowWire> wires;
};

struct TensorFlowBoxes {
  std::vector<TensorFlowItem> items;
  std::vector<TensorFlowWire> wires;              // between items
  std::vector<std::string> devices;               // of items, sorted: the lanes
  int64_t nodes = 0, clustered = 0, outside = 0;  // `outside` of a reason
  bool is_folded = false;                         // some boxes are scopes
};

// `summary` is what is known of the graph's dump, reasons among it.
TensorFlowBoxes BoxesOf(const dump::TensorFlowGraph& graph, const dump::TensorFlowSummary& summary);

struct TensorFlowPane {
  std::string heading, sentence;  // above its picture
  TensorFlowBoxes boxes;
};

TensorFlowPane PaneOf(std::string_view path, const dump::TensorFlowGraph& graph,
                      const dump::TensorFlowSummary& summary);

// "GPU:0" of "/job:…/device:GPU:0".
std::string DeviceText(const std::string& device);
// "cluster_0: 12 nodes".
std::string TitleOf(const TensorFlowItem& cluster);
// "copied 4.1 kB"; empty: the wire crosses no border.
std::string LabelOf(const TensorFlowWire& wire);
// The reason of a box in the lines that it has room for.
std::vector<std::string> ReasonLines(const TensorFlowBox& box);

// Panes stand side by side: a graph before marking and after it.
std::string ToSvg(std::span<const TensorFlowPane> panes, const SvgColors& colors = {});

}  // namespace hloscope::graph
