// Elements that satisfy a constraints, the same bits on every machine.
#pragma once

#include <cstdint>
#include <functional>

#include "core/hlo/literal.h"
#include "core/replay/inputs/input_constraints.h"

namespace hloscope::replay {

struct ValueStyle {
  uint64_t seed = 0;          // of the whole run: equal bounds get equal live sizes
  bool large_floats = false;  // exponents over the whole range of the type
  // True once there is no time left: what is being drawn may then be left unfinished.
  std::function<bool()> is_over = [] { return false; };
};

// The live size that every dynamic dimension of bound `bound` is given, in [1, bound].
int64_t LiveSize(uint64_t seed, int64_t bound);

// An array of `shape` drawn from `stream`, after XLA's tools where nothing is asked: floats in
// [-0.1, 0.2) (all finite patterns below five bits), integers over their whole range, pred 0 or 1.
// The byte size of the shape must be known.
hlo::Literal MakeArray(const hlo::Shape& shape, const InputConstraints& constraints,
                       uint64_t stream, const ValueStyle& style);

}  // namespace hloscope::replay
