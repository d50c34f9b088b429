// Reducers that choose one of two values by comparing them, such as those of argmax.
#pragma once

#include "core/hlo/module.h"

namespace hloscope::compile {

// True if neighbours may be combined first, in any grouping that keeps their order, and the same
// one twice: f(f(a, b), c) = f(a, f(b, c)) and f(a, a) = a, in the same bits, zeros of both signs
// included. NaN is left aside: reducers that do not carry it on lose it in another place in another
// grouping, which XLA leaves open. Proved for scalar computations of at most two values that do no
// more than compare, choose and combine truth values: what they yield depends on the order of their
// arguments alone, so that a few values stand for all.
bool IsOrderedChoice(const hlo::Module& module, hlo::ComputationId applied);

}  // namespace hloscope::compile
