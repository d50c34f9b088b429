// Stepping from box to box, as arrow keys do.
#pragma once

#include <span>

#include "core/graph/picture.h"

namespace hloscope::graph {

enum class Direction : uint8_t { kUp, kDown, kLeft, kRight };

// The nearest box along a wire (up: an operand, down: a user), or of `beside` the nearest in the
// same rows on that side; invalid where there is none.
NodeId StepFrom(const Picture& picture, const Box& here, Direction direction,
                std::span<const NodeId> beside);

}  // namespace hloscope::graph
