// The instructions of several recordings beside each other, by their names.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/jobs.h"
#include "core/base/result.h"
#include "profiler/profile_comparison.h"
#include "profiler/sample_statistics.h"

namespace hloscope::profiler {

// An instruction in one recording; times in picoseconds.
struct RecordedItem {
  int64_t count = 0, self = 0;
  bool has_typical = false;  // an execution has an event of its own
  Estimate typical;          // logarithm of one execution
};

struct ComparedItem {
  std::string module, instruction, opcode;
  std::string fusion, category, source_line;  // empty: none
  std::vector<RecordedItem> recordings;       // as given
};

// In order of modules and names. kCancelled where `stop` was requested.
Result<std::vector<ComparedItem>> ComparedItems(std::span<const ComparedRecording> recordings,
                                                Jobs& jobs, const std::stop_token& stop);

}  // namespace hloscope::profiler
