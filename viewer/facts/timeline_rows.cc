// Places of lanes and rows.
#include "viewer/facts/timeline_rows.h"

#include <algorithm>

namespace hloscope::viewer {

void TimelineRows::Show(const profiler::EventStore& store) {
  store_ = &store;
  folded_.clear();
  Build();
}

void TimelineRows::Toggle(uint32_t group) {
  if (!folded_.erase(group)) folded_.insert(group);
  Build();
}

void TimelineRows::Build() {
  strips_.clear();
  float y = 0;
  for (uint32_t g = 0; g < store_->groups().size(); ++g) {
    const profiler::Group& group = store_->groups()[g];
    if (group.lanes.empty()) continue;
    strips_.push_back({.group = g, .row = std::nullopt, .lane = {}, .y = y});
    y += kHeadHeight;
    if (is_folded(g)) continue;
    for (profiler::LaneId id : group.lanes) {
      const profiler::Lane& lane = store_->lanes()[id.index];
      for (uint32_t r = 0; r < lane.row_count; ++r) {
        strips_.push_back({g, lane.first_row + r, id, r == 0, y});
        y += kRowHeight;
      }
      y += kLaneGap;
    }
  }
  height_ = y;
}

const TimelineStrip* TimelineRows::At(float y) const {
  auto after = std::ranges::upper_bound(strips_, y, {}, &TimelineStrip::y);
  if (after == strips_.begin() || y >= height_) return nullptr;
  const TimelineStrip& strip = *std::prev(after);
  return y < strip.y + (strip.row ? kRowHeight : kHeadHeight) ? &strip : nullptr;
}

std::pair<size_t, size_t> TimelineRows::Between(float top, float bottom) const {
  auto first = std::ranges::upper_bound(strips_, top - kHeadHeight, {}, &TimelineStrip::y);
  auto last = std::ranges::lower_bound(strips_, bottom, {}, &TimelineStrip::y);
  return {static_cast<size_t>(first - strips_.begin()),
          static_cast<size_t>(std::max(first, last) - strips_.begin())};
}

const TimelineStrip* TimelineRows::Of(uint32_t row) const {
  auto found = std::ranges::find(strips_, std::optional(row), &TimelineStrip::row);
  return found == strips_.end() ? nullptr : &*found;
}

}  // namespace hloscope::viewer
