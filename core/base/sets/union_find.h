// UnionFind: sets of numbers from 0 that are joined.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace hloscope {

// Each step takes time logarithmic in the numbers at most, amortized.
class UnionFind {
 public:
  // `size` sets of one number.
  explicit UnionFind(size_t size = 0) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }

  size_t size() const { return parent_.size(); }
  // One more set, of the next number.
  uint32_t Add() {
    parent_.push_back(static_cast<uint32_t>(parent_.size()));
    return parent_.back();
  }
  // The smallest number of the set. Also makes later searches shorter: not for several threads.
  uint32_t Find(uint32_t number) const {
    while (parent_[number] != number) number = parent_[number] = parent_[parent_[number]];
    return number;
  }
  void Join(uint32_t a, uint32_t b) {
    const uint32_t first = Find(a), other = Find(b);
    parent_[std::max(first, other)] = std::min(first, other);
  }

 private:
  mutable std::vector<uint32_t> parent_;
};

}  // namespace hloscope
