// PcSampler: where the program counters of a device stand, kernel by kernel, while it lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "profiler/cupti/library.h"

namespace hloscope::profiler::cupti {

struct SamplerOptions {
  void* context = nullptr;  // of the driver
  size_t most_pcs = 4096;   // told at once; more are asked for again
};

// An instruction of machine code that was sampled.
struct PcSamples {
  std::string function;
  uint64_t offset = 0;                     // in it, bytes
  std::map<std::string, uint64_t> stalls;  // what its warps waited for, and how often
  uint64_t count() const;
};

// Only what runs between Begin and End is sampled. Whoever calls launches one kernel between them
// and waits for it: kernels run one after the other then, and their times mean nothing. No
// collector and no range profiler may be at work.
class PcSampler {
 public:
  // Environment errors, with the fix: a CUPTI that has no PC sampling, not permitted
  // (ERR_NVGPUCTRPERM), another profiler, a device that cannot be sampled.
  // `state`, where not null, gets what kind of refusal it was.
  static Result<std::unique_ptr<PcSampler>> Start(std::shared_ptr<const Library> library,
                                                  const SamplerOptions& options,
                                                  CuptiState* state = nullptr);
  ~PcSampler();
  PcSampler(const PcSampler&) = delete;
  PcSampler& operator=(const PcSampler&) = delete;

  Status Begin();
  // What was sampled since Begin.
  Result<std::vector<PcSamples>> End();
  // Ends sampling; what was lost, and how.
  std::vector<std::string> Finish();

  // The line of the source that an instruction of a function was made from, by the line table of
  // its machine code; 0: the table says nothing of it.
  Result<uint32_t> LineOf(std::span<const std::byte> cubin, const PcSamples& pc) const;

  // Clocks between two samples of a multiprocessor; 0: CUPTI does not say.
  uint64_t period() const { return period_; }
  uint64_t samples() const { return samples_; }  // told so far

 private:
  // Where CUPTI writes to: records with room for every reason.
  struct Buffer {
    void Resize(size_t pcs, size_t stalls);
    SamplingData data{};
    std::vector<PcData> pcs;
    std::vector<StallSamples> stalls;
  };

  PcSampler(std::shared_ptr<const Library> library, const SamplerOptions& options)
      : library_(std::move(library)), api_(*library_->sampling()), options_(options) {}
  SamplingParams Params() const;
  Status Check(int result, std::string_view what);
  Status Open();
  Status ReadStalls();
  Status Configure();
  void Take(const Buffer& buffer, std::vector<PcSamples>& out);
  void Close();

  std::shared_ptr<const Library> library_;
  const SamplingFunctions& api_;
  SamplerOptions options_;
  bool is_enabled_ = false, is_running_ = false;
  std::map<uint32_t, std::string> stalls_;  // by index: those that are counted
  size_t all_stalls_ = 0;
  Buffer told_, late_;
  uint64_t period_ = 0, samples_ = 0, dropped_ = 0, full_ = 0;
  CuptiState state_ = CuptiState::kReady;
};

}  // namespace hloscope::profiler::cupti
