// Marks: what one view marks for others to show; forgotten with the dump.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "profiler/event_store.h"

namespace hloscope::viewer {

struct BundleMaking;
struct Reduction;

// What the stage in view is compared with.
struct Comparison {
  int32_t module = -1, stage = -1;
  bool is_set() const { return module >= 0 && stage >= 0; }
};

// The stage whose changes are on the screen: that of the selection, unless the selection was chosen
// among what another stage removed.
struct ShownChange {
  int32_t stage = -1;
  uint64_t version = 0;  // of the selection it holds for
};

// The stretch of time that is marked in the timeline.
struct TimelineRange {
  profiler::TimeRange range;
  bool is_set = false;
};

// The point of the program that is marked on the screen Memory.
struct MemoryPoint {
  int32_t module = -1;
  int32_t point = -1;  // -1: the peak
};

struct Marks {
  Comparison comparison;
  ShownChange shown_change;
  TimelineRange timeline;
  MemoryPoint memory;
  bool passes_by_change = false;  // most changed first
  bool was_cancelled = false;     // work was stopped: what failed by that can be resumed
  std::map<int32_t, uint64_t> searched_seeds;  // by module: that its guilty pass is searched with
  std::map<int32_t, std::shared_ptr<Reduction>> reductions;  // by module
  std::shared_ptr<BundleMaking> bundle;                      // the last; null: none
  std::set<int32_t> asked_passes;  // modules whose stages are all to be compared, however many
};

}  // namespace hloscope::viewer
