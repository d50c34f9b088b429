// One function for each kind of node that random programs have: nodes.def is the table of them.
#pragma once

#include "core/debug/reduce/hunt/program_maker.h"

namespace hloscope::debug {

// Adds such a node, on values that are there or made for it. False where it did not come about.
#define NODE(function, weight) bool Add##function##Node(ProgramMaker& maker, Draft& draft);
#include "core/debug/reduce/hunt/nodes.def"
#undef NODE

// An array of at least one dimension.
std::optional<DraftId> PickRanked(ProgramMaker& maker, const Draft& draft);

// An opcode that works element by element on one or two operands of one shape, and has no attribute
// that it needs.
std::optional<DraftId> AddElementwise(ProgramMaker& maker, Draft& draft,
                                      std::vector<DraftId> operands);

}  // namespace hloscope::debug
