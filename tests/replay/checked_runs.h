// Runs of small modules in this process, those on the simulated GPU with all checks, for tests.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/backends/make_platform.h"
#include "core/replay/platform.h"
#include "tests/hlo/parsed.h"
#include "tests/replay/events.h"

namespace hloscope::replay {

struct Ran {
  std::vector<hlo::Literal> results;
  RunExecuted executed;
  std::vector<RunFallback> fallbacks;
  std::vector<RunFinding> findings;
};

inline Ran RunOn(std::string_view platform_name, const std::string& text,
                 const std::vector<hlo::Literal>& inputs, std::optional<uint64_t> shuffle = {}) {
  Ran ran;
  const auto platform = *MakePlatform(platform_name);
  RunOptions options;
  options.checks.shuffle = shuffle;
  options.checks.races = options.checks.uninitialised = platform_name == "gpu-sim";
  auto executable = platform->Load(hlo::Parsed(text), options);
  EXPECT_TRUE(executable.has_value()) << executable.error().ToString();
  if (!executable.has_value()) return ran;
  Events events;
  const auto run = (*executable)->Run({&inputs, 1}, options, events);
  EXPECT_TRUE(run.has_value()) << run.error().ToString();
  for (const LeafResult* leaf : events.Of<LeafResult>()) ran.results.push_back(*leaf->value);
  for (const RunExecuted* each : events.Of<RunExecuted>()) ran.executed = *each;
  for (const RunFallback* each : events.Of<RunFallback>()) ran.fallbacks.push_back(*each);
  for (const RunFinding* each : events.Of<RunFinding>()) ran.findings.push_back(*each);
  return ran;
}

}  // namespace hloscope::replay
