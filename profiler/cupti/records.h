// The binary interface of CUPTI's activity records: the fields that are read here, at their places,
// which CUPTI keeps from version to version (new ones come behind). Names are CUPTI's own without
// their prefix. A file that sees CUDA's headers holds them against these.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hloscope::profiler::cupti {

enum class RecordKind : uint32_t {
#define RECORD(name, number, size_12, size_13) name = (number),
#include "profiler/cupti/records.def"
#undef RECORD
};

// Kernel9 of CUDA 12, Kernel10 of CUDA 13.
struct KernelRecord {
  RecordKind kind;
  uint8_t cache_config, shared_memory_config;
  uint16_t registers_per_thread;
  uint32_t partitioned_cache[2];
  uint64_t start, end, completed;
  uint32_t device_id, context_id, stream_id;
  int32_t grid[3], block[3];
  int32_t static_shared_memory, dynamic_shared_memory;
  uint32_t local_memory_per_thread, local_memory_total, correlation_id;
  int64_t grid_id;
  const char* name;
  void* reserved;
  uint64_t queued, submitted;
  uint8_t launch_type, is_shared_carveout, shared_carveout, padding;
  uint32_t shared_memory_executed;
  uint64_t graph_node_id;
  uint32_t shared_memory_limit, graph_id;
};
static_assert(offsetof(KernelRecord, name) == 104 && offsetof(KernelRecord, graph_node_id) == 144 &&
              offsetof(KernelRecord, graph_id) == 156);

struct MemcpyRecord {
  RecordKind kind;
  uint8_t copy_kind, source_kind, destination_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device_id, context_id, stream_id, correlation_id, runtime_correlation_id, padding;
  void* reserved;
  uint64_t graph_node_id;
  uint32_t graph_id;
};
static_assert(offsetof(MemcpyRecord, graph_node_id) == 64);

struct MemcpyPeerRecord {
  RecordKind kind;
  uint8_t copy_kind, source_kind, destination_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device_id, context_id, stream_id;
  uint32_t source_device_id, source_context_id, destination_device_id, destination_context_id;
  uint32_t correlation_id;
  void* reserved;
  uint64_t graph_node_id;
  uint32_t graph_id;
};
static_assert(offsetof(MemcpyPeerRecord, correlation_id) == 60 &&
              offsetof(MemcpyPeerRecord, graph_node_id) == 72);

struct MemsetRecord {
  RecordKind kind;
  uint32_t value;
  uint64_t bytes, start, end;
  uint32_t device_id, context_id, stream_id, correlation_id;
  uint16_t flags, memory_kind;
  uint32_t padding;
  void* reserved;
  uint64_t graph_node_id;
  uint32_t graph_id;
};
static_assert(offsetof(MemsetRecord, graph_node_id) == 64);

struct OverheadRecord {
  RecordKind kind;
  uint32_t overhead_kind;
  uint32_t object[4];
  uint64_t start, end;
};
static_assert(offsetof(OverheadRecord, start) == 24);

struct SynchronizationRecord {
  RecordKind kind;
  uint32_t type;
  uint64_t start, end;
  uint32_t correlation_id, context_id, stream_id, event_id;
};

struct ExternalCorrelationRecord {
  RecordKind kind;
  uint32_t external_kind;
  uint64_t external_id;
  uint32_t correlation_id, reserved;
};

struct GraphRecord {
  RecordKind kind;
  uint32_t correlation_id;
  uint64_t start, end;
  uint32_t device_id, graph_id, context_id, stream_id;
};

// A call of the driver or of the runtime.
struct CallRecord {
  RecordKind kind;
  uint32_t callback_id;
  uint64_t start, end;
  uint32_t process_id, thread_id, correlation_id, return_value;
};
static_assert(sizeof(CallRecord) == 40);

// Marker2: a moment of NVTX; ranges have two of the same id, the last without a name.
struct MarkerRecord {
  RecordKind kind;
  uint32_t flags;
  uint64_t timestamp;
  uint32_t id, object_kind;
  uint32_t process_id, thread_id, unused;  // of a thread
  uint32_t padding;
  const char *name, *domain;
};
static_assert(sizeof(MarkerRecord) == 56 && offsetof(MarkerRecord, name) == 40);
inline constexpr uint32_t kRangeBegins = 2, kRangeEnds = 4;  // of its flags

// What a callback of the domain of resources is given, and what that is of graphs and their nodes.
inline constexpr int kResourceDomain = 3;
inline constexpr uint32_t kGraphNodeCreated = 13, kGraphNodeCloned = 20;

struct ResourceCallback {
  void* context;
  void* handle;
  const void* descriptor;
};
struct GraphCallback {
  void *graph, *original_graph;
  void *node, *original_node;
};

}  // namespace hloscope::profiler::cupti
