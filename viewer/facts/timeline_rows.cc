#include "viewer/facts/timeline_rows.h"

#include <algorithm>

namespace hloscope::viewer {

void TimelineRows::Show(std::vector<Trace> traces) {
  traces_ = std::move(traces);
  empty_.clear();
  Build();
}

bool TimelineRows::IsEmptyIn(const profiler::EventStore& store, const profiler::Lane& lane,
                             profiler::TimeRange range) {
  for (uint32_t r = lane.first_row; r < lane.first_row + lane.row_count; ++r) {
    const auto [first, last] = store.EventsIn(r, range);
    if (first.index < last.index) return false;
  }
  return true;
}

bool TimelineRows::SetSight(const std::map<uint8_t, profiler::TimeRange>& sight) {
  std::set<std::pair<uint8_t, uint32_t>> empty;
  for (const Trace& trace : traces_) {
    const auto range = sight.find(trace.number);
    if (range == sight.end()) continue;
    const auto lanes = trace.store->lanes();
    for (uint32_t l = 0; l < lanes.size(); ++l) {
      if (lanes[l].row_count > 1 && IsEmptyIn(*trace.store, lanes[l], range->second))
        empty.emplace(trace.number, l);
    }
  }
  if (empty == empty_) return false;
  empty_ = std::move(empty);
  Build();
  return true;
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
  strip_of_row_[trace.number].assign(store.rows().size(), -1);
  for (uint32_t g = 0; g < store.groups().size(); ++g) {
    if (store.groups()[g].lanes.empty() && !HasCounters(store, g)) continue;
    strips_.push_back({.trace = trace.number, .group = g, .y = y});
    y += kHeadHeight;
    if (!folded_.contains({trace.number, g})) AddLanes(trace, g, y);
  }
}

void TimelineRows::AddLanes(const Trace& trace, uint32_t group, float& y) {
  const profiler::EventStore& store = *trace.store;
  std::vector<int32_t>& places = strip_of_row_[trace.number];
  for (profiler::LaneId id : store.groups()[group].lanes) {
    const profiler::Lane& lane = store.lanes()[id.index];
    const bool is_empty = empty_.contains({trace.number, static_cast<uint32_t>(id.index)});
    for (uint32_t r = 0; r < lane.row_count; ++r) {
      if (r > 0 && is_empty) {
        places[lane.first_row + r] = places[lane.first_row];
        continue;
      }
      places[lane.first_row + r] = static_cast<int32_t>(strips_.size());
      strips_.push_back({trace.number, group, lane.first_row + r, id, r == 0, y});
      y += kRowHeight;
    }
    y += kLaneGap;
  }
  for (uint32_t c = 0; c < store.counters().size(); ++c) {
    if (store.counters()[c].group != group || store.counters()[c].sample_count == 0) continue;
    strips_.push_back({.trace = trace.number, .group = group, .y = y, .counter = c});
    y += kCounterHeight + kLaneGap;
  }
}

bool TimelineRows::HasCounters(const profiler::EventStore& store, uint32_t group) {
  return std::ranges::any_of(store.counters(), [group](const profiler::Counter& counter) {
    return counter.group == group && counter.sample_count > 0;
  });
}

const TimelineStrip* TimelineRows::At(float y) const {
  auto after = std::ranges::upper_bound(strips_, y, {}, &TimelineStrip::y);
  if (after == strips_.begin() || y >= height_) return nullptr;
  const TimelineStrip& strip = *std::prev(after);
  return y < strip.y + HeightOf(strip) ? &strip : nullptr;
}

std::pair<size_t, size_t> TimelineRows::Between(float top, float bottom) const {
  auto first = std::ranges::upper_bound(strips_, top - kCounterHeight, {}, &TimelineStrip::y);
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
