// State: everything that the made-up driver has handed out, and how work is done on its device.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/ptx/ptx.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/fake_cuda/faults.h"

// The driver's own types, incomplete for everybody else.
struct CUctx_st {
  int device = 0;
  int lost = 0;  // what every call says from now on
  int64_t retained = 0;
};
struct CUmod_st {
  int device;
  hloscope::ptx::Module code;
};
struct CUfunc_st {
  CUmod_st* module;
  const hloscope::ptx::EntryInfo* entry;
};
// Something for the device to do; 0, or the error of it.
using Work = std::function<int(uint32_t correlation, uint32_t graph, uint64_t node)>;
struct GraphNode {
  uint64_t number;
  Work work;
};
namespace fake_cuda {
// A word of a device's memory, which a loop in a graph goes by.
struct Condition {
  uint64_t address = 0;
  int device = 0;
  Condition() = default;
  ~Condition();
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;
};
}  // namespace fake_cuda
struct CUgraph_st {
  int device = 0;
  std::vector<GraphNode> nodes = {};
  std::vector<std::shared_ptr<fake_cuda::Condition>> conditions = {};
  bool is_open = false;  // what is recorded next does not come behind the last node
  void* last = nullptr;
  CUgraph_st* self = nullptr;
};
struct CUgraphExec_st {
  int device;
  std::vector<GraphNode> nodes;
  uint32_t number;
};
// Texts to be made machine code of; here that is the text.
struct CUlinkState_st {
  std::string text;
  bool has_lines = false;
  std::vector<int> options;
  std::vector<void*> values;
};
struct CUstream_st;
// Something in a stream's queue.
struct Queued {
  Work work;
  uint32_t correlation = 0;
  std::vector<CUstream_st*> streams;  // that meet here; the last to come does the work
  const std::byte* host = nullptr;    // pinned memory that a copy reads or writes
  std::shared_ptr<Queued> waits_for;  // is done before it
  bool is_begun = false, is_done = false;
};
struct CUstream_st {
  uint32_t number;
  int device;
  CUgraph_st* capture = nullptr;  // what is being recorded, instead of being done
  bool capture_failed = false;
  std::deque<std::shared_ptr<Queued>> queue = {};
};
struct CUevent_st {
  int device;
  std::shared_ptr<Queued> recorded = nullptr;  // the last time
  std::shared_ptr<uint64_t> time_ns = nullptr;
};

namespace fake_cuda {

// Names of errors as CUDA has them.
inline constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kNoDevice = 100,
                     kInvalidDevice = 101, kInvalidContext = 201, kInvalidPtx = 218,
                     kInvalidHandle = 400, kNotFound = 500, kNotReady = 600, kIllegalAddress = 700,
                     kCaptureUnsupported = 900, kCaptureInvalidated = 901;

inline constexpr int kMaxDevices = 16;  // of `devices=`

struct State {
  static State& Get();

  std::recursive_mutex mutex;
  Faults faults = Faults::FromEnvironment();
  bool has_started = false;
  uint32_t correlation = 0, next_stream = 1, next_graph = 1;
  uint64_t launches = 0, nodes = 0, marks = 0;   // marks: events recorded
  uint64_t spent_ns = 0;                         // by all that `own_clock` times
  std::array<CUctx_st, kMaxDevices> contexts{};  // the primary one of each device
  uint64_t next_address = uint64_t{0x7e} << 40;  // no address of the host's
  std::map<uint32_t, uint64_t> busy_until;       // by stream, where kernels are told to last
  struct Allocation {
    int device;
    std::vector<std::byte> bytes;
  };
  std::map<uint64_t, Allocation> memory;
  std::map<const void*, std::vector<std::byte>> pinned;
  std::map<const void*, std::unique_ptr<CUmod_st>> modules;
  std::map<const void*, std::unique_ptr<CUfunc_st>> functions;
  std::map<const void*, std::unique_ptr<CUstream_st>> streams;
  std::map<const void*, std::unique_ptr<CUevent_st>> events;
  std::map<const void*, std::unique_ptr<CUgraph_st>> graphs;
  std::map<const void*, std::weak_ptr<CUgraph_st>> turns;  // graphs of loops
  std::map<const void*, std::unique_ptr<CUgraphExec_st>> graph_execs;
  std::map<const void*, std::unique_ptr<CUlinkState_st>> links;
  FakeCudaListener listener{};

  // The bytes from an address of that device to the end of what it lies in; empty where it is none.
  static constexpr int kAnyDevice = -1;
  std::span<std::byte> At(uint64_t address, int device);
  CUctx_st& ContextOf(int device) { return contexts[static_cast<size_t>(device)]; }
  // Whether so many bytes of the host are pinned.
  bool IsPinned(const void* host, size_t size) const;
  void Tell(FakeCudaActivity activity) const;
  // Of a node that is new, or a copy of another.
  uint64_t NewNode(uint64_t original);
  // Whether the driver's CUDA takes no PTX of that version.
  bool IsTooNew(const char* ptx) const;
  // A kernel of ours ("kernel"), or a library's by its name, takes the time that CUDA_FAKE says.
  void Spend(std::string_view kernel);
  // Of an event that is recorded.
  uint64_t MarkedTime();
  int64_t TotalMemory() const { return faults.Property("memory", int64_t{80} << 30); }
  int64_t UsedMemory(int device) const;
  int64_t devices() const { return std::min(faults.Property("devices", 1), int64_t{kMaxDevices}); }
};

uint64_t Now();
// An error that leaves nothing of the context.
bool LosesDevice(int result);

// A kernel with its grid and the bytes of its parameters, as work.
Work KernelWork(const CUfunc_st& function, std::array<uint32_t, 3> grid,
                std::array<uint32_t, 3> block, uint32_t shared_bytes,
                std::vector<std::vector<std::byte>> parameters, const CUstream_st& stream);

// What a made-up library does, as work.
Work LibraryWork(std::string name, void (*work)(void*), std::shared_ptr<void> data,
                 const CUstream_st& stream);

}  // namespace fake_cuda
