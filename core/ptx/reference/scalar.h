// A second implementation of what instructions do, for one lane at a time and written apart from
// the steps of the machine: what both give is not a fault of one of them.
#pragma once

#include <cstdint>
#include <span>

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

// Computes an instruction that touches neither memory nor other lanes. `values` has the bits of
// what is read, by slot, `!` applied to predicates, and gets those of what is written; `carry` is
// the flag of the lane. False: this form has no second implementation.
bool ComputeScalar(const Instruction& instruction, std::span<const Slot> slots,
                   std::span<uint64_t> values, bool& carry);

// Whether its results may be one unit in the last place apart from the machine's: approximate
// functions, whose bits nobody documents.
bool IsApproximation(const Instruction& instruction);

// What an atomic leaves behind where `old` was. False: this form has no second implementation.
bool ComputeAtomic(const Instruction& instruction, uint64_t old, uint64_t value, uint64_t other,
                   uint64_t& changed);

}  // namespace hloscope::ptx
