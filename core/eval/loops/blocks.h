// Rectangular blocks of arrays copied from one array to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/eval/machine/machine.h"

namespace hloscope::eval {

// Where a block begins in a dense array of `dimensions`.
struct BlockPlace {
  std::span<const int64_t> dimensions;
  std::span<const int64_t> start;
};

// Copies a block of `sizes` elements of `element_bytes` each. It must lie within both arrays.
void CopyBlock(std::span<const int64_t> sizes, int element_bytes, const BlockPlace& from,
               const std::byte* in, const BlockPlace& to, std::byte* out);

// The part of an array from `start` on along one dimension, shaped `shape`; in bounds.
Result<Value> SliceOf(KernelCall& call, const Value& array, size_t dimension, int64_t start,
                      int64_t size);
// Arrays put one behind another along a dimension, as an array of `shape`. Unsupported where they
// do not fill it.
Result<Value> Joined(KernelCall& call, std::span<const Value> arrays, size_t dimension,
                     const hlo::Shape& shape);
// An array of `shape` of zero bytes.
Result<Value> Zeros(KernelCall& call, const hlo::Shape& shape);

}  // namespace hloscope::eval
