// Statistics by counting sort of the durations under their keys.
#include "profiler/range_statistics.h"

#include <algorithm>
#include <numeric>

#include "profiler/saturating_add.h"

namespace hloscope::profiler {
namespace {

// Where the events of one row lie that reach into the range.
using EventSpan = std::pair<EventId, EventId>;

std::vector<EventSpan> SpansOf(const EventStore& store, const StatisticsQuery& query) {
  std::vector<LaneId> lanes = query.lanes;
  if (lanes.empty()) {
    for (size_t l = 0; l < store.lanes().size(); ++l) lanes.emplace_back(l);
  }
  std::vector<EventSpan> spans;
  for (LaneId id : lanes) {
    const Lane& lane = store.lanes()[id.index];
    for (uint32_t r = 0; r < lane.row_count; ++r) {
      EventSpan span = store.EventsIn(lane.first_row + r, query.range);
      if (span.first < span.second) spans.push_back(span);
    }
  }
  return spans;
}

uint32_t KeyOf(const EventStore& store, StatisticsKey key, EventId e) {
  return key == StatisticsKey::kName ? store.name(e).index : store.operation(e).index;
}

// Calls visit(event, key) for every event that has a key; false where a stop was requested.
template <typename Visit>
bool ForEach(const EventStore& store, const std::vector<EventSpan>& spans, StatisticsKey key,
             const std::stop_token& stop, Visit visit) {
  constexpr uint32_t kPatience = 1 << 16;
  for (const auto& [first, last] : spans) {
    for (uint32_t i = first.index; i < last.index; ++i) {
      if (i % kPatience == 0 && stop.stop_requested()) return false;
      const uint32_t k = KeyOf(store, key, EventId(i));
      if (k != EventId::kNone) visit(EventId(i), k);
    }
  }
  return true;
}

// The duration that `percent` of the sorted events do not exceed: nearest rank. Reorders them.
int64_t Percentile(std::span<int64_t> durations, int64_t percent) {
  const int64_t count = static_cast<int64_t>(durations.size());
  const int64_t rank = std::max<int64_t>((count * percent + 99) / 100, 1) - 1;
  std::nth_element(durations.begin(), durations.begin() + rank, durations.end());
  return durations[static_cast<size_t>(rank)];
}

}  // namespace

Result<std::vector<DurationStatistics>> Statistics(const EventStore& store,
                                                   const StatisticsQuery& query, Jobs& jobs,
                                                   const std::stop_token& stop) {
  const std::vector<EventSpan> spans = SpansOf(store, query);
  const size_t keys =
      query.key == StatisticsKey::kName ? store.name_count() : store.operations().size();
  std::vector<DurationStatistics> all(keys);
  auto stopped = [] {
    return std::unexpected(Error{ErrorClass::kCancelled, "the statistics were cancelled", {}, {}});
  };
  bool whole = ForEach(store, spans, query.key, stop, [&](EventId e, uint32_t k) {
    DurationStatistics& s = all[k];
    const int64_t duration = store.duration(e);
    const int64_t begin = std::max(store.start(e), query.range.begin);
    const int64_t end = std::min(store.end(e), query.range.end);
    s.inside = SaturatingAdd(s.inside, std::max<int64_t>(end - begin, 0));
    s.total = SaturatingAdd(s.total, duration);
    s.min = s.count == 0 ? duration : std::min(s.min, duration);
    if (s.count == 0 || duration > s.max) {
      s.max = duration;
      s.longest = e;
    }
    ++s.count;
  });
  if (!whole) return stopped();
  std::vector<size_t> first(keys + 1, 0);
  for (size_t k = 0; k < keys; ++k) first[k + 1] = first[k] + static_cast<size_t>(all[k].count);
  std::vector<int64_t> durations(first[keys]);
  std::vector<size_t> next(first.begin(), first.end() - 1);
  whole = ForEach(store, spans, query.key, stop,
                  [&](EventId e, uint32_t k) { durations[next[k]++] = store.duration(e); });
  if (!whole) return stopped();
  std::vector<DurationStatistics> found;
  for (size_t k = 0; k < keys; ++k) {
    if (all[k].count == 0) continue;
    all[k].key = static_cast<uint32_t>(k);
    found.push_back(all[k]);
  }
  HLOSCOPE_TRY(jobs.ParallelFor(
      static_cast<int64_t>(found.size()),
      [&](int64_t i) {
        DurationStatistics& s = found[static_cast<size_t>(i)];
        auto own = std::span(durations).subspan(first[s.key], static_cast<size_t>(s.count));
        s.p50 = Percentile(own, 50);
        s.p90 = Percentile(own, 90);
        s.p99 = Percentile(own, 99);
      },
      stop));
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.inside != b.inside ? a.inside > b.inside : a.key < b.key;
  });
  return found;
}

}  // namespace hloscope::profiler
