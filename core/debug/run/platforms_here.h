// The platforms that this machine can run modules on.
#pragma once

#include <string>
#include <vector>

namespace hloscope::debug {

// What a platform of the table lacks on this machine; both are empty: nothing.
struct PlatformState {
  std::string name;
  // Its plugin, driver or Python environment, and what gets it.
  std::string missing;
  // It compiles, but the device that it runs on is not there.
  std::string no_device;

  bool runs() const { return missing.empty() && no_device.empty(); }
};

// All of them, in the order of the table. Nothing is loaded.
std::vector<PlatformState> PlatformStates();

// By name those whose plugin, driver or Python environment is there.
std::vector<std::string> PlatformsHere();

}  // namespace hloscope::debug
