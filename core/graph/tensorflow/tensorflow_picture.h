// A TensorFlow graph as a picture for browsers: its clusters as hulls, devices as lanes, what stays
// outside with its reason. Nodes are boxes, or scopes of them where they are many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dump/tensorflow/tensorflow_graph.h"
#include "core/graph/svg.h"

namespace hloscope::graph {

// Values between two boxes of one frame, or between two items of the picture.
struct TensorFlowWire {
  uint32_t from = 0, to = 0;
  int64_t values = 0;      // 0: order alone
  int64_t bytes = 0;       // of those whose size the graph tells
  int64_t unknown = 0;     // of no known size
  bool is_border = false;  // of a cluster
  bool is_copied = false;  // the two are on different devices
};

// A scope, as which of the graph's nodes is its first one and how many are in it.
using TensorFlowScope = std::pair<int32_t, int64_t>;

struct TensorFlowBox {
  std::string title;     // the last part of the node's name, or the scope
  std::string subtitle;  // its operation, or how many nodes
  std::string reason;    // why it is in no cluster; empty: it is in one, or there is nothing to say
  std::string tip;       // all of it
  std::string device;    // as in the graph
  int64_t nodes = 0;
  std::vector<int32_t> members;  // positions in TensorFlowGraph::nodes
  bool is_plumbing = false;      // constants, arguments, copies: nothing of it runs by itself
  // Of a scope that is open: a frame around these. Empty: it is closed, or a node.
  std::vector<TensorFlowBox> inside;
  std::vector<TensorFlowWire> wires;  // between those
  bool is_open() const { return !inside.empty(); }
  TensorFlowScope scope() const { return {members.front(), nodes}; }
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

// When nodes are boxes of their own, and when scopes are.
struct TensorFlowFolding {
  // A graph of no more nodes is not folded; of others more nodes than these outside clusters, or in
  // one, or in an open scope, are.
  size_t whole = 0, most_outside = 160, most_inside = 60;
  // Of an open scope that has no scopes in it as many boxes at most: of more nodes the last box is
  // the rest of them, which opens as a scope does.
  size_t most_opened = 160;
  std::set<TensorFlowScope> open;  // scopes that are frames around what is in them
};

// `summary` is what is known of the graph's dump, reasons among it.
TensorFlowBoxes BoxesOf(const dump::TensorFlowGraph& graph, const dump::TensorFlowSummary& summary,
                        const TensorFlowFolding& folding = {});

struct TensorFlowPane {
  std::string heading, sentence;  // above its picture
  TensorFlowBoxes boxes;
};

TensorFlowPane PaneOf(std::string_view path, const dump::TensorFlowGraph& graph,
                      const dump::TensorFlowSummary& summary,
                      const TensorFlowFolding& folding = {});

// What a colour means, in the order of the legend.
enum class TensorFlowHue : uint8_t { kCluster, kOutside, kPlumbing, kCopied, kPlain };
struct TensorFlowLegendRow {
  TensorFlowHue hue;
  std::string_view text;
};
// True if a box is in no cluster for no known reason, as before marking.
bool HasPlain(const TensorFlowBoxes& boxes);
// The rows of a picture; `has_plain`: of kPlain as well.
std::span<const TensorFlowLegendRow> LegendOf(bool has_plain);

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
