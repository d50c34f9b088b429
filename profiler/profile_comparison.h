// Two profiles against each other: what each instruction took in both.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "profiler/attribution.h"

namespace hloscope::profiler {

// How often the second of two traces ran what the first ran once, from counts of the same things
// in both: their median ratio; 1 where nothing is in both.
double RunsRatio(std::span<const std::pair<int64_t, int64_t>> counts);

// One instruction, known by the names of its module and itself. Times are `self`, in picoseconds.
struct ComparedTime {
  std::string module, instruction, opcode;
  int64_t before_count = 0, after_count = 0;
  int64_t before = 0, after = 0;
  double after_scaled = 0;  // `after` for as many runs as the first profile has
  double change() const { return after_scaled - static_cast<double>(before); }
};

struct ProfileComparison {
  std::vector<ComparedTime> rows;  // the largest change first, whatever its sign
  double runs = 1;                 // RunsRatio of the rows
  int64_t before = 0, after = 0;   // sums over the rows, not scaled
};
ProfileComparison CompareProfiles(const Attribution& before, const Attribution& after);

}  // namespace hloscope::profiler
