// The table that the timeline exports.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "viewer/timeline/timeline_scene.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using profiler::EventId;
using profiler::EventStore;
using profiler::TimeRange;

constexpr size_t kMaxRows = 1'000'000;

// Samples of counters that are in sight, each until the next.
Status AppendCounters(const TimelineScene& scene, const TimelineTrace& trace, size_t& count,
                      std::string& out) {
  const EventStore& store = trace.model->store();
  const TimeRange range = scene.InSight(trace);
  for (const profiler::Counter& counter : store.counters()) {
    const std::span<const int64_t> times = store.times(counter);
    const auto after = std::ranges::upper_bound(times, range.begin);
    const auto last = std::ranges::lower_bound(times, range.end);
    const auto first = after == times.begin() ? after : std::prev(after);
    if (first >= last) continue;
    count += static_cast<size_t>(last - first);
    if (count > kMaxRows)
      return UnsupportedError("more than a million samples are visible", "zoom in");
    for (auto at = first; at < last; ++at) {
      const int64_t until = std::next(at) == times.end() ? store.range().end : *std::next(at);
      if (!trace.label.empty()) out += trace.label + ",";
      out += fmt::format("{},,,{},{},{},{}\n", CsvCell(store.text(counter.name)), *at,
                         std::max<int64_t>(until - *at, 0),
                         store.values(counter)[static_cast<size_t>(at - times.begin())],
                         CsvCell(store.text(counter.unit)));
    }
  }
  return {};
}

// Events of the trace that are in sight.
Status AppendEvents(const TimelineScene& scene, const TimelineTrace& trace, size_t& count,
                    std::string& out) {
  const EventStore& store = trace.model->store();
  const TimeRange range = scene.InSight(trace);
  for (uint32_t row = 0; row < store.rows().size(); ++row) {
    const profiler::Lane& lane = store.lanes()[store.rows()[row].lane.index];
    const auto [first, last] = store.EventsIn(row, range);
    count += last.index - first.index;
    if (count > kMaxRows)
      return UnsupportedError("more than a million events are visible", "zoom in");
    for (uint64_t e = first.index; e < last.index; ++e) {
      const EventId event(e);
      if (!trace.label.empty()) out += trace.label + ",";
      out += fmt::format("{},{},{},{},{},,\n", CsvCell(store.text(lane.name)), row,
                         CsvCell(store.text(store.name(event))), store.start(event),
                         store.duration(event));
    }
  }
  return {};
}

}  // namespace

Result<std::string> TimelineCsv(const TimelineScene& scene) {
  std::string out = scene.traces[1].model == nullptr ? "" : "trace,";
  out += "lane,row,event,start_ps,duration_ps,value,unit\n";
  size_t count = 0;
  for (const TimelineTrace& trace : scene.traces) {
    if (trace.model == nullptr) continue;
    HLOSCOPE_TRY(AppendEvents(scene, trace, count, out));
    HLOSCOPE_TRY(AppendCounters(scene, trace, count, out));
  }
  return out;
}

}  // namespace hloscope::viewer
