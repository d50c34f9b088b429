// RunRatio: how two series of run times that were measured in turns stand to each other.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace hloscope::debug {

// The middle one, or between the two in the middle; `values` is not empty.
double Median(std::vector<double> values);

struct RunRatio {
  double ratio = 0;  // of the medians
  // Where the ratio of medians of all such turns is with 95 %: drawn from blocks of turns that
  // follow each other, since those are alike. Nothing below kMinForInterval turns.
  struct Interval {
    double low = 0, high = 0;
  };
  std::optional<Interval> interval;
};

// Six turns: between the least and the most of fewer, a median is with less than 95 %.
inline constexpr size_t kMinForInterval = 6;

// `own[i]` and `other[i]` are of one turn, and above 0; the same answer for the same times.
RunRatio RatioOf(std::span<const double> own, std::span<const double> other);

}  // namespace hloscope::debug
