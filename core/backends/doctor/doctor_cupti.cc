// Trying to record by CUPTI in a child.
#include <span>
#include <utility>

#include "core/backends/cuda/device.h"
#include "core/backends/doctor/doctor_info.h"
#include "core/backends/plugins/library_files.h"
#include "core/base/byte_archive.h"
#include "core/replay/workers/isolated_task.h"
#include "profiler/cupti/pc_sampler.h"
#include "profiler/cupti/probe.h"
#include "profiler/cupti/range_profiler.h"

namespace hloscope::replay {

using profiler::cupti::CuptiState;

namespace {

Status TryCounters(const std::vector<std::string>& files, CuptiState& state) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto device, cuda::Device::Open());
  HLOSCOPE_ASSIGN_OR_RETURN(auto library, profiler::cupti::Library::Open(files));
  const auto counters = profiler::cupti::RangeProfiler::Start(
      std::move(library),
      {.context = device->context(), .device = static_cast<size_t>(device->number())}, &state);
  if (!counters.has_value()) return std::unexpected(counters.error());
  state = CuptiState::kReady;
  return {};
}

Status TrySampling(const std::vector<std::string>& files, CuptiState& state) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto device, cuda::Device::Open());
  HLOSCOPE_ASSIGN_OR_RETURN(auto library, profiler::cupti::Library::Open(files));
  const auto sampler =
      profiler::cupti::PcSampler::Start(std::move(library), {.context = device->context()}, &state);
  if (!sampler.has_value()) return std::unexpected(sampler.error());
  state = CuptiState::kReady;
  return {};
}

CuptiState StateOf(uint8_t number) {
  return number <= std::to_underlying(CuptiState::kRefused) ? static_cast<CuptiState>(number)
                                                            : CuptiState::kRefused;
}

}  // namespace

// The task "cupti".
Result<std::string> QueryCuptiTask(std::string_view) {
  const auto driver = cuda::Driver::Open();
  const std::vector<std::string> files = CuptiFiles(driver.has_value() ? (*driver)->version() : 0);
  const profiler::cupti::Probe probe = profiler::cupti::ProbeCupti(files);
  CuptiState counters = CuptiState::kRefused, sampling = CuptiState::kRefused;
  Error why, why_not_sampled;
  if (probe.state == CuptiState::kReady) {
    if (const Status tried = TryCounters(files, counters); !tried.has_value()) why = tried.error();
    if (const Status tried = TrySampling(files, sampling); !tried.has_value()) {
      why_not_sampled = tried.error();
    }
  }
  ByteWriter out;
  out(std::to_underlying(probe.state), probe.path, probe.version, probe.problem, probe.fix,
      std::to_underlying(counters), why.message, why.hint, std::to_underlying(sampling),
      why_not_sampled.message, why_not_sampled.hint);
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
  uint8_t state = 0, counters = 0, sampling = 0;
  ByteReader in(std::as_bytes(std::span(*answer)));
  in(state, info.path, info.version, info.problem, info.fix, counters, info.counters_problem,
     info.counters_fix, sampling, info.sampling_problem, info.sampling_fix);
  info.state = StateOf(state);
  info.counters = StateOf(counters);
  info.sampling = StateOf(sampling);
  return info;
}

}  // namespace hloscope::replay
