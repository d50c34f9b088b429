// RangeProfiler: counters of a GPU, kernel by kernel, while it lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "profiler/cupti/library.h"
#include "profiler/kernel_metrics.h"

namespace hloscope::profiler::cupti {

// What is to be counted of kernels, and where.
struct RangeOptions {
  void* context = nullptr;   // of the driver
  size_t device = 0;         // its number there
  size_t most_ranges = 256;  // kernels between two readings of the counters
};

// CUPTI launches each kernel alone and as often as its counters need passes, with memory as it was:
// times mean nothing meanwhile. No collector may be at work; launches in graphs are not told apart.
class RangeProfiler {
 public:
  // Environment errors, with the fix: a CUPTI older than CUDA 12.8, not permitted
  // (ERR_NVGPUCTRPERM), another profiler, no metric of the table known on the device.
  // `state`, where not null, gets what kind of refusal it was.
  static Result<std::unique_ptr<RangeProfiler>> Start(std::shared_ptr<const Library> library,
                                                      const RangeOptions& options,
                                                      CuptiState* state = nullptr);
  ~RangeProfiler();
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  // A kernel will be launched; by one thread at a time.
  void BeforeLaunch();
  // Of every launch, in order; without any metric: the counters do not tell of it, which is a
  // warning. The error is the first that was met.
  Result<std::vector<KernelMetrics>> Finish();

  size_t passes() const { return passes_; }  // so often a kernel is launched
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  RangeProfiler(std::shared_ptr<const Library> library, const RangeOptions& options)
      : library_(std::move(library)), api_(*library_->range()), options_(options) {}
  Status Check(int result, std::string_view what);
  Status Begin();
  Status BeginHost();
  Status ChooseMetrics();
  Status BeginRanges();
  Status EndRanges();
  Status ReadRanges();
  void End();

  std::shared_ptr<const Library> library_;
  const RangeFunctions& api_;
  RangeOptions options_;
  bool is_initialized_ = false, is_counting_ = false;
  void *host_ = nullptr, *profiler_ = nullptr;
  std::vector<MetricRow> rows_;  // those that the device has
  std::vector<const char*> names_;
  std::vector<uint8_t> availability_, config_, data_;
  size_t passes_ = 0, launched_ = 0;  // since the counters were read
  std::vector<KernelMetrics> measured_;
  size_t untold_ = 0, dropped_ = 0;
  std::vector<std::string> warnings_;
  Status status_;
  CuptiState state_ = CuptiState::kReady;
};

}  // namespace hloscope::profiler::cupti
