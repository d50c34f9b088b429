// CounterCurve: a counter of a profile as it is drawn and read: least and most of any stretch of
// time, in steps of its blocks, not of its samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/event_store.h"

namespace hloscope::viewer {

class CounterCurve {
 public:
  struct Range {
    double low = 0, high = 0;
    bool operator==(const Range&) const = default;
  };

  // The store must outlive it.
  CounterCurve(const profiler::EventStore& store, const profiler::Counter& counter);

  std::span<const int64_t> times() const { return times_; }
  std::span<const double> values() const { return values_; }
  // Of all samples; nullopt: none is a number.
  std::optional<Range> whole() const { return Of(0, times_.size()); }
  // The sample whose value holds at `time`; nullopt: before the first.
  std::optional<size_t> At(int64_t time) const;
  // Of what holds anywhere in [begin, end); nullopt: nothing does, or no number.
  std::optional<Range> In(profiler::TimeRange range) const;

 private:
  static constexpr size_t kBlock = 64;  // entries of a level that are one of the next
  std::optional<Range> Of(size_t first, size_t last) const;

  std::span<const int64_t> times_;
  std::span<const double> values_;
  std::vector<std::vector<Range>> levels_;  // of blocks of samples, of blocks of those …
};

// "231 MB", "12.5 %", "1,398.7 ms": to read at a glance; and as it is: "231,104,512 bytes".
std::string CounterText(double value, std::string_view unit);
std::string ExactCounterText(double value, std::string_view unit);
// "0 B to 13.1 kB", "231 MB + 315 kB" where both ends read the same.
std::string CounterRangeText(const CounterCurve::Range& range, std::string_view unit);

}  // namespace hloscope::viewer
