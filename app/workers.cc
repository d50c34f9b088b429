// Starting workers ahead of the first job.
#include "app/workers.h"

#include "core/replay/platform.h"
#include "core/replay/workers/worker_evidence.h"

namespace hloscope::app {

replay::WorkerPoolOptions WorkerOptions(const Limits& limits) {
  replay::WorkerPoolOptions options;
  options.evidence_folder = replay::EvidenceFolder();
  options.most_frame_bytes = limits.worker_frame_bytes;
  return options;
}

std::shared_ptr<replay::WorkerPool> StartWorkers(std::span<const std::string> platforms,
                                                 const Limits& limits) {
  auto pool = std::make_shared<replay::WorkerPool>(WorkerOptions(limits));
  for (const std::string& platform : platforms) {
    if (replay::CheckPlatform(platform).has_value()) pool->Prestart({platform, {}});
  }
  return pool;
}

}  // namespace hloscope::app
