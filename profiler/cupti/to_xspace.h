// What a device did as a trace: an XSpace as XLA's own profiler writes it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "profiler/cupti/decode.h"

namespace hloscope::profiler::cupti {

// The instruction that the program was at.
struct Origin {
  std::string module, instruction;
  int64_t program = -1;
};

struct Origins {
  // By the number that was pushed and, where that says nothing, by the name of the kernel; null:
  // none are known.
  std::function<std::optional<Origin>(uint64_t external)> of_external;
  std::function<std::optional<Origin>(std::string_view kernel)> of_kernel = nullptr;
  // By the call that caused it, before the name of a kernel; behind it for nodes of graphs, whose
  // call starts all of them.
  std::function<std::optional<Origin>(uint32_t correlation)> of_call = nullptr;
};

// A module as it ran, for whoever reads the trace.
struct TracedModule {
  std::string name, hlo_proto;
  int64_t program = -1;
};

struct TraceCounts {
  int64_t on_device = 0;   // kernels, copies and fills
  int64_t attributed = 0;  // of these
};

// The bytes of an XSpace: a plane for each device with a line for each stream (copies of a stream
// in the same line), and one of the host with synchronisation, overhead and calls. Times count from
// `origin_ns`, of CUPTI's clock. What was dropped, or of what was launched has no record, is a
// warning in it.
std::string WriteXSpace(const ActivityLog& log, const Origins& origins, uint64_t origin_ns,
                        TraceCounts* counts = nullptr, std::span<const TracedModule> modules = {});

}  // namespace hloscope::profiler::cupti
