// How long what took in a range of time, by name or by operation.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "core/base/jobs.h"
#include "core/base/result.h"
#include "profiler/event_store.h"

namespace hloscope::profiler {

enum class StatisticsKey : uint8_t { kName, kOperation };

struct StatisticsQuery {
  TimeRange range;
  std::vector<LaneId> lanes = {};  // empty: all
  StatisticsKey key = StatisticsKey::kName;
};

// Of the events that reach into the range; `inside` counts only their time within it, everything
// else their whole durations. Percentiles are durations of events (nearest rank).
struct DurationStatistics {
  uint32_t key = 0;  // index of the NameId or OperationId
  int64_t count = 0;
  int64_t total = 0, inside = 0;  // saturating
  int64_t min = 0, max = 0, p50 = 0, p90 = 0, p99 = 0;
  EventId longest;
  double mean() const { return static_cast<double>(total) / static_cast<double>(count); }
};

// One entry per name or operation that occurs, longest `inside` first, then by key; events without
// an operation are left out where that is the key. kCancelled where `stop` was requested. Takes
// time in proportion to the events in the range.
Result<std::vector<DurationStatistics>> Statistics(const EventStore& store,
                                                   const StatisticsQuery& query, Jobs& jobs,
                                                   const std::stop_token& stop = {});

}  // namespace hloscope::profiler
