// What a device did as a trace: an XSpace as XLA's own profiler writes it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "profiler/cupti/decode.h"

namespace hloscope::profiler::cupti {

// The instruction that the program was at.
struct Origin {
  std::string module, instruction;
  int64_t program = -1;
};

struct Origins {
  // By the number that was pushed, and by the node of a graph, which wins; null: none are known.
  std::function<std::optional<Origin>(uint64_t external)> of_external;
  std::function<std::optional<Origin>(uint64_t node)> of_node;
};

struct TraceCounts {
  int64_t on_device = 0;   // kernels, copies and fills
  int64_t attributed = 0;  // of these
};

// The bytes of an XSpace: a plane for each device with a line for each stream (copies of a stream
// in the same line), and one of the host with synchronisation, overhead and calls. Times count from
// `origin_ns`, of CUPTI's clock. What was dropped is a warning in it.
std::string WriteXSpace(const ActivityLog& log, const Origins& origins, uint64_t origin_ns,
                        TraceCounts* counts = nullptr);

}  // namespace hloscope::profiler::cupti
