// Least and most, by blocks.
#include "viewer/facts/counter_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "viewer/model/number_text.h"

namespace hloscope::viewer {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr CounterCurve::Range kNothing{kInfinite, -kInfinite};

// Non-numeric values are ignored.
void Widen(CounterCurve::Range& range, const CounterCurve::Range& more) {
  if (more.low < range.low) range.low = more.low;
  if (more.high > range.high) range.high = more.high;
}
CounterCurve::Range OfValue(double value) {
  return std::isfinite(value) ? CounterCurve::Range{value, value} : kNothing;
}

// Whole numbers of that size are exact, and have thousands.
bool IsWhole(double value) { return std::abs(value) < 9e15 && value == std::floor(value); }

}  // namespace

CounterCurve::CounterCurve(const profiler::EventStore& store, const profiler::Counter& counter)
    : times_(store.times(counter)), values_(store.values(counter)) {
  std::vector<Range> level;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (i % kBlock == 0) level.push_back(kNothing);
    Widen(level.back(), OfValue(values_[i]));
  }
  while (level.size() > 1) {
    std::vector<Range> next;
    for (size_t i = 0; i < level.size(); ++i) {
      if (i % kBlock == 0) next.push_back(kNothing);
      Widen(next.back(), level[i]);
    }
    levels_.push_back(std::move(level));
    level = std::move(next);
  }
  if (!level.empty()) levels_.push_back(std::move(level));
}

std::optional<size_t> CounterCurve::At(int64_t time) const {
  const auto after = std::ranges::upper_bound(times_, time);
  if (after == times_.begin()) return std::nullopt;
  return static_cast<size_t>(after - times_.begin()) - 1;
}

std::optional<CounterCurve::Range> CounterCurve::In(profiler::TimeRange range) const {
  const auto last = std::ranges::lower_bound(times_, range.end);
  return Of(At(range.begin).value_or(0), static_cast<size_t>(last - times_.begin()));
}

std::optional<CounterCurve::Range> CounterCurve::Of(size_t first, size_t last) const {
  Range range = kNothing;
  for (size_t at = first; at < last;) {
    // The largest block that begins here and ends in time.
    size_t level = 0, size = 1;
    while (level < levels_.size() && at % (size * kBlock) == 0 && at + size * kBlock <= last) {
      size *= kBlock;
      ++level;
    }
    Widen(range, level == 0 ? OfValue(values_[at]) : levels_[level - 1][at / size]);
    at += size;
  }
  return range.low <= range.high ? std::optional(range) : std::nullopt;
}

std::string CounterText(double value, std::string_view unit) {
  if (unit == "bytes" && value >= 0 && value < 9e18) {
    return BytesText(static_cast<int64_t>(value));
  }
  constexpr double kDigits = 1000;  // four are enough
  const bool is_long = std::abs(value) >= kDigits && std::abs(value) < 9e15;
  const std::string number =
      is_long || IsWhole(value) ? CountText(std::llround(value)) : fmt::format("{:.4g}", value);
  return unit.empty() ? number : fmt::format("{} {}", number, unit);
}

std::string ExactCounterText(double value, std::string_view unit) {
  const std::string number =
      IsWhole(value) ? CountText(static_cast<int64_t>(value)) : fmt::format("{}", value);
  return unit.empty() ? number : fmt::format("{} {}", number, unit);
}

std::string CounterRangeText(const CounterCurve::Range& range, std::string_view unit) {
  const std::string low = CounterText(range.low, unit), high = CounterText(range.high, unit);
  if (range.low == range.high) return low;
  if (low != high) return fmt::format("{} to {}", low, high);
  return fmt::format("{} + {}", low, CounterText(range.high - range.low, unit));
}

}  // namespace hloscope::viewer
