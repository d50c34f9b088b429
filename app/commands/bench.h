// The benchmarks of `hloscope bench`, each a function over its files that answers the exit status.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "app/command.h"
#include "core/replay/platform_table.h"

namespace hloscope::app {

// Reading and printing times and the memory of a parsed module: the fastest of `repeats` runs on
// one thread.
int BenchParse(std::span<const std::string> files, int64_t repeats, const Context& context);

struct BenchRunOptions {
  std::string platform{replay::DefaultPlatform().name}, against;
  bool against_itself = false, skip_callbacks = false;
  std::optional<int64_t> threads, seed, fill_elided, repeats;
  std::optional<double> deadline_seconds;  // of each module
};
// Compile and run times on one platform beside another; both are held to `threads` CPUs.
int BenchRun(std::span<const std::string> files, const BenchRunOptions& options,
             const Context& context);

}  // namespace hloscope::app
