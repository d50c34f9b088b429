// Runs of small modules on the platform gpu over the made-up driver, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/backends/make_platform.h"
#include "core/replay/platform.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/hlo/parsed.h"
#include "tests/replay/events.h"

namespace hloscope::replay {

inline hlo::Literal Floats(std::vector<int64_t> dimensions) {
  const hlo::Shape shape = hlo::Shape::Array(hlo::ElementType::kF32, std::move(dimensions));
  std::vector<float> values(static_cast<size_t>(*shape.ElementCount()));
  std::iota(values.begin(), values.end(), 1.0f);
  return hlo::Literal::Of<float>(shape, values);
}

inline void SetFaults(const std::string& faults) {
  setenv("CUDA_FAKE", faults.c_str(), 1);
  fake_cuda_restart();
}

struct Outcome {
  std::optional<Error> error;
  std::vector<hlo::Literal> results;  // of the last run
  RunExecuted executed;
  std::vector<RunFallback> fallbacks;
  std::vector<RunFinding> findings;
  std::vector<std::string> warnings;  // of all runs
};

// `inputs`: by device.
inline Outcome RunOnDevices(std::string_view platform, const char* text,
                            const std::vector<std::vector<hlo::Literal>>& inputs, int runs = 1,
                            const RunOptions& options = RunOptions()) {
  Outcome out;
  auto executable = (*MakePlatform(platform))->Load(hlo::Parsed(text), options);
  if (!executable.has_value()) {
    out.error = executable.error();
    return out;
  }
  for (int i = 0; i < runs; ++i) {
    Events events;
    const auto run = (*executable)->Run(inputs, options, events);
    if (!run.has_value()) {
      out.error = run.error();
      return out;
    }
    out.results.clear();
    out.fallbacks.clear();
    for (const LeafResult* leaf : events.Of<LeafResult>()) out.results.push_back(*leaf->value);
    for (const RunExecuted* each : events.Of<RunExecuted>()) out.executed = *each;
    for (const RunFallback* each : events.Of<RunFallback>()) out.fallbacks.push_back(*each);
    for (const RunWarning* each : events.Of<RunWarning>()) out.warnings.push_back(each->text);
    for (const RunFinding* each : events.Of<RunFinding>()) out.findings.push_back(*each);
  }
  return out;
}
inline Outcome RunOn(std::string_view platform, const char* text,
                     const std::vector<hlo::Literal>& inputs, int runs = 1,
                     const RunOptions& options = RunOptions()) {
  return RunOnDevices(platform, text, {inputs}, runs, options);
}

inline void ExpectNothingLeft(const std::string& after) {
  FakeCudaLeft left{};
  fake_cuda_left(&left);
  EXPECT_EQ(left.memory, 0) << after;
  EXPECT_EQ(left.memory_bytes, 0) << after;
  EXPECT_EQ(left.pinned, 0) << after;
  EXPECT_EQ(left.modules, 0) << after;
  EXPECT_EQ(left.streams, 0) << after;
  EXPECT_EQ(left.events, 0) << after;
  EXPECT_EQ(left.graphs, 0) << after;
  EXPECT_EQ(left.graph_execs, 0) << after;
  EXPECT_EQ(left.contexts, 0) << after;
}

}  // namespace hloscope::replay
