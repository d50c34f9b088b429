// TensorFlow's graphs as the window draws them, and what there is to say of a node.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/dump/dump_model.h"
#include "core/graph/picture.h"
#include "core/graph/tensorflow/tensorflow_layout.h"
#include "viewer/facts/selection_summary.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

// The files of a dump that are graphs of TensorFlow, in the dump's order.
std::vector<int32_t> GraphFilesOf(const dump::DumpModel& dump);
// The main one: a graph after marking, the largest of them; -1: there is none.
int32_t MainGraphOf(const dump::DumpModel& dump);
// The graph of the same name and number from before or after that one ("…_before_3", "…_after_3");
// -1: there is none.
int32_t GraphBesideOf(const dump::DumpModel& dump, int32_t file);
// Of the file's name.
bool IsBeforeGraph(const dump::DumpModel& dump, int32_t file);

struct TensorFlowDrawing {
  std::shared_ptr<const dump::TensorFlowGraph> graph;
  graph::TensorFlowPane pane;
  graph::TensorFlowLayout layout;
  // Frames of clusters and boxes of nodes; a NodeId is a position in `shown`.
  graph::Picture picture;
  struct Shown {
    uint32_t item = 0;
    int32_t box = -1;  // of the item; -1: the cluster itself
  };
  std::vector<Shown> shown;
  std::vector<graph::NodeId> shown_of_node;  // by node of the graph; invalid: in a function
  struct Wire {
    int32_t item = -1;  // that it is inside of; -1: between items
    uint32_t wire = 0;
  };
  std::vector<Wire> wires;  // by wire of the picture

  const graph::TensorFlowItem& ItemOf(graph::NodeId id) const {
    return pane.boxes.items[shown[id.index].item];
  }
  // Null: a cluster.
  const graph::TensorFlowBox* BoxOf(graph::NodeId id) const {
    const Shown& at = shown[id.index];
    return at.box < 0 ? nullptr : &ItemOf(id).boxes[static_cast<size_t>(at.box)];
  }
  const graph::TensorFlowWire& WireOf(uint32_t wire) const {
    const Wire& at = wires[wire];
    return at.item < 0 ? pane.boxes.wires[at.wire]
                       : pane.boxes.items[static_cast<size_t>(at.item)].wires[at.wire];
  }
  const graph::TensorFlowPath& PathOf(uint32_t wire) const {
    const Wire& at = wires[wire];
    return at.item < 0 ? layout.wires[at.wire]
                       : layout.inner[static_cast<size_t>(at.item)][at.wire];
  }
};

// Made in the background; ask again in every frame. Of the second dump where `of_second`.
const Pending<TensorFlowDrawing>& DrawingOf(Context& context, int32_t file, bool of_second);

// The selected node: its cluster, or why it is in none and what would change that; its inputs and
// users with type, shape and bytes. Nothing until the graph is read.
std::vector<SummaryLine> SummarizeGraphNode(Context& context);

}  // namespace hloscope::viewer
