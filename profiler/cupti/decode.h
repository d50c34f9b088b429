// CUPTI's activity records to what a device did: pure functions of bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/base/result.h"
#include "profiler/cupti/records.h"
#include "profiler/kernel_metrics.h"
#include "profiler/ptx_lines.h"

namespace hloscope::profiler::cupti {

enum class Work : uint8_t {
#define WORK(name, one, several, bound) name,
#include "profiler/cupti/works.def"
#undef WORK
};

// One record. Times are nanoseconds of CUPTI's clock; what a kind of record does not say is 0.
struct Activity {
  Work work = Work::kKernel;
  uint64_t start = 0, end = 0;
  uint32_t device = 0, context = 0, stream = 0, thread = 0;
  uint32_t correlation = 0;  // of the call that caused it
  uint32_t graph = 0;
  uint64_t graph_node = 0;
  std::string name;    // of a kernel; else what it is, in words
  std::string detail;  // of a copy: the kinds of memory
  uint64_t bytes = 0;  // copied or filled
  std::array<uint32_t, 3> grid{}, block{};
  uint32_t registers = 0, static_shared_bytes = 0, dynamic_shared_bytes = 0, local_bytes = 0;
  uint32_t peer = 0;     // the device that a copy between devices goes to
  int32_t metrics = -1;  // of a kernel: in ActivityLog::metrics
  int32_t lines = -1;    // of a kernel: in ActivityLog::lines
};

// How many activities are kept: of what devices did, of what the host waited for and lost, of its
// calls.
struct ActivityBounds {
  size_t device = SIZE_MAX, host = SIZE_MAX, calls = SIZE_MAX;
};

// The beginning or end of an NVTX range.
struct RangeMark {
  uint64_t time = 0;
  uint32_t id = 0, thread = 0;
  bool begins = false;
  std::string name;  // of one that begins
};

struct ActivityLog {
  ActivityBounds most;
  bool takes_calls = true;  // else calls are of no interest: neither kept nor left out
  std::vector<Activity> activities;
  std::vector<RangeMark> ranges;
  std::vector<KernelMetrics> metrics;
  std::vector<PtxLines> lines;
  // By correlation: what the program said it was doing.
  std::map<uint32_t, uint64_t> external;
  // By node of a graph: what the program said it was doing when the node was made.
  std::map<uint64_t, uint64_t> nodes;
  int64_t records = 0;                  // of all kinds
  int64_t dropped = 0;                  // that CUPTI had no room for
  std::map<Work, int64_t> left_out;     // beyond the most that are kept
  int64_t awaited = 0;                  // kernels that were launched; 0: not known
  std::map<uint32_t, int64_t> unknown;  // by kind: records that nothing here reads
  std::vector<std::string> warnings;

  // Whether one more of that kind is kept; one that is not is counted. When the first of a device
  // is left out the log is closed: of what comes later only what is told of activities that it has
  // is taken.
  bool HasRoomFor(Work work);
  // What the program was doing in a call, which may be told before or after what the call caused.
  void AddExternal(uint32_t correlation, uint64_t number);
  // What the program said it was doing when it asked for the activity; nullopt: nothing.
  std::optional<uint64_t> ExternalOf(const Activity& activity) const;
  // "3 kernels, 1 copy" of what was left out; empty where nothing was.
  std::string LeftOutText() const;

 private:
  ActivityBounds kept_{0, 0, 0};
  bool is_closed_ = false;
  std::unordered_set<uint32_t> untold_;  // correlations of activities that have no external; closed
};

// The text at an address in a record, which is the profiled process's.
using TextAt = std::function<std::string(const char* address)>;
// In that process: the text itself.
std::string TextHere(const char* address);

// Adds a record, which is as long as its kind says, to the log.
void DecodeRecord(const void* record, const TextAt& text_at, ActivityLog& log);

// The records in a buffer that a CUPTI of that version (of its API) filled, as CUPTI's own function
// finds them: DecodeRecord for each. Input error: a version whose sizes of records are not known, a
// kind that is not (nothing behind it can be found), a record that is cut off.
Status DecodeBuffer(std::span<const std::byte> buffer, uint32_t version, const TextAt& text_at,
                    ActivityLog& log);

// Whether records of a CUPTI of that version can be read: those of CUDA 12 and 13.
bool IsKnownVersion(uint32_t version);
// "CUDA 13.0", of a version of CUPTI's API.
std::string VersionText(uint32_t version);

}  // namespace hloscope::profiler::cupti
