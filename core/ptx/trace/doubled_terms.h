// LinesOfDoubledTerms: sums and maxima of floats that take one value twice, as a shuffle does with
// a wrong distance, or a load one element off.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "core/ptx/trace/trace.h"

namespace hloscope::ptx {

// Of what those steps come from, over the threads that were recorded: values are numbered by what
// they are computed of, in whatever thread, and each sum has the terms that went into it through
// moves, shuffles, selections and memory. Where both sides of an addition (of a maximum) have a
// term in common, its line is told with 0, and what it and the term come from, up to four steps
// back, with the number of steps. Only the first of several that follow from one another. Empty
// where there are none, or too many terms. A program may mean x + x: it is a hint.
std::map<uint32_t, uint32_t> LinesOfDoubledTerms(const BlockTrace& trace,
                                                 std::span<const StepRef> from);

}  // namespace hloscope::ptx
