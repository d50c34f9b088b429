// What makes a step longer than others: events with more time of their own in it.
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/event_store.h"
#include "profiler/step_times.h"

namespace hloscope::profiler {

// Times are picoseconds without those of events inside, summed over threads, streams and lines of
// operations, of the events that start in the step.
struct StepExcess {
  NameId name;
  int64_t self = 0;    // in the step
  int64_t median = 0;  // over all steps of that name
  int64_t more() const { return self - median; }
};

// Of the step at `longest` of `steps`, the largest excess first: those of at least a tenth of what
// the step takes longer than the median step, at most three. Empty where there are fewer than three
// steps of its name. Takes time in proportion to the events.
std::vector<StepExcess> ExcessOf(const EventStore& store, const std::vector<StepTime>& steps,
                                 size_t longest);

}  // namespace hloscope::profiler
