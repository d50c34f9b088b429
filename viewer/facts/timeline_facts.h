// TimelineFacts: what the events of a trace are by category, where its steps begin, and how much of
// its collectives overlaps compute.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "viewer/facts/counter_curve.h"
#include "viewer/facts/profile_model.h"

namespace hloscope::viewer {

enum class TimelineCategory : uint8_t {
#define TIMELINE_CATEGORY(category, word, color) category,
#include "viewer/facts/timeline_categories.def"
#undef TIMELINE_CATEGORY
};
inline constexpr size_t kTimelineCategories = 0
#define TIMELINE_CATEGORY(...) +1
#include "viewer/facts/timeline_categories.def"
#undef TIMELINE_CATEGORY
    ;
std::string_view WordOf(TimelineCategory category);

struct TimelineStep {
  int64_t begin = 0;  // picoseconds
  std::string name;
};

struct TimelineFacts {
  // Picoseconds in which at least one event of the category runs, summed over groups; of the host
  // none: its threads wait inside their events.
  std::array<int64_t, kTimelineCategories> busy = {};
  std::vector<TimelineStep> steps;  // in order
  // Of the instructions of each module of the attribution.
  std::vector<std::vector<TimelineCategory>> categories;
  std::vector<CounterCurve> counters;  // of the store
  // Where the steps are from: "step" of the program's marks or the trace's own lane, "run" of a
  // module, "call" of a jitted function; empty: nothing did.
  std::string step_word;
  bool are_marked = false;  // the steps are those that the program marked, by the host's clock
  int64_t collective = 0;   // picoseconds, both on the same device …
  int64_t hidden = 0;       // … and those that overlap compute or library calls
  bool has_overlap() const { return collective > 0 && (busy[0] > 0 || busy[1] > 0); }
};
// By the instruction the event belongs to; of none, by its lane: a stream of a device computes
// unless its name says copy, collective or library, anything else is the host.
TimelineCategory CategoryOf(const ProfileModel& model, const TimelineFacts& facts,
                            profiler::EventId e);

const Pending<TimelineFacts>& TimelineFactsOf(Context& context,
                                              const std::shared_ptr<const ProfileModel>& model);
// Without the cache, for tests.
std::shared_ptr<const TimelineFacts> FindTimelineFacts(const ProfileModel& model);

}  // namespace hloscope::viewer
