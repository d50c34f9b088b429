// Trying to record by CUPTI in a child.
#include <span>
#include <utility>

#include "core/base/byte_archive.h"
#include "core/replay/doctor/doctor_info.h"
#include "core/replay/plugins/cupti_files.h"
#include "core/replay/workers/isolated_task.h"
#include "profiler/cupti/probe.h"

namespace hloscope::replay {

using profiler::cupti::CuptiState;

// The task "cupti".
Result<std::string> QueryCuptiTask(std::string_view) {
  const profiler::cupti::Probe probe = profiler::cupti::ProbeCupti(CuptiFiles());
  ByteWriter out;
  out(std::to_underlying(probe.state), probe.path, probe.version, probe.problem, probe.fix);
  return std::move(out).Take();
}

CuptiInfo QueryCupti() {
  CuptiInfo info;
  info.asked = true;
  const Result<std::string> answer = RunIsolatedTask({.name = "cupti", .bytes = {}});
  if (!answer.has_value()) {
    info.died = true;
    info.problem = answer.error().message;
    return info;
  }
  uint8_t state = 0;
  ByteReader in(std::as_bytes(std::span(*answer)));
  in(state, info.path, info.version, info.problem, info.fix);
  info.state = state <= std::to_underlying(CuptiState::kRefused) ? static_cast<CuptiState>(state)
                                                                 : CuptiState::kRefused;
  return info;
}

}  // namespace hloscope::replay
