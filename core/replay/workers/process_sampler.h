// ProcessSampler: what this process takes while a job runs: resident bytes and time of CPUs.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/replay/capture/run_stream.h"

namespace hloscope::replay {

class ProcessSampler {
 public:
  ProcessSampler();
  ~ProcessSampler() { Stop(); }
  ProcessSampler(const ProcessSampler&) = delete;
  ProcessSampler& operator=(const ProcessSampler&) = delete;

  // The samples until now; the second call has none.
  std::vector<TraceSamples> Stop();

 private:
  void Sample();
  void Watch();

  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::vector<std::pair<int64_t, double>> resident_, cpu_ms_;
  std::thread thread_;
};

}  // namespace hloscope::replay
