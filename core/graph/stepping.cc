// The nearest of what lies in a direction.
#include "core/graph/stepping.h"

#include <cmath>

namespace hloscope::graph {

NodeId StepFrom(const Picture& picture, const Box& here, Direction direction,
                std::span<const NodeId> beside) {
  NodeId best;
  float least = 0;
  const auto consider = [&](NodeId id) {
    const Box* box = id.valid() && id != here.node ? picture.Find(id) : nullptr;
    if (box == nullptr) return;
    const float dx = std::abs(box->x + box->width / 2 - here.x - here.width / 2);
    const float dy = std::abs(box->y - here.y);
    if (best.valid() && dx + dy >= least) return;
    best = id;
    least = dx + dy;
  };
  const bool up = direction == Direction::kUp;
  if (up || direction == Direction::kDown) {
    for (const Wire& wire : picture.wires) {
      if (up && wire.to == here.node) consider(wire.from);
      if (!up && wire.from == here.node) consider(wire.to);
    }
    return best;
  }
  const bool left = direction == Direction::kLeft;
  for (NodeId id : beside) {
    const Box* box = picture.Find(id);
    if (box == nullptr || (left ? box->x >= here.x : box->x <= here.x)) continue;
    if (box->y > here.y + here.height || box->y + box->height < here.y) continue;
    consider(id);
  }
  return best;
}

}  // namespace hloscope::graph
