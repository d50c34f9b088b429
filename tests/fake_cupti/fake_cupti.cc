// A libcupti for tests: it records what a test asks for and what the fake driver does, into the
// buffers of whoever collects, and refuses on command.
#include "tests/fake_cupti/fake_cupti.h"

#include <dlfcn.h>

#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/cupti/library.h"
#include "profiler/cupti/records.h"
#include "tests/fake_cuda/faults.h"
#include "tests/fake_cupti/inside.h"
#include "tests/fake_cupti/joined.h"

namespace {

using namespace hloscope::profiler::cupti;
using hloscope::fake_cupti::Control;

constexpr const char* kFaults = "CUDA_FAKE_CUPTI";

Control control;
fake_cuda::Faults faults = fake_cuda::Faults::FromEnvironment(kFaults);
std::recursive_mutex mutex;
bool is_subscribed = false, is_joined = false, are_counters_on = false;
CallbackFunction* callback = nullptr;
void* callback_data = nullptr;
std::set<uint32_t> enabled, enabled_callbacks;
thread_local std::vector<uint64_t> external;
BufferRequested* requested = nullptr;
BufferCompleted* completed = nullptr;
uint8_t* buffer = nullptr;
size_t buffer_bytes = 0, used = 0;

// As a CUPTI of CUDA 13 has them.
size_t SizeOf(uint32_t kind) {
#define RECORD(name, number, size_12, size_13) \
  if (kind == (number)) return size_13;
#include "profiler/cupti/records.def"
#undef RECORD
  return 0;
}

void Complete() {
  if (buffer == nullptr) return;
  completed(nullptr, 0, std::exchange(buffer, nullptr), buffer_bytes, std::exchange(used, 0));
}

template <typename T>
void Write(RecordKind kind, T record) {
  const auto number = std::to_underlying(kind);
  if (!enabled.contains(number) || requested == nullptr) return;
  record.kind = kind;
  const size_t size = SizeOf(number);
  const std::lock_guard lock(mutex);
  if (faults.Next("record") != 0) {
    ++control.dropped;
    return;
  }
  if (buffer != nullptr && buffer_bytes - used < size) Complete();
  if (buffer == nullptr) {
    size_t most = 0;
    requested(&buffer, &buffer_bytes, &most);
    used = 0;
    if (buffer == nullptr || buffer_bytes < size) {
      ++control.dropped;
      return;
    }
  }
  std::memset(buffer + used, 0, size);
  std::memcpy(buffer + used, &record, std::min(sizeof(T), size));
  used += size;
}

// The call that causes a record, and what was pushed while it was made.
uint32_t Call() {
  const uint32_t correlation = control.next_correlation++;
  if (!external.empty()) {
    Write(RecordKind::kExternalCorrelation,
          ExternalCorrelationRecord{{}, 3, external.back(), correlation, 0});
  }
  CallRecord call{};
  call.start = control.now;
  call.end = control.now += 10;
  call.thread_id = 7;
  call.correlation_id = correlation;
  Write(RecordKind::kDriver, call);
  return correlation;
}

// What the fake driver reports.
void DriverCalled(void*, const FakeCudaCall* call) {
  if (call->has_ended == 0) return;
  if (!external.empty()) {
    Write(RecordKind::kExternalCorrelation,
          ExternalCorrelationRecord{{}, 3, external.back(), call->correlation, 0});
  }
  CallRecord record{};
  record.start = record.end = call->time_ns;
  record.thread_id = 7;
  record.correlation_id = call->correlation;
  record.return_value = static_cast<uint32_t>(call->result);
  Write(RecordKind::kDriver, record);
}

// What all records of a stream share.
template <typename T>
T OnStream(const FakeCudaActivity& did) {
  T record{};
  record.start = did.start_ns;
  record.end = did.end_ns;
  record.device_id = did.device;
  record.context_id = did.context;
  record.stream_id = did.stream;
  record.correlation_id = did.correlation;
  record.graph_id = did.graph;
  record.graph_node_id = did.graph_node;
  return record;
}

void DeviceDid(void*, const FakeCudaActivity* did) {
  if (did->kind == kFakeCudaKernel) hloscope::fake_cupti::Count(*did);
  if (did->kind == kFakeCudaKernel) hloscope::fake_cupti::Sample(*did);
  switch (did->kind) {
    case kFakeCudaKernel: {
      auto record = OnStream<KernelRecord>(*did);
      record.name = did->kernel;
      for (size_t i = 0; i < 3; ++i) {
        record.grid[i] = static_cast<int32_t>(did->grid[i]);
        record.block[i] = static_cast<int32_t>(did->block[i]);
      }
      record.registers_per_thread = static_cast<uint16_t>(did->registers);
      record.static_shared_memory = static_cast<int32_t>(did->static_shared_bytes);
      record.dynamic_shared_memory = static_cast<int32_t>(did->dynamic_shared_bytes);
      record.local_memory_per_thread = did->local_bytes;
      return Write(RecordKind::kConcurrentKernel, record);
    }
    case kFakeCudaMemset: {
      auto record = OnStream<MemsetRecord>(*did);
      record.bytes = did->bytes;
      record.memory_kind = 3;
      return Write(RecordKind::kMemset, record);
    }
    case kFakeCudaBetween: {
      auto record = OnStream<MemcpyPeerRecord>(*did);
      record.bytes = did->bytes;
      record.copy_kind = 10;
      record.source_kind = record.destination_kind = 3;
      record.source_device_id = did->from_device;
      record.destination_device_id = did->to_device;
      return Write(RecordKind::kMemcpyPeer, record);
    }
    case kFakeCudaSynchronization: {
      SynchronizationRecord record{};
      record.type = 3;
      record.start = did->start_ns;
      record.end = did->end_ns;
      record.correlation_id = did->correlation;
      record.context_id = did->context;
      record.stream_id = did->stream;
      return Write(RecordKind::kSynchronization, record);
    }
    default: {
      auto record = OnStream<MemcpyRecord>(*did);
      record.bytes = did->bytes;
      record.copy_kind = did->kind == kFakeCudaToDevice ? 1 : did->kind == kFakeCudaToHost ? 2 : 8;
      record.source_kind = did->kind == kFakeCudaToDevice ? 2 : 3;
      record.destination_kind = did->kind == kFakeCudaToHost ? 2 : 3;
      return Write(RecordKind::kMemcpy, record);
    }
  }
}

// Handles of nodes are their numbers.
void NodeMade(void*, uint64_t node, uint64_t original) {
  const uint32_t made = original == 0 ? kGraphNodeCreated : kGraphNodeCloned;
  if (callback == nullptr || !enabled_callbacks.contains(made)) return;
  const GraphCallback graph{nullptr, nullptr, reinterpret_cast<void*>(node),
                            reinterpret_cast<void*>(original)};
  const ResourceCallback resource{nullptr, nullptr, &graph};
  callback(callback_data, kResourceDomain, made, &resource);
}

constexpr FakeCudaListener kListener{&DriverCalled, &DeviceDid, nullptr, &NodeMade, 0};

void Kernel(const char* name, uint32_t device, uint32_t stream, uint64_t start, uint64_t end,
            uint64_t node) {
  KernelRecord record{};
  record.name = name;
  record.device_id = device;
  record.stream_id = stream;
  record.start = start;
  record.end = end;
  record.graph_node_id = node;
  record.graph_id = node == 0 ? 0 : 5;
  record.registers_per_thread = 40;
  record.static_shared_memory = 1024;
  record.dynamic_shared_memory = 64;
  for (int i = 0; i < 3; ++i) record.grid[i] = record.block[i] = 1;
  record.grid[0] = 12;
  record.block[0] = 128;
  record.correlation_id = Call();
  Write(RecordKind::kConcurrentKernel, record);
}

void Copy(uint32_t stream, uint64_t start, uint64_t end, uint64_t bytes) {
  MemcpyRecord record{};
  record.copy_kind = 1;
  record.source_kind = 2;
  record.destination_kind = 3;
  record.stream_id = stream;
  record.start = start;
  record.end = end;
  record.bytes = bytes;
  record.correlation_id = Call();
  Write(RecordKind::kMemcpy, record);
}

void Fill(uint32_t stream, uint64_t start, uint64_t end, uint64_t bytes) {
  MemsetRecord record{};
  record.stream_id = stream;
  record.start = start;
  record.end = end;
  record.bytes = bytes;
  record.memory_kind = 3;
  record.correlation_id = Call();
  Write(RecordKind::kMemset, record);
}

void Synchronize(uint64_t start, uint64_t end) {
  SynchronizationRecord record{};
  record.type = 3;
  record.start = start;
  record.end = end;
  record.correlation_id = Call();
  Write(RecordKind::kSynchronization, record);
}

void Overhead(uint64_t start, uint64_t end) {
  OverheadRecord record{};
  record.overhead_kind = 1 << 16;
  record.start = start;
  record.end = end;
  Write(RecordKind::kOverhead, record);
}

void Mark(uint32_t id, const char* name) {
  MarkerRecord record{};
  record.flags = name != nullptr ? kRangeBegins : kRangeEnds;
  record.timestamp = control.now++;
  record.id = id;
  record.thread_id = 7;
  record.name = name;
  Write(RecordKind::kMarker, record);
}

void Ask() {
  uint8_t* own = nullptr;
  size_t bytes = 0, most = 0;
  requested(&own, &bytes, &most);
  completed(nullptr, 0, own, bytes, 0);
}

// A kind that is not read, of the size of one that is.
void Unknown() {
  enabled.insert(std::to_underlying(RecordKind::kGraphTrace));
  Write(RecordKind::kGraphTrace, GraphRecord{});
  std::memcpy(buffer + used - SizeOf(51), "\x19\0\0\0", 4);
}

void LeaveDriver() {
  if (is_subscribed || are_counters_on || !std::exchange(is_joined, false)) return;
  hloscope::fake_cupti::Listen(nullptr);
}

}  // namespace

