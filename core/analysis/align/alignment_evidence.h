// What speaks for one instruction coming from another, pair by pair.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/analysis/align/alignment_side.h"

namespace hloscope::analysis {

bool IsScalar(const AlignmentSide& side, uint32_t id);
// Copies, reshapes and the like: the same values elsewhere.
bool Moves(const AlignmentSide& side, uint32_t id);
// An element of a loop's state or of a result of several parts: it has the op_name of the whole.
bool IsElement(const AlignmentSide& side, uint32_t id);
bool SameDimensions(const AlignmentSide& before, uint32_t b, const AlignmentSide& after,
                    uint32_t a);
// Whether `a` stands in the computation of that name, or in a clone of it.
bool SamePart(const AlignmentSide& before, uint32_t b, const AlignmentSide& after, uint32_t a);
// Of the opcode and the last part of the op_name.
uint64_t EndHash(const AlignmentSide& side, uint32_t id);

// A name without its last number or `.clone`; empty where what is left has no number of its own,
// so that it would be the stem of all names of that kind.
std::string_view StemOf(std::string_view name);

}  // namespace hloscope::analysis
