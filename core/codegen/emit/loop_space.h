// LoopSpace: the loops that run over the elements of a kernel: which dimensions may be run through
// as one, and how many lanes a vector has.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/codegen/emit/kernel.h"

namespace hloscope::codegen {

// By dimension d: true if dimensions d-1 and d of the arrays `roots`, all of these sizes, are not
// neighbours everywhere in what they are computed from, so that one loop over both would have to
// divide. True for 0. Dimensions of size 1 belong to those before them.
std::vector<bool> Borders(const Kernel& kernel, std::span<const hlo::InstructionId> roots,
                          std::span<const int64_t> sizes);

// How large parameters are read across the results.
struct Transposition {
  // The dimension of the results along which one is read element after element, where that is not
  // the last one (longer than 1). -1: there is none.
  int dimension = -1;
  bool is_only = true;  // all others are read along it too
};
Transposition FindTransposition(const Kernel& kernel, std::span<const hlo::InstructionId> roots,
                                std::span<const int64_t> sizes);

// Dimensions that one loop runs through.
struct LoopGroup {
  size_t count = 0;
  int64_t size = 1;
};
// Groups between the borders.
std::vector<LoopGroup> Grouped(std::span<const int64_t> sizes, const std::vector<bool>& borders);

// Lanes of a vector of the widest elements that are not scalars, as the widest registers hold.
int FullWidth(const Kernel& kernel);
// Whether each element of each value is computed once, in registers, instead of in a loop.
bool IsUnrolled(const Kernel& kernel);
// Lanes of a vector along `size` elements: a power of two that is not more than either.
int LanesAlong(const Kernel& kernel, int64_t size);
// Bits of the integers that number lanes: 32 where all arrays have fewer elements.
int LaneBits(const Kernel& kernel);
// How many elements loops along memory look ahead, about a page, and how long a loop has to be for
// that: further on is not what it reads.
inline constexpr int64_t kAhead = 1 << 10, kMinAhead = 1 << 13;
// How much of what a grain has to do, in any units: `usual` where grains are worth a thread's
// while, else as little as there can be.
int64_t GrainLimit(const Kernel& kernel, int64_t usual);
// Bytes that a grain reads and writes, about, where there is no reason for fewer or more.
inline constexpr int64_t kGrainBytes = 1 << 16;
// Bytes read and written per element of a result of so many elements, about.
int64_t BytesPerElement(const Kernel& kernel, int64_t elements);

}  // namespace hloscope::codegen
