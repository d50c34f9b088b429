// MachineFacts: what of a machine decides what a run gives.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/debug/run/run_module.h"

namespace hloscope::debug {

struct PluginFacts {
  std::string platform, distribution, version;  // empty: unknown
};

// A platform that a run takes, and the Python environment that is named for it; empty: none.
struct UsedPlatform {
  std::string name, python;
};
std::vector<UsedPlatform> PlatformsOf(const RunSpec& request);

struct MachineFacts {
  std::string processor, system;
  std::vector<std::string> cpu_features;  // those that compilers choose by
  int cpus = 0;
  int64_t memory_bytes = 0;
  std::vector<PluginFacts> plugins;
};

// Of this machine; plugins, or jaxlibs, of those platforms that need one and have it. `root` goes
// before /proc and /etc.
MachineFacts ReadMachineFacts(std::span<const UsedPlatform> platforms,
                              const std::string& root = "");

// "jax-cpu-pjrt 0.11.2".
std::string ToString(const PluginFacts& plugin);

}  // namespace hloscope::debug
