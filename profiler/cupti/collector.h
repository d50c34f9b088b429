// Collector: what the GPUs do while it lives, record by record.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "core/base/result.h"
#include "profiler/cupti/decode.h"
#include "profiler/cupti/library.h"
#include "profiler/cupti/records.h"

namespace hloscope::profiler::cupti {

struct CollectorOptions {
  size_t buffer_bytes = size_t{4} << 20;
  // Beyond them records are counted only.
  ActivityBounds most = {
      .device = size_t{2} << 20, .host = size_t{2} << 20, .calls = size_t{2} << 20};
  bool calls = false;  // calls of the driver and the runtime, too
  // NVTX ranges, too, which CUPTI sees where the process was started for it
  // (NVTX_INJECTION64_PATH), and calls, by which launches lie in them.
  bool ranges = false;
};

// What was collected, and what converts its times to those of the steady clock.
struct Collected {
  ActivityLog log;
  uint64_t origin_ns = 0;        // of CUPTI's clock, when it began
  int64_t steady_origin_ns = 0;  // of the steady clock, at the same time
};

// One at a time in a process. Nodes of graphs that are made while it lives are of what is pushed
// then.
class Collector {
 public:
  // Environment errors, with the fix: another collector or profiler is at work, not permitted.
  // `state`, where not null, gets what kind of refusal it was.
  static Result<std::unique_ptr<Collector>> Start(std::shared_ptr<const Library> library,
                                                  const CollectorOptions& options = {},
                                                  CuptiState* state = nullptr);
  // The same with the first of the files that opens; errors also those of Library::Open.
  static Result<std::unique_ptr<Collector>> Start(const std::vector<std::string>& files,
                                                  const CollectorOptions& options = {});
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // Launches of this thread are recorded with that number until it is popped.
  void Push(uint64_t external);
  void Pop();
  // What this thread pushes in between is captured into a graph. Its nodes are of what was pushed
  // when each was made or, where all are made at the end, of what was pushed, in that order.
  void BeginCapture();
  void EndCapture();
  // So many kernels were launched: those without a record are reported.
  void Await(int64_t kernels) { awaited_ += kernels; }

  // All that was recorded; what the GPUs have yet to finish is not in it.
  Result<Collected> Stop();

 private:
  Collector(std::shared_ptr<const Library> library, const CollectorOptions& options)
      : library_(std::move(library)), options_(options) {
    collected_.log.most = options.most;
    collected_.log.takes_calls = options.calls || options.ranges;
  }
  Status Begin();
  Status Check(int result, std::string_view what);
  void End();
  static void Requested(uint8_t** buffer, size_t* bytes, size_t* most_records);
  static void Completed(void* context, uint32_t stream, uint8_t* buffer, size_t bytes,
                        size_t valid_bytes);
  void Take(void* context, uint32_t stream, uint8_t* buffer, size_t valid_bytes);
  static void Called(void* collector, int domain, uint32_t callback, const void* parameters);
  void NodeMade(const GraphCallback& graph, bool is_clone);
  uint64_t NodeNumber(void* graph_node) const;  // 0: it is not known

  std::shared_ptr<const Library> library_;
  CollectorOptions options_;
  void* subscriber_ = nullptr;
  bool is_started_ = false;
  CuptiState state_ = CuptiState::kReady;
  std::atomic<int64_t> awaited_ = 0;
  std::vector<uint32_t> enabled_;
  std::mutex mutex_;
  Collected collected_;
  // By node of a graph: what was pushed when it was made. A lock of its own: a program that builds
  // a graph does not wait for the decoding of records.
  std::mutex nodes_mutex_;
  std::map<uint64_t, uint64_t> nodes_;
};

}  // namespace hloscope::profiler::cupti
