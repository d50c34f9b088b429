// Times of modules by the model of a GPU, for tests.
#pragma once

#include <string>
#include <vector>

#include "tests/replay/checked_runs.h"

namespace hloscope::replay {

// Microseconds of all launches of our own kernels.
inline double ModelTimeOf(const std::string& text, const std::vector<hlo::Literal>& inputs) {
  const auto platform = *MakePlatform("gpu-sim");
  RunOptions options;
  options.record.steps = 1000;
  auto executable = platform->Load(hlo::Parsed(text), options);
  Events events;
  double sum = 0;
  if (!executable.has_value() || !(*executable)->Run({&inputs, 1}, options, events).has_value()) {
    ADD_FAILURE() << text;
  }
  for (const TraceSteps* told : events.Of<TraceSteps>()) {
    for (const TracedLaunch& launch : told->launches) sum += launch.model_us;
  }
  EXPECT_GT(sum, 0);
  return sum;
}

}  // namespace hloscope::replay
