// Index operands read as 64-bit integers, odometers over index spaces, and operands made writable.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/eval/machine/machine.h"

namespace hloscope::eval {

// The elements of an integer array; unsigned ones beyond the signed range become the largest.
std::vector<int64_t> ReadIndices(const Value& value);
// The same of elements `in` of an integer type.
void LoadIndices(hlo::ElementType type, const std::byte* in, std::span<int64_t> out);

// Of each value that is an integer scalar, what it is.
std::vector<std::optional<int64_t>> IntegerScalars(std::span<const Value> values);

// The branch that a conditional of so many takes: the first of two where a pred is true, else the
// one of that number, the last where there is none. May be beyond `branches` where those are too
// few.
int64_t TakenBranch(const Value& selector, int64_t branches);

// Steps `index` to the next one below `sizes` in row-major order; false after the last.
bool NextIndex(std::span<int64_t> index, std::span<const int64_t> sizes);

// The index at position `flat` of the row-major order below `sizes`, none of which is 0.
std::vector<int64_t> IndexAt(int64_t flat, std::span<const int64_t> sizes);

// Σ index·strides.
int64_t Offset(std::span<const int64_t> index, std::span<const int64_t> strides);

// The live part of a dynamic array as an array of its own; any other value as it is.
Result<Value> LivePart(Machine& machine, const Value& value);
// The other way: `live` at the start of an array of `shape`, zeros behind, its sizes noted.
Result<Value> WithinBounds(Machine& machine, const Value& live, const hlo::Shape& shape);

// The bytes of operand i for writing: its own where nobody else sees them, else a copy.
Result<Buffer> OwnCopy(KernelCall& call, size_t i);

}  // namespace hloscope::eval
