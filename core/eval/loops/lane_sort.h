// LaneSort: sorts lines of elements with a comparator that is applied to many pairs at once.
#pragma once

#include <span>
#include <vector>

#include "core/eval/loops/vectorized_computation.h"

namespace hloscope::eval {

// Sorts `lines` lines of `length` elements, line after line in each of the arrays, in place and
// stably, by comparator(a0, b0, a1, b1 …), true if the elements a of the arrays come before b.
// What stands in a line afterwards are its elements however inconsistent the comparator is. Uses as
// much memory again.
Status LaneSort(Machine& machine, VectorizedComputation& comparator, int64_t lines, int64_t length,
                std::span<const Buffer> arrays);

}  // namespace hloscope::eval
