// Cameras go by a few boxes around their middle.
#include "viewer/graph/graph_links.h"

#include <algorithm>
#include <vector>

namespace hloscope::viewer {
namespace {

using graph::Box;
using graph::NodeId;

constexpr size_t kAnchors = 6;

}  // namespace

// The other camera goes where the counterparts of the boxes around this one's middle lie, the
// nearer the more they count: it moves as steadily as this one.
void FollowAcross(const analysis::Alignment& links, GraphPane& from, GraphPane& to,
                  bool backwards) {
  struct MatchedBox {
    float distance, dx, dy;
    NodeId node;
  };
  std::vector<MatchedBox> anchors;
  for (const Box& box : from.picture().boxes) {
    if (box.open) continue;
    const float dx = from.canvas().x - box.x - box.width / 2;
    const float dy = from.canvas().y - box.y - box.height / 2;
    anchors.push_back({dx * dx + dy * dy, dx, dy, box.node});
  }
  const size_t count = std::min(anchors.size(), kAnchors * 4);
  std::ranges::partial_sort(anchors, anchors.begin() + static_cast<ptrdiff_t>(count), {},
                            &MatchedBox::distance);
  float x = 0, y = 0, weight = 0;
  size_t used = 0;
  for (size_t k = 0; k < count && used < kAnchors; ++k) {
    const hlo::InstructionId id = from.InstructionOf(anchors[k].node);
    if (!id.valid()) continue;
    auto found = backwards ? links.Origins(id) : links.Results(id);
    if (found.empty()) continue;
    const NodeId node = to.data()->NodeOf(backwards ? found[0].before : found[0].after, false);
    const Box* box = node.valid() ? to.picture().Find(node) : nullptr;
    if (box == nullptr) continue;
    ++used;
    const float w = 1 / (anchors[k].distance + 2500);
    x += w * (box->x + box->width / 2);
    y += w * (box->y + box->height / 2);
    weight += w;
  }
  if (weight <= 0) return;
  to.canvas().x = x / weight;
  to.canvas().y = y / weight;
  to.canvas().zoom = from.canvas().zoom;
}

}  // namespace hloscope::viewer
