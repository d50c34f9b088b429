// Pairs of instructions of two computations that do the same to the same, in program order.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/analysis/align/fingerprint.h"
#include "core/hlo/module.h"

namespace hloscope::analysis {

using Partners = std::unordered_map<hlo::InstructionId, hlo::InstructionId>;

// Opcode, shape and the instructions that the operands are; empty without operands. With
// `partners`: what belongs to them there, and empty where an operand belongs to none.
std::string OperandKey(const hlo::Module& module, hlo::InstructionId id,
                       const Partners* partners = nullptr);

// One side of a match. `left`: what has no partner yet, in program order; what finds one leaves it.
struct MatchSide {
  const hlo::Module& module;
  const Fingerprints& prints;
  std::vector<hlo::InstructionId>& left;
};

// For each of `a` that of `b` which does the same to the partners of its operands, of several the
// one of the same name; else the only one that computes something else of them, of the same shape
// and read by the same operations; else that of the same name with the same attributes. A program
// that was changed has other numbers in the names of what comes after. Adds to `partners` and
// returns the new pairs; linear in both.
std::vector<std::pair<hlo::InstructionId, hlo::InstructionId>> MatchInOrder(MatchSide a,
                                                                            MatchSide b,
                                                                            Partners& partners);

}  // namespace hloscope::analysis
