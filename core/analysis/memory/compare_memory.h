// Which values make the memory of two compilations of a program differ.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/analysis/memory/memory_report.h"

namespace hloscope::analysis {

struct MemoryDifference {
  std::optional<MemoryHolder> a, b;  // absent: the side has none
  int64_t bytes() const { return (b ? b->bytes : 0) - (a ? a->bytes : 0); }
};

struct MemoryComparison {
  int64_t bytes_a = 0, bytes_b = 0;           // of all holders: what lives at the peaks
  std::vector<MemoryDifference> differences;  // the largest first
  size_t left_out = 0;                        // differences beyond the first kShownDifferences
  int64_t left_out_bytes = 0;                 // their sum
};

inline constexpr size_t kShownDifferences = 5;

/// Values are paired by what they hold: opcode, op_name and shape, then without the shape, then by
/// opcode and shape. Names of instructions count for nothing.
MemoryComparison CompareMemory(const MemoryReport& a, const MemoryReport& b);

}  // namespace hloscope::analysis
