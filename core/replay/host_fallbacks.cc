// HostFallbackCounts: counts by instruction, told by opcode and reason.
#include "core/replay/host_fallbacks.h"

#include <algorithm>
#include <string>
#include <utility>

namespace hloscope::replay {

void HostFallbackCounts::Add(hlo::InstructionId id, int64_t count, int64_t nanoseconds) {
  HostFallback& it = all_[id];
  it.count += count;
  it.nanoseconds += nanoseconds;
}

void HostFallbackCounts::Add(const HostFallbackCounts& others) {
  for (const auto& [id, it] : others.all_) {
    Add(id, it.count, it.nanoseconds);
    all_[id].moved_bytes += it.moved_bytes;
  }
}

void HostFallbackCounts::Tell(const hlo::Module& module,
                              const std::function<Why(hlo::InstructionId)>& why,
                              RunExecuted executed, RunStream& stream) const {
  for (const auto& [id, it] : all_) {
    const std::string opcode(hlo::ToString(module[id].opcode));
    const Why it_is = why(id);
    executed.evaluated += it.count;
    const auto same = std::ranges::find_if(executed.evaluated_ops, [&](const auto& op) {
      return op.opcode == opcode && op.reason == it_is.reason;
    });
    if (same == executed.evaluated_ops.end()) {
      executed.evaluated_ops.push_back({opcode, it.count, std::string(it_is.reason)});
    } else {
      same->count += it.count;
    }
    stream.Take(RunFallback{.instruction = std::string(module.name(id)),
                            .opcode = opcode,
                            .reason = std::string(it_is.reason),
                            .detail = it_is.detail,
                            .bytes_moved = it.moved_bytes,
                            .time_us = static_cast<double>(it.nanoseconds) / 1e3});
  }
  stream.Take(std::move(executed));
}

}  // namespace hloscope::replay
