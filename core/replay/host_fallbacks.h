// HostFallbackCounts: the instructions that the evaluator computed in place of a platform's own
// code.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/hlo/module.h"
#include "core/replay/capture/run_stream.h"

namespace hloscope::replay {

// The lane of what ran on the host in place of a platform.
inline constexpr std::string_view kFallbackLane = "host: fallbacks";

// Of one run of a module. Not for several threads at a time.
class HostFallbackCounts {
 public:
  void Add(hlo::InstructionId id, int64_t nanoseconds) { Add(id, 1, nanoseconds); }
  void Add(const HostFallbackCounts& others);
  // Copied between host and device for it, and the time of that.
  void AddMoved(hlo::InstructionId id, int64_t bytes, int64_t nanoseconds) {
    HostFallback& it = all_[id];
    if (it.count == 0) it.count = 1;  // it hands its operand on, which elsewhere is nothing to do
    it.moved_bytes += bytes;
    it.nanoseconds += nanoseconds;
  }
  void Clear() { all_.clear(); }

  struct Why {
    std::string_view reason;  // as hlo::Describe has it
    std::string detail;
  };
  // Tells each as a fallback, with why(id), and last `executed`, to which they are added.
  void Tell(const hlo::Module& module, const std::function<Why(hlo::InstructionId)>& why,
            RunExecuted executed, RunStream& stream) const;

 private:
  struct HostFallback {
    int64_t count = 0, nanoseconds = 0, moved_bytes = 0;
  };
  void Add(hlo::InstructionId id, int64_t count, int64_t nanoseconds);

  std::map<hlo::InstructionId, HostFallback> all_;
};

}  // namespace hloscope::replay
