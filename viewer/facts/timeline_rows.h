// TimelineRows: which rows of one profile or two are drawn where, groups folded or not. No drawing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "profiler/event_store.h"

namespace hloscope::viewer {

// One strip of the timeline: the head of a group, a row of a lane, or a counter.
struct TimelineStrip {
  uint8_t trace = 0;  // as given to Show
  uint32_t group = 0;
  std::optional<uint32_t> row = {};  // absent: the head of the group, or a counter
  profiler::LaneId lane = {};
  bool is_first_of_lane = false;
  float y = 0;                           // logical pixels from the top of all
  std::optional<uint32_t> counter = {};  // index into the store's

  bool is_head() const { return !row && !counter; }
};

class TimelineRows {
 public:
  static constexpr float kHeadHeight = 22, kRowHeight = 18, kLaneGap = 4, kCounterHeight = 36;

  // The traces from top to bottom, each by a number of the caller's; groups stay folded.
  struct Trace {
    uint8_t number = 0;
    const profiler::EventStore* store = nullptr;
  };
  void Show(std::vector<Trace> traces);
  // What of each trace is in sight, by number and in its own time: a lane without an event there is
  // one row. True: other lanes are now.
  bool SetSight(const std::map<uint8_t, profiler::TimeRange>& sight);
  // Opens or folds the group of a strip.
  void Toggle(const TimelineStrip& strip);
  bool is_folded(const TimelineStrip& strip) const {
    return folded_.contains({strip.trace, strip.group});
  }

  std::span<const TimelineStrip> strips() const { return strips_; }
  float height() const { return height_; }
  // The strip at `y`; null after the last.
  const TimelineStrip* At(float y) const;
  // Those that begin or end in [top, bottom), as positions in strips().
  std::pair<size_t, size_t> Between(float top, float bottom) const;
  // Null: its group is folded.
  const TimelineStrip* Of(uint8_t trace, uint32_t row) const;

 private:
  void Build();
  void AddTrace(const Trace& trace, float& y);
  static bool IsEmptyIn(const profiler::EventStore& store, const profiler::Lane& lane,
                        profiler::TimeRange range);
  void AddLanes(const Trace& trace, uint32_t group, float& y);
  // False: the group has none.
  static bool HasCounters(const profiler::EventStore& store, uint32_t group);
  static float HeightOf(const TimelineStrip& strip) {
    return strip.counter ? kCounterHeight : strip.row ? kRowHeight : kHeadHeight;
  }

  std::vector<Trace> traces_;
  std::set<std::pair<uint8_t, uint32_t>> folded_;  // traces and groups
  std::set<std::pair<uint8_t, uint32_t>> empty_;   // traces and lanes without an event in sight
  std::vector<TimelineStrip> strips_;
  std::map<uint8_t, std::vector<int32_t>> strip_of_row_;  // by trace and row; -1: folded
  float height_ = 0;
};

}  // namespace hloscope::viewer
