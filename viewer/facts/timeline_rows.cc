// Places of lanes and rows.
#include "viewer/facts/timeline_rows.h"

#include <algorithm>

namespace hloscope::viewer {

void TimelineRows::Show(std::vector<Trace> traces) {
  traces_ = std::move(traces);
  Build();
}

void TimelineRows::Toggle(const TimelineStrip& strip) {
  const std::pair group(strip.trace, strip.group);
  if (!folded_.erase(group)) folded_.insert(group);
  Build();
}

void TimelineRows::Build() {
  strips_.clear();
  strip_of_row_.clear();
  float y = 0;
  for (const Trace& trace : traces_) AddTrace(trace, y);
  height_ = y;
}

void TimelineRows::AddTrace(const Trace& trace, float& y) {
  const profiler::EventStore& store = *trace.store;
  std::vector<int32_t>& places = strip_of_row_[trace.number];
  places.assign(store.rows().size(), -1);
  for (uint32_t g = 0; g < store.groups().size(); ++g) {
    const profiler::Group& group = store.groups()[g];
    if (group.lanes.empty()) continue;
    strips_.push_back({.trace = trace.number, .group = g, .row = std::nullopt, .lane = {}, .y = y});
    y += kHeadHeight;
    if (folded_.contains({trace.number, g})) continue;
    for (profiler::LaneId id : group.lanes) {
      const profiler::Lane& lane = store.lanes()[id.index];
      for (uint32_t r = 0; r < lane.row_count; ++r) {
        places[lane.first_row + r] = static_cast<int32_t>(strips_.size());
        strips_.push_back({trace.number, g, lane.first_row + r, id, r == 0, y});
        y += kRowHeight;
      }
      y += kLaneGap;
    }
  }
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

const TimelineStrip* TimelineRows::Of(uint8_t trace, uint32_t row) const {
  const auto places = strip_of_row_.find(trace);
  if (places == strip_of_row_.end() || row >= places->second.size()) return nullptr;
  const int32_t at = places->second[row];
  return at < 0 ? nullptr : &strips_[static_cast<size_t>(at)];
}

}  // namespace hloscope::viewer
