// The steps of a profile: those that the program marked (StepTraceAnnotation and its like give
// events a `step_num`), else those of the lines "Steps" of devices, else the groups into which
// profilers put events (`group_id`).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/event_store.h"

namespace hloscope::profiler {

enum class StepSource : uint8_t { kStepNumber, kStepsLine, kGroup };
std::string_view ToString(StepSource source);  // "step_num", "steps line", "group_id"

struct StepTime {
  std::string name;                 // of the annotation, "train"; "step" where the trace has none
  int64_t number = 0;               // step_num, group_id
  int64_t start = 0, duration = 0;  // picoseconds
};

struct StepTimes {
  StepSource source = StepSource::kStepNumber;
  // In order of their starts; a number that several threads, devices or hosts mark counts once,
  // from the first start to the last end.
  std::vector<StepTime> steps;
};
StepTimes StepTimesOf(const EventStore& store);

}  // namespace hloscope::profiler
