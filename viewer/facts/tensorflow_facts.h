// TensorFlow's graphs as the window draws them, and what there is to say of a node.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <set>
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
    const graph::TensorFlowBox* box = nullptr;  // null: the cluster itself
    graph::NodeId frame = {};                   // around it; invalid: none
  };
  std::vector<Shown> shown;
  std::vector<graph::NodeId> shown_of_node;  // by node of the graph; invalid: in a function
  struct Wire {
    const graph::TensorFlowWire* of = nullptr;
    const graph::TensorFlowPath* path = nullptr;
    bool is_inside = false;  // of a frame
  };
  std::vector<Wire> wires;  // by wire of the picture

  const graph::TensorFlowItem& ItemOf(graph::NodeId id) const {
    return pane.boxes.items[shown[id.index].item];
  }
  // Null: a cluster.
  const graph::TensorFlowBox* BoxOf(graph::NodeId id) const { return shown[id.index].box; }
  // The box of a scope, or its frame where it is open; null: it is not in the picture.
  const graph::Box* Find(const graph::TensorFlowScope& scope) const;
};

// Made in the background; ask again in every frame. Of the second dump where `of_second`.
// `open`: scopes that are frames. Graphs of more nodes than a picture can show are folded into
// scopes.
using OpenScopes = std::set<graph::TensorFlowScope>;
const Pending<TensorFlowDrawing>& DrawingOf(Context& context, int32_t file, bool of_second,
                                            const OpenScopes& open);
// Forgets a drawing that another one has taken the place of.
void DropDrawing(Context& context, int32_t file, bool of_second, const OpenScopes& open);

// The selected node: its cluster, or why it is in none and what would change that; its inputs and
// users with type, shape and bytes. Nothing until the graph is read.
std::vector<SummaryLine> SummarizeGraphNode(Context& context);

}  // namespace hloscope::viewer
