// RowPacking: the first row that is free at a time, for events handed over in order of their
// starts.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace hloscope::profiler {

// A tournament over the ends of the rows: each place takes steps of the logarithm of the rows, so
// that a lane in which everything overlaps is laid out too.
class RowPacking {
 public:
  // The lowest row whose last event has ended at `start`; it is taken until `end`. An event without
  // length takes its place for the shortest time there is, so that two at one moment stand in two
  // rows.
  uint32_t Place(int64_t start, int64_t end);
  uint32_t rows() const { return rows_; }

 private:
  void Grow();

  // A heap-shaped tree: ends_[1] is the root, the leaves are the rows from ends_[leaves_] on;
  // unused rows are free.
  static constexpr int64_t kFree = std::numeric_limits<int64_t>::min();
  std::vector<int64_t> ends_ = {kFree, kFree};
  uint32_t leaves_ = 1, rows_ = 0;
};

}  // namespace hloscope::profiler
