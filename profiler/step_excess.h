// What makes a step longer than others: events with more time of their own in it.
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/event_store.h"
#include "profiler/step_times.h"

namespace hloscope::profiler {

// Times are picoseconds, summed over threads, streams and, of devices without streams, lines of
// operations, of the events that start in the step: without those of events inside, which are taken
// from the one around them that began last, and at most until the step ends.
struct StepExcess {
  NameId name;
  int64_t self = 0;    // in the step
  int64_t median = 0;  // over all steps of that name
  int64_t more() const { return self - median; }
};

// Of the step at `longest` of `steps`, the largest excess first, at most three: those of at least a
// tenth of what the step takes longer than the median step, and of no more than that. Empty where
// there are fewer than three steps of its name, or it is no longer than the median. Takes the time
// and memory of sorting the events.
std::vector<StepExcess> ExcessOf(const EventStore& store, const std::vector<StepTime>& steps,
                                 size_t longest);

}  // namespace hloscope::profiler
