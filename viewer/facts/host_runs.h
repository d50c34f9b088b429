// HostRuns: instructions that a recorded run executed on the host in place of its platform.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "viewer/facts/profile_model.h"
#include "viewer/model/context.h"

namespace hloscope::viewer {

// What is said of an instruction, and of a box that one is in.
inline constexpr std::string_view kRanOnHost = "ran on the host";
inline constexpr std::string_view kPartRanOnHost = "part ran on the host";

struct HostRuns {
  // By instruction of the stage, a sentence with the program, the reason, the bytes moved and the
  // time: "ran on the host in the run of jit_f on gpu: custom call that the platform does not
  // implement, 128 bytes moved, 3.2 us: our compiler writes no code for it".
  std::map<uint32_t, std::string> sentences;
};

// What the facts of the profile (RunRecorder writes them) say of a stage of the dump.
HostRuns FindHostRuns(const ProfileModel& model, int32_t module, int32_t stage);

// The same of the profile that is open, worked out in the background; null until it is known, and
// where no instruction ran on the host.
std::shared_ptr<const HostRuns> HostRunsOf(Context& context, int32_t module, int32_t stage);

}  // namespace hloscope::viewer
