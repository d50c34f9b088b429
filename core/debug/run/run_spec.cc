// Runs derived from a run, and the options of each of its platforms.
#include "core/debug/run/run_spec.h"

#include <algorithm>
#include <chrono>
#include <string_view>

namespace hloscope::debug {
namespace {

replay::RunOptions OptionsOn(const RunSpec& run, replay::PlatformSpec platform) {
  replay::RunOptions options{.limits = run.limits,
                             .budget = run.budget,
                             .platform = std::move(platform),
                             .load = run.load,
                             .checks = run.checks,
                             .environment = run.execution.environment,
                             .rng_seed = run.repeats.rng_seed};
  constexpr std::string_view kPython = "HLOSCOPE_PYTHON=";
  const std::string& python = options.platform.python;
  if (python.empty()) return options;
  std::erase_if(options.environment,
                [&](const std::string& own) { return own.starts_with(kPython); });
  options.environment.push_back(std::string(kPython) + python);
  return options;
}

}  // namespace

InputSpec InputSpec::With(std::vector<hlo::Literal> values) const {
  return {.arguments = std::move(values),
          .infeed = infeed,
          .seed = seed,
          .random = random,
          .large_floats = large_floats,
          .edge_values = edge_values,
          .flush_denormals = flush_denormals};
}

double SecondsOf(const RunSpec& run) {
  return run.budget.seconds.value_or(static_cast<double>(run.limits.run_deadline_seconds));
}

std::chrono::steady_clock::time_point DeadlineOf(const RunSpec& run) {
  using Clock = std::chrono::steady_clock;
  constexpr double kLongest = 1e9;  // seconds; more would overflow the clock
  const std::chrono::duration<double> most(std::min(SecondsOf(run), kLongest));
  return run.budget.deadline.value_or(Clock::now() +
                                      std::chrono::duration_cast<Clock::duration>(most));
}

bool LoadsApart(std::string_view platform) {
  const replay::PlatformRow* const row = replay::FindPlatform(platform);
  return row != nullptr &&
         (row->devices == replay::Devices::kGpu || row->Has(replay::kNeedsDriver));
}

RunSpec DerivedSpec(const RunSpec& run, replay::PlatformSpec test, InputSpec inputs) {
  Budget budget = run.budget;
  budget.deadline.reset();  // that of `run` itself
  return {.test = std::move(test),
          .reference = {},
          .load = run.load,
          .checks = run.checks,
          .inputs = std::move(inputs),
          .compare = {.bounds = run.compare.bounds},
          .repeats = {.rng_seed = run.repeats.rng_seed,
                      .different_random_seeds = run.repeats.different_random_seeds},
          .budget = std::move(budget),
          .limits = run.limits,
          .execution = run.execution,
          .notes = {}};
}

RunSpec AloneSpec(const RunSpec& run, std::string platform, std::vector<hlo::Literal> arguments) {
  InputSpec inputs = run.inputs.With(std::move(arguments));
  inputs.infeed.clear();
  inputs.flush_denormals = false;
  RunSpec alone = DerivedSpec(run, TestOn(run, platform), std::move(inputs));
  alone.execution.verify = false;
  return alone;
}

replay::PlatformSpec TestOn(const RunSpec& run, std::string_view platform) {
  replay::PlatformSpec test = run.test;
  test.name = platform;
  return test;
}

replay::RunOptions TestOptions(const RunSpec& run) { return OptionsOn(run, run.test); }

replay::RunOptions ReferenceOptions(const RunSpec& run) {
  replay::PlatformSpec platform = run.reference;
  if (platform.python.empty()) platform.python = run.test.python;
  platform.xla_flags = {{"xla_cpu_enable_fast_math", "false"},
                        {"xla_cpu_enable_fast_min_max", "false"},
                        {"xla_gpu_enable_fast_min_max", "false"}};
  for (const auto& flag : run.reference.xla_flags) {
    std::erase_if(platform.xla_flags, [&](const auto& own) { return own.first == flag.first; });
    platform.xla_flags.push_back(flag);
  }
  return OptionsOn(run, std::move(platform));
}

}  // namespace hloscope::debug
