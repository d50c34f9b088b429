// Reading buffer assignments (proto and text) and live ranges.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/dump/readers/buffers.h"

namespace hloscope::dump {

// Allocations and values of an xla.BufferAssignmentProto in wire format. `names` gives
// instructions by their proto ids. Input error: malformed.
Result<BufferTable> ReadBufferProto(std::string_view bytes,
                                    const std::unordered_map<int64_t, std::string>& names);

// The same of a -buffer-assignment.txt; what is cut off is named in the table's warnings. Input
// error: not a buffer assignment.
Result<BufferTable> ReadBufferText(std::string_view text);

// A -live-range.txt.
struct LiveRanges {
  std::vector<std::string> program;  // instruction names by number; empty: its line is lost
  struct Range {
    std::string instruction, index;  // "fusion.1", "{0,1}"
    int32_t start = 0, end = 0;
  };
  std::vector<Range> ranges;
  bool complete = false;  // the section of the peak was reached
  // Lines of the two sections that are neither, and the first of them, from 1.
  int64_t lost_lines = 0;
  int32_t first_lost_line = 0;
};
// Empty where the file says that no live range is available.
LiveRanges ReadLiveRanges(std::string_view text);

// Whether all of it is printable ASCII, as what XLA writes of values is: no other bytes stand in
// it, as where two lines became one.
bool IsPrintable(std::string_view text);

// "{0,1}" as numbers; "{}" is empty.
std::vector<int64_t> ParseShapeIndex(std::string_view text);

// Joins live ranges to values by instruction and index, and finds the peak.
void ApplyLiveRanges(const LiveRanges& live, BufferTable& table);

// Sorts allocations and values, ties values to positions, and adds up the bytes.
void FinishBuffers(BufferTable& table);

}  // namespace hloscope::dump
