// RunState: what all devices of one run share: memory, steps, the deadline and the threads that
// loops are shared out to.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include "core/base/jobs.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/runtime/buffer_pool.h"
#include "core/runtime/value.h"

namespace hloscope::runtime {

struct ExecuteOptions;

// All functions may be called from any thread.
class RunState {
 public:
  explicit RunState(const ExecuteOptions& options);
  ~RunState();
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;

  // That many uninitialised bytes; an environment error beyond the memory limit.
  Result<Buffer> Allocate(int64_t bytes);

  // Counts element operations; dies once too many, when asked to stop or past the deadline.
  Status Charge(int64_t steps);
  // The latter two now.
  Status Look() const;

  // Calls body on the ranges [0, grain), [grain, 2·grain) … that cover [0, n), on all threads of
  // the run. Which ranges there are depends on n and grain alone, so no result can depend on the
  // number of threads. Looks at deadline and stop before each; the error of the first range that
  // has one is returned. Bodies may not call ForRanges of more than one range.
  Status ForRanges(int64_t n, int64_t grain, const std::function<Status(IndexRange)>& body);

  int threads() const { return threads_; }
  int64_t steps() const { return steps_; }
  int64_t peak_bytes() const { return pool_->peak_bytes(); }
  int64_t live_bytes() const { return pool_->live_bytes(); }

 private:
  const Limits& limits_;
  std::stop_token stop_;
  int64_t memory_limit_;
  bool keeps_pool_;                   // for the next run
  std::shared_ptr<BufferPool> pool_;  // outlives the run where results do
  std::atomic<int64_t> steps_ = 0;
  std::atomic<int64_t> steps_at_next_look_ = 0;
  std::chrono::steady_clock::time_point deadline_;
  int threads_;
};

}  // namespace hloscope::runtime
