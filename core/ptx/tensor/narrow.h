// Products of elements of eight bits and fewer, block-scaled ones too: one sum at a time, in double
// precision where that is exact.
#pragma once

#include <span>

#include "core/ptx/tensor/tensor.h"

namespace hloscope::ptx {

// Whether a form has elements of four or six bits, or scale factors.
bool IsNarrow(const TileForm& form);

// Elements of four and six bits as registers and tensor memory have them, a byte each (of four bits
// in bits 2 to 5), to the low bits of their bytes; others stay.
void TakeFromBytes(Element element, std::span<std::byte> bytes);

// As MultiplyTile, of elements of eight bits and fewer. One step of all k: how tensor cores add
// these up is not published, so it is the rule of f8 (RuleOf), an exponent being the sum of those
// of the elements and the scale factors, each as its own format has it.
void MultiplyNarrowTile(const TileForm& form, const std::byte* a, const std::byte* b,
                        const std::byte* c, std::byte* d);
// The same, each sum in double precision, rounded once to nearest.
void MultiplyNarrowTileExactly(const TileForm& form, const std::byte* a, const std::byte* b,
                               const std::byte* c, std::byte* d);

}  // namespace hloscope::ptx
