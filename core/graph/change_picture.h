// ChangePicture: both stages of a ChangeGraph out of one layout. What a pass left alone stands at
// the same place in both.
#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "core/graph/change_graph.h"
#include "core/graph/picture.h"

namespace hloscope::graph {

struct ChangePicture {
  // By side: its boxes and wires. Nodes are those of the ChangeGraph.
  std::array<Picture, 2> of;
  std::array<std::vector<Box>, 2> ghosts;            // what the other side alone has
  std::array<std::vector<bool>, 2> is_wire_changed;  // by wire: this side alone has it
  int64_t hidden = 0;                                // unchanged instructions without a box
  int64_t changes = 0;                               // that are in the picture
  Anchors anchors;  // for the next picture, which starts from their order
  std::unordered_map<uint64_t, NodeId> by_key;  // boxes, by what is the same in other pictures

  const Picture& side(Side s) const { return of[IndexOf(s)]; }
  // Wherever it stands, on either side; null: nowhere.
  const Box* Find(NodeId id) const {
    const Box* box = of[1].Find(id);
    return box != nullptr ? box : of[0].Find(id);
  }
};

// Lays out the part; constant work for each node and edge that is drawn, but for the layout itself.
ChangePicture LayOut(const ChangeGraph& graph, const ChangePart& part, const Anchors& anchors = {});

// What stands on the box of a node: the instruction of that side; of a closed frame how many
// changed inside; where the side has no such frame, what of it stands there.
NodeText TextOf(const ChangeGraph& graph, Side side, NodeId id, bool is_closed_frame);

// The same thing in another picture: its name on the later side, or on the earlier.
uint64_t KeyOf(const ChangeGraph& graph, NodeId id);

}  // namespace hloscope::graph
