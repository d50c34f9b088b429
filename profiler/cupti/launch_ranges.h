// LaunchRanges: which instruction a call of the driver was made for, by the NVTX ranges that were
// open in its thread: XLA opens `Thunk:#hlo_op=add.1#` inside of `XlaModule:#hlo_module=…#`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "profiler/cupti/decode.h"
#include "profiler/cupti/to_xspace.h"

namespace hloscope::profiler::cupti {

class LaunchRanges {
 public:
  explicit LaunchRanges(const ActivityLog& log);

  // What the innermost ranges say; nullopt where none names an instruction.
  std::optional<Origin> Of(uint32_t correlation) const;

 private:
  std::map<uint32_t, Origin> calls_;  // by correlation
};

}  // namespace hloscope::profiler::cupti
