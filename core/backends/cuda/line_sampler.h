// LineSampler: which lines of our PTX a device was at while an instruction's kernels ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "profiler/cupti/pc_sampler.h"
#include "profiler/ptx_lines.h"

namespace hloscope::replay::cuda {

// The PTX texts that were loaded, with the machine code that the driver made of them.
class LinedCode {
 public:
  // The place that it has.
  size_t Add(std::string ptx, std::vector<std::byte> cubin);
  // The code of an entry is that of the text which was added in that place.
  void Name(std::string entry, size_t text);
  bool empty() const { return texts_.empty(); }

  // Which line was sampled. Errors: CUPTI does not read the machine code.
  Result<profiler::PtxLine> LineOf(const profiler::cupti::PcSampler& sampler,
                                   const profiler::cupti::PcSamples& pc) const;

 private:
  struct Text {
    std::unique_ptr<const std::string> ptx;
    profiler::KernelText lines;
    std::vector<std::byte> cubin;
  };
  struct Entry {
    const Text* text = nullptr;
    uint32_t first = 0;
  };
  std::vector<std::unique_ptr<const Text>> texts_;
  std::map<std::string, Entry, std::less<>> entries_;
};

// Of one run; one launch at a time.
class LineSampler {
 public:
  LineSampler(const LinedCode& code, std::unique_ptr<profiler::cupti::PcSampler> sampler)
      : code_(code), sampler_(std::move(sampler)) {}

  // Around a launch for what has the number `external`; it has ended when End is asked for.
  void Begin();
  void End(uint64_t external);

  struct Found {
    std::map<uint64_t, profiler::PtxLines> lines;  // by external
    std::vector<std::string> warnings;
  };
  // The error is the first that was met.
  Result<Found> Finish();

 private:
  const LinedCode& code_;
  std::unique_ptr<profiler::cupti::PcSampler> sampler_;
  std::map<uint64_t, profiler::PtxLines> lines_;
  uint64_t others_ = 0;   // samples of code that is none of ours
  uint64_t unknown_ = 0;  // samples of code of ours that the table of lines leaves out
  Status status_;
};

}  // namespace hloscope::replay::cuda
