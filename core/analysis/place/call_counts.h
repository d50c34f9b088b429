// How the computations of a module are called: inside a kernel or as a sequence, on the host or
// not, and how often in one run.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/analysis/place/placement.h"
#include "core/hlo/module.h"

namespace hloscope::analysis {

struct CallContext {
  enum class Kind : uint8_t {
    kNone,      // nobody calls it
    kSequence,  // its instructions run one by one
    kKernel,    // they are parts of their caller's kernel
  };
  Kind kind = Kind::kNone;
  FallbackReason host = FallbackReason::kNone;  // why it runs on the host, if it does
};

struct CallCounts {
  std::vector<CallContext> contexts;  // by computation
  std::vector<int64_t> executions;    // by computation; -1: not known, 0: never called
};
CallCounts CountCalls(const hlo::Module& module);

// The text of an instruction's backend_config; empty where it has none.
std::string_view BackendConfigText(const hlo::Module& module, const hlo::Instruction& i);
// The loop count XLA found (backend_config known_trip_count); -1 where it did not.
int64_t KnownTripCount(const hlo::Module& module, const hlo::Instruction& loop);
// Whether the instruction itself says that it runs on the host: by attribute, thread or
// device_type.
FallbackReason HostReasonOf(const hlo::Module& module, const hlo::Instruction& i);

}  // namespace hloscope::analysis
