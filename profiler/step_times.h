// The steps that a program marked: StepTraceAnnotation and its like give events a `step_num`.
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/event_store.h"

namespace hloscope::profiler {

struct StepTime {
  NameId name;                      // of the annotation, "train"
  int64_t number = 0;               // step_num
  int64_t start = 0, duration = 0;  // picoseconds
};

// In order of their starts; a number that several threads mark counts once, from the first start
// to the last end.
std::vector<StepTime> StepTimes(const EventStore& store);

}  // namespace hloscope::profiler
