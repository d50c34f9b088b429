// The instructions of several recordings beside each other, by their names.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/jobs.h"
#include "core/base/result.h"
#include "profiler/module_runs.h"
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
  size_t module = 0;  // index into the modules
  std::string instruction, opcode;
  std::string fusion, category, source_line;  // empty: none
  std::vector<RecordedItem> recordings;       // as given
};

// All programs of one name.
struct ItemModule {
  std::string name;
  std::vector<ModuleRuns> recordings;  // as given
  std::vector<double> scales;          // of each, its runs over those of the first that has any
};

struct ComparedItems {
  std::vector<ItemModule> modules;  // sorted by name
  std::vector<ComparedItem> items;  // in order of modules and names
};

// kCancelled where `stop` was requested.
Result<ComparedItems> FindItems(std::span<const ComparedRecording> recordings, Jobs& jobs,
                                const std::stop_token& stop);

}  // namespace hloscope::profiler
