// PathFacts: the critical path of a trace, and what of it is compute, copies, collectives or waits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profiler/critical_path.h"
#include "viewer/facts/timeline_facts.h"

namespace hloscope::viewer {

/// A stretch of time that is marked in the timeline.
struct TimelineRange {
  profiler::TimeRange range;
  bool is_set = false;
  bool is_dragged = false;  // it will be another one in a moment
};

struct TimelineMarks {
  TimelineRange range;
  bool critical_path = false;     // is highlighted
  TimelineRange path_range;       // that it was last found of
  bool profiles_swapped = false;  // the second profile is the one before
};

struct PathFacts {
  profiler::CriticalPath path;
  std::vector<uint32_t> events;                        // those on it, ascending
  std::array<int64_t, kTimelineCategories> busy = {};  // picoseconds of its steps

  // Whether any of `count` events from `first` on is on the path.
  bool Has(profiler::EventId first, uint32_t count) const;
};

// Of the marked range, or of the whole trace; the one of the last range is forgotten. Null while
// the facts of the trace are not there.
const Pending<PathFacts>* PathFactsOf(Context& context,
                                      const std::shared_ptr<const ProfileModel>& model);
// Without the cache, for tests.
Result<std::shared_ptr<const PathFacts>> FindPathFacts(const ProfileModel& model,
                                                       const TimelineFacts& facts,
                                                       std::optional<profiler::TimeRange> range,
                                                       const std::stop_token& stop = {});

// "1.2 ms in 340 steps; waits 12.0 % of the range"; how it was found and how sure that is.
std::string PathText(const profiler::CriticalPath& path, std::string_view of_what);
std::string PathHelp(const profiler::CriticalPath& path);

}  // namespace hloscope::viewer
