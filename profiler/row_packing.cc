// The tournament of row ends.
#include "profiler/row_packing.h"

#include <algorithm>

namespace hloscope::profiler {

uint32_t RowPacking::Place(int64_t start, int64_t end) {
  if (ends_[1] > start) Grow();
  uint32_t node = 1;
  while (node < leaves_) {
    node *= 2;
    if (ends_[node] > start) ++node;
  }
  const uint32_t row = node - leaves_;
  ends_[node] = std::max(end, start + 1);
  for (node /= 2; node > 0; node /= 2) {
    const size_t left = size_t{2} * node;
    ends_[node] = std::min(ends_[left], ends_[left + 1]);
  }
  rows_ = std::max(rows_, row + 1);
  return row;
}

// Twice the rows: the old tree becomes the left half of the new one.
void RowPacking::Grow() {
  std::vector<int64_t> wider(ends_.size() * 2, kFree);
  for (uint32_t level = 1; level <= leaves_; level *= 2) {
    std::copy_n(ends_.begin() + level, level, wider.begin() + int64_t{2} * level);
  }
  leaves_ *= 2;
  ends_ = std::move(wider);
  ends_[1] = kFree;
}

}  // namespace hloscope::profiler
