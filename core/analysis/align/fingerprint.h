// Fingerprints: what an instruction means, without names, ids, order, metadata or spelling.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/hlo/literal.h"
#include "core/hlo/module.h"

namespace hloscope::analysis {

// The value of an attribute as a text that is equal for equal meanings, whatever module it stands
// in; empty where the value is what an absent attribute means. Called computations are left out.
std::string AttributeKeyText(const hlo::Module& module, const hlo::Instruction& instruction,
                             const hlo::Attribute& attribute);

// By instruction: a get-tuple-element that nobody uses, or that repeats an earlier one, and is no
// root. XLA's text with compact get-tuple-elements leaves those out, so they do not count.
std::vector<bool> UnusedElements(const hlo::Module& module);

// Hashes of a module's parts. Elided constants and constants of more than 10 elements count by
// their shape only.
struct Fingerprints {
  std::vector<uint64_t> own;           // of an instruction: opcode, shape, attributes
  std::vector<uint64_t> local;         // … and called computations
  std::vector<uint64_t> full;          // with its operands' full ones and control predecessors
  std::vector<uint64_t> computations;  // root and everything inside
};
Fingerprints Fingerprint(const hlo::Module& module);

}  // namespace hloscope::analysis
