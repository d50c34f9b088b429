// What HLO leaves open: results that depend on an order which no platform has to keep.
#pragma once

#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/reduce/candidate.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

struct OpenCause {
  Cause cause = Cause::kUnexplained;
  // False of ties that no result of a platform was held to.
  bool is_shown = false;
};

// Why platforms may differ on what one of these instructions computes, by a counterexample on the
// reference of `request`; none was found: empty. `actual`: the leaves that a platform made of the
// entry; empty: not told. Ties are shown where the entry gives nothing but arrays of the sort and
// these have other rows than the reference's only among equal elements; they are no cause where
// the sort takes parameters, constants and iotas alone and this does not hold.
//   kCombiner            f(f(a, b), c) or f(b, a) is something else for some small numbers
//   kInitialValue        of a reduce, which makes a difference when it is taken twice
//   kTies                of a sort that need not be stable, whose results change where its elements
//                        come from the last to the first
//   kComparator          breaks a law of strict weak orders on elements that the sort gets
//   kOverlappingUpdates  of a scatter, whose results change with the order of its updates
std::optional<OpenCause> OpenMeaning(const Candidate& candidate,
                                     std::span<const hlo::InstructionId> instructions,
                                     const RunSpec& request, const std::stop_token& stop,
                                     std::span<const hlo::Literal> actual = {});

// The same of the sorts and scatters among them alone, by the interpreter.
std::optional<OpenCause> OpenOrder(const Candidate& candidate,
                                   std::span<const hlo::InstructionId> instructions,
                                   const RunSpec& request, const std::stop_token& stop,
                                   std::span<const hlo::Literal> actual = {});

// The leaves of all results; empty where one is missing.
std::vector<hlo::Literal> ResultLeaves(const RunReport& report);

}  // namespace hloscope::debug
