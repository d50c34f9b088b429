// The bootstrap of a ratio of medians, over blocks of turns.
#include "core/debug/run/run_ratio.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>

namespace hloscope::debug {
namespace {

constexpr size_t kMaxBlocks = 200;
constexpr size_t kDraws = 2000;
constexpr size_t kOutside = kDraws / 40;  // of the draws, on each side: 2.5 %

// The times of one side, cut into blocks of turns that follow each other.
class Blocks {
 public:
  explicit Blocks(std::span<const double> values)
      : count_(std::min(values.size(), kMaxBlocks)), sizes_(count_) {
    for (size_t block = 0; block < count_; ++block) {
      const size_t begin = block * values.size() / count_,
                   end = (block + 1) * values.size() / count_;
      sizes_[block] = end - begin;
      for (size_t i = begin; i < end; ++i) sorted_.emplace_back(values[i], block);
    }
    std::ranges::sort(sorted_);
  }

  size_t count() const { return count_; }

  // Of all turns where each block is there as often as `times` says.
  double MedianOf(std::span<const uint32_t> times) const {
    size_t all = 0;
    for (size_t block = 0; block < count_; ++block) all += times[block] * sizes_[block];
    const size_t low_place = (all - 1) / 2, high_place = all / 2;
    size_t before = 0;
    double low = 0;
    bool has_low = false;
    for (const auto& [value, block] : sorted_) {
      before += times[block];
      if (!has_low && before > low_place) {
        low = value;
        has_low = true;
      }
      if (before > high_place) return (low + value) / 2;
    }
    return low;
  }

 private:
  size_t count_;
  std::vector<size_t> sizes_;                      // turns, by block
  std::vector<std::pair<double, size_t>> sorted_;  // times with their blocks
};

}  // namespace

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

RunRatio RatioOf(std::span<const double> own, std::span<const double> other) {
  RunRatio out;
  out.ratio = Median({own.begin(), own.end()}) / Median({other.begin(), other.end()});
  if (own.size() < kMinForInterval) return out;
  // The same statistic as of what was measured, or the interval would be that of another: medians
  // of medians leave out the slow turns of most blocks, however many those are in all.
  const Blocks own_blocks(own), other_blocks(other);
  std::mt19937_64 random(1);
  std::vector<double> ratios;
  std::vector<uint32_t> times(own_blocks.count());
  for (size_t draw = 0; draw < kDraws; ++draw) {
    std::ranges::fill(times, 0);
    for (size_t i = 0; i < times.size(); ++i) ++times[random() % times.size()];
    ratios.push_back(own_blocks.MedianOf(times) / other_blocks.MedianOf(times));
  }
  std::ranges::sort(ratios);
  out.interval = {ratios[kOutside], ratios[kDraws - 1 - kOutside]};
  return out;
}

}  // namespace hloscope::debug
