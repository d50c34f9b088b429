// The clocks of a Perfetto trace: what times of one say in another, and times that count on from
// the one before.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace hloscope::profiler {

class PerfettoClocks {
 public:
  // Takes a ClockSnapshot that stands in `sequence`.
  void AddSnapshot(uint32_t sequence, std::string_view snapshot);

  // The nanoseconds of the trace's clock; `clock` 0 is that clock. Nullopt for a clock that no
  // snapshot names, and for numbers that are no times.
  std::optional<int64_t> Nanoseconds(uint32_t sequence, uint32_t clock, uint64_t timestamp);

 private:
  static constexpr uint32_t kBoottime = 6, kFirstOfSequence = 64, kFirstGlobal = 128;
  struct Clock {
    int64_t value = 0;      // at the snapshot, or that of the last event, in its own unit
    int64_t snapshot = 0;   // at the snapshot, in its own unit
    int64_t reference = 0;  // the time of the trace's clock at the snapshot
    int64_t unit_ns = 1;
    bool counts_on = false;
  };
  // Clocks from 64 to 127 are those of their sequence.
  static std::pair<uint32_t, uint32_t> KeyOf(uint32_t sequence, uint32_t clock) {
    const bool is_own = clock >= kFirstOfSequence && clock < kFirstGlobal;
    return {is_own ? sequence : 0, clock};
  }

  std::map<std::pair<uint32_t, uint32_t>, Clock> clocks_;
  uint32_t primary_ = kBoottime;
};

}  // namespace hloscope::profiler
