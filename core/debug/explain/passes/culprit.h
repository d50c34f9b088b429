// Culprit: the instruction that stands for a difference, and what was done to it.
#pragma once

#include <functional>
#include <span>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/explain/passes/pairing.h"
#include "core/debug/explain/passes/value_trace.h"

namespace hloscope::debug {

// The instruction before, behind, or both; an invalid one was added, or removed.
struct Culprit {
  hlo::InstructionId before, after;
  // Where both are the same operation: the operand that is another one.
  std::optional<uint32_t> slot;
};

// Whether an operand of each had the same value when it was used.
using SameValue = std::function<bool(hlo::InstructionId before, hlo::InstructionId after)>;

// What the callers pass as a parameter of a fusion or call; other instructions as they are.
hlo::InstructionId Resolved(const hlo::Module& module, hlo::InstructionId id);

// The calls and loops in which each of the two was executed, outermost first: what a computation
// with several callers was given.
struct Callers {
  std::span<const runtime::Frame> before, after;
};

// `after` is the first instruction whose value differs from its partner's: itself where it is
// another operation; what is inside of what it applies; what was removed or put in before it; what
// hands it another operand.
Culprit FindCulprit(const Pairing& pairing, hlo::InstructionId after, const SameValue& same_value,
                    const Callers& callers = {});

DivergePlace PlaceOf(const Pairing& pairing, const Culprit& culprit);
InstructionEdit DescribeEdit(const Pairing& pairing, const Culprit& culprit);
// The same edit as if what is behind had come first.
InstructionEdit DescribeBackwards(const Pairing& pairing, const Culprit& culprit);

}  // namespace hloscope::debug
