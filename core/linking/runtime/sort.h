// Sorting for compiled code: plain functions of plain data, which need nothing but libc.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// A line of some arrays that is sorted by keys or by a comparator. Compiled code holds one of these
// as a constant: the layout is part of its interface.
struct HloscopeSort {
  int64_t length;     // elements of a line, below 2^32
  int64_t stride;     // elements from one to the next in memory
  int32_t key_words;  // 64-bit words of a key; 0: 32 bits, in one entry with the place
  int32_t arrays;
  const int32_t* element_bytes;  // of each array: 1, 2, 4, 8 or 16
  int64_t taken;                 // elements of a line that are wanted, by hloscope_topk_by_keys
};

// True if the element at `a` comes before that at `b`; offsets in elements.
using HloscopeLess = bool (*)(const std::byte* const* operands, int64_t a, int64_t b);

// Bytes of scratch memory for a line.
int64_t hloscope_sort_scratch_bytes(int64_t length, int32_t key_words);

// Sorts the line that begins at element `base` of every operand into the results; stable. `scratch`
// begins with the keys, unsigned: `key_words` arrays of them, the most significant first, or
// entries of key << 32 | place.
void hloscope_sort_by_keys(const HloscopeSort* sort, const std::byte* const* operands,
                           std::byte* const* results, std::byte* scratch, int64_t base);
// The first `taken` elements of that line, at most half of it, side by side in the first result,
// and their places as s32 in the second; neither array has a stride.
void hloscope_topk_by_keys(const HloscopeSort* sort, const std::byte* const* operands,
                           std::byte* const* results, std::byte* scratch, int64_t base);
// The same as hloscope_sort_by_keys without keys. Whatever `less` says, the result is a
// permutation.
void hloscope_sort_by_less(const HloscopeSort* sort, HloscopeLess less,
                           const std::byte* const* operands, std::byte* const* results,
                           std::byte* scratch, int64_t base);

}  // extern "C"