namespace hloscope::fake_cupti {

int NextFault(const char* function) { return faults.Next(function); }
int64_t PropertyOf(const char* name, int64_t otherwise) { return faults.Property(name, otherwise); }
void HearOfKernels(bool hear) {
  are_counters_on = hear;
  FakeCudaListener listener = kListener;
  listener.at_once = 1;
  hear ? static_cast<void>(is_joined = Listen(&listener)) : LeaveDriver();
}

}  // namespace hloscope::fake_cupti

extern "C" {

Control* FakeCupti() {
  faults = fake_cuda::Faults::FromEnvironment(kFaults);
  control.kernel = &Kernel;
  control.copy = &Copy;
  control.fill = &Fill;
  control.synchronize = &Synchronize;
  control.overhead = &Overhead;
  control.unknown = &Unknown;
  control.mark = &Mark;
  control.ask = &Ask;
  control.node = [](uint64_t node, uint64_t original) { NodeMade(nullptr, node, original); };
  return &control;
}

int cuptiGetVersion(uint32_t* version) {
  *version = static_cast<uint32_t>(faults.Property("version", control.version));
  return faults.Next("cuptiGetVersion");
}
int cuptiGetResultString(int, const char** text) {
  *text = "said by the fake";
  return 0;
}
int cuptiGetTimestamp(uint64_t* nanoseconds) {
  *nanoseconds = is_joined ? hloscope::fake_cupti::SteadyNow() : control.now;
  return 0;
}
int cuptiSubscribe(void** subscriber, CallbackFunction* function, void* data) {
  if (const int64_t major = faults.Property("refuses", 0); major != 0) {
    Dl_info own{};
    dladdr(&is_subscribed, &own);
    if (std::string_view(own.dli_fname).ends_with(".so." + std::to_string(major))) return 15;
  }
  if (const int refused = faults.Next("cuptiSubscribe"); refused != 0) return refused;
  if (control.subscribe_result != 0) return control.subscribe_result;
  if (std::exchange(is_subscribed, true)) return 12;
  *subscriber = &is_subscribed;
  callback = function;
  callback_data = data;
  is_joined = hloscope::fake_cupti::Listen(&kListener);
  return 0;
}
int cuptiUnsubscribe(void*) {
  is_subscribed = false;
  LeaveDriver();
  callback = nullptr;
  enabled_callbacks.clear();
  return 0;
}
int cuptiEnableCallback(uint32_t enable, void*, int, uint32_t which) {
  if (const int refused = faults.Next("cuptiEnableCallback"); refused != 0) return refused;
  enable != 0 ? static_cast<void>(enabled_callbacks.insert(which))
              : static_cast<void>(enabled_callbacks.erase(which));
  return 0;
}
int cuptiActivityEnable(uint32_t kind) {
  if (const int refused = faults.Next("cuptiActivityEnable"); refused != 0) return refused;
  const bool is_refused = control.refused_kind == 0 || control.refused_kind == kind;
  if (control.enable_result != 0 && is_refused) return control.enable_result;
  enabled.insert(kind);
  return 0;
}
int cuptiActivityDisable(uint32_t kind) {
  enabled.erase(kind);
  return 0;
}
int cuptiActivityRegisterCallbacks(BufferRequested* request, BufferCompleted* complete) {
  requested = request;
  completed = complete;
  return 0;
}
int cuptiActivityFlushAll(uint32_t) {
  const std::lock_guard lock(mutex);
  if (faults.Property("late", 0) != 0) return 0;
  if (is_joined && buffer != nullptr) {
    const uint64_t now = hloscope::fake_cupti::SteadyNow();
    Overhead(now, now + 1);
  }
  Complete();
  return faults.Next("cuptiActivityFlushAll");
}
int cuptiActivityGetNextRecord(uint8_t* from, size_t valid_bytes, void** record) {
  if (control.on_next_record != nullptr) control.on_next_record();
  auto* next = static_cast<uint8_t*>(*record);
  if (next == nullptr) {
    next = from;
  } else {
    uint32_t kind = 0;
    std::memcpy(&kind, next, sizeof kind);
    next += kind == 25 ? SizeOf(51) : SizeOf(kind);
  }
  if (next >= from + valid_bytes) return 12;
  *record = next;
  return 0;
}
int cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t* dropped) {
  *dropped = static_cast<size_t>(std::exchange(control.dropped, 0));
  return 0;
}
int cuptiActivityPushExternalCorrelationId(uint32_t, uint64_t id) {
  external.push_back(id);
  return 0;
}
int cuptiActivityPopExternalCorrelationId(uint32_t, uint64_t* last) {
  if (external.empty()) return 18;
  *last = external.back();
  external.pop_back();
  return 0;
}
int cuptiGetGraphNodeId(void* node, uint64_t* id) {
  *id = reinterpret_cast<uintptr_t>(node);
  return 0;
}

}  // extern "C"
