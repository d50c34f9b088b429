// The bootstrap of a ratio of medians, over blocks of turns.
#include "core/debug/run/run_ratio.h"

#include <algorithm>
#include <random>

namespace hloscope::debug {
namespace {

constexpr size_t kMostBlocks = 200;
constexpr size_t kDraws = 2000;
constexpr size_t kOutside = kDraws / 40;  // of the draws, on each side: 2.5 %

// The medians of blocks of turns.
std::vector<double> Blocks(std::span<const double> values) {
  const size_t count = std::min(values.size(), kMostBlocks);
  std::vector<double> out;
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i * values.size() / count, end = (i + 1) * values.size() / count;
    out.push_back(Median({values.begin() + static_cast<ptrdiff_t>(begin),
                          values.begin() + static_cast<ptrdiff_t>(end)}));
  }
  return out;
}

}  // namespace

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

RunRatio RatioOf(std::span<const double> own, std::span<const double> other) {
  RunRatio out;
  out.ratio = Median({own.begin(), own.end()}) / Median({other.begin(), other.end()});
  if (own.size() < kLeastForInterval) return out;
  const std::vector<double> own_blocks = Blocks(own), other_blocks = Blocks(other);
  std::mt19937_64 random(1);
  std::vector<double> ratios, drawn_own(own_blocks.size()), drawn_other(own_blocks.size());
  for (size_t draw = 0; draw < kDraws; ++draw) {
    for (size_t i = 0; i < own_blocks.size(); ++i) {
      const size_t block = random() % own_blocks.size();
      drawn_own[i] = own_blocks[block];
      drawn_other[i] = other_blocks[block];
    }
    ratios.push_back(Median(drawn_own) / Median(drawn_other));
  }
  std::ranges::sort(ratios);
  out.interval = {ratios[kOutside], ratios[kDraws - 1 - kOutside]};
  return out;
}

}  // namespace hloscope::debug
