// PtxLines: which lines of a kernel's PTX took the time, as an argument of an event and together.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/event_store.h"

namespace hloscope::profiler {

// What is counted of a line.
enum class LineCounting : uint8_t {
  kSamples,   // how often a device's program counter was found there
  kExecuted,  // how often warps executed it on a simulated device
};
// "samples", "executed".
std::string_view ToString(LineCounting counting);

struct PtxLine {
  std::string kernel;  // the entry
  uint32_t line = 0;   // in the kernel's own text: that of its .entry is 1; 0: no line is known
  std::string text;    // of the line
  uint64_t count = 0;
  // Of samples: what warps were waiting for, by CUPTI's word without what all have in common.
  std::map<std::string, uint64_t> stalls;

  // Its stalls, most first.
  std::vector<std::pair<std::string_view, uint64_t>> MostStalls() const;
};

// Lines of one instruction, of any number of launches and runs.
class PtxLines {
 public:
  LineCounting counting() const { return counting_; }
  bool empty() const { return lines_.empty(); }
  uint64_t total() const { return total_; }
  double ShareOf(const PtxLine& line) const {
    return total_ == 0 ? 0 : static_cast<double>(line.count) / static_cast<double>(total_);
  }
  // By kernel and line.
  std::vector<const PtxLine*> InOrder() const;
  // Most counted first.
  std::vector<const PtxLine*> Hottest() const;

  // Samples and executions are never summed: of a profile that has both, samples are kept.
  void Add(LineCounting counting, PtxLine line);
  void Add(const PtxLines& other);

 private:
  LineCounting counting_ = LineCounting::kSamples;
  uint64_t total_ = 0;
  std::map<std::pair<std::string, uint32_t>, PtxLine> lines_;
};

inline constexpr std::string_view kSampledLinesArgument = "ptx_samples",
                                  kExecutedLinesArgument = "ptx_executed";
// As an argument: lines of text with kernel, line, count, stalls ("word=n word=n"), text, with
// tabs between them; and back, nullopt where there is none. What is no such row is passed over.
Argument ArgumentOf(const PtxLines& lines);
std::optional<PtxLines> PtxLinesOf(std::span<const Argument> arguments);

// The lines of a text that has kernels, to be counted as lines of one of them.
class KernelText {
 public:
  // `text` has to outlive it.
  explicit KernelText(std::string_view text);
  // Of that line of the whole text, which counts from 1: the line in the kernel that begins in line
  // `first`; its text without what surrounds it.
  PtxLine LineOf(std::string_view kernel, uint32_t first, uint32_t line) const;
  // The line that an entry begins in; 0: there is none of that name.
  uint32_t FirstOf(std::string_view kernel) const;

 private:
  std::vector<std::string_view> lines_;
};

}  // namespace hloscope::profiler
