// What HLO leaves open: results that depend on an order which no platform has to keep.
#pragma once

#include <optional>
#include <span>
#include <stop_token>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/reduce/candidate.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// Why platforms may differ on what one of these instructions computes, by a counterexample on the
// reference of `request`; none was found: empty.
//   kCombiner            f(f(a, b), c) or f(b, a) is something else for some small numbers
//   kInitialValue        of a reduce, which makes a difference when it is taken twice
//   kTies                of a sort that need not be stable, whose results change where its elements
//                        come from the last to the first
//   kComparator          breaks a law of strict weak orders on elements that the sort gets
//   kOverlappingUpdates  of a scatter, whose results change with the order of its updates
std::optional<Cause> OpenMeaning(const Candidate& candidate,
                                 std::span<const hlo::InstructionId> instructions,
                                 const RunSpec& request, const std::stop_token& stop);

// The same of the sorts and scatters among them alone, by the interpreter. `actual`: the leaves
// that a platform made of the entry, which are sorted where a sort that gives them has ties; empty:
// not told.
std::optional<Cause> OpenOrder(const Candidate& candidate,
                               std::span<const hlo::InstructionId> instructions,
                               const RunSpec& request, const std::stop_token& stop,
                               std::span<const hlo::Literal> actual = {});

}  // namespace hloscope::debug
