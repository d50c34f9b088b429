// TimelineRows: which rows of a profile are drawn where, groups folded or not. No drawing.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "profiler/event_store.h"

namespace hloscope::viewer {

// One strip of the timeline: the head of a group, or a row of a lane.
struct TimelineStrip {
  uint32_t group = 0;
  std::optional<uint32_t> row;  // absent: the head of the group
  profiler::LaneId lane;
  bool is_first_of_lane = false;
  float y = 0;  // logical pixels from the top of all
};

class TimelineRows {
 public:
  static constexpr float kHeadHeight = 22, kRowHeight = 18, kLaneGap = 4;

  void Show(const profiler::EventStore& store);
  void Toggle(uint32_t group);
  bool is_folded(uint32_t group) const { return folded_.contains(group); }

  std::span<const TimelineStrip> strips() const { return strips_; }
  float height() const { return height_; }
  // The strip at `y`; null behind the last.
  const TimelineStrip* At(float y) const;
  // Those that begin or end in [top, bottom), as positions in strips().
  std::pair<size_t, size_t> Between(float top, float bottom) const;
  const TimelineStrip* Of(uint32_t row) const;

 private:
  void Build();

  const profiler::EventStore* store_ = nullptr;
  std::set<uint32_t> folded_;
  std::vector<TimelineStrip> strips_;
  float height_ = 0;
};

}  // namespace hloscope::viewer
