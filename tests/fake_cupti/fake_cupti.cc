// A libcupti for tests: it records what a test tells it, into the buffers of whoever collects, and
// refuses on command.
#include "tests/fake_cupti/fake_cupti.h"

#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "profiler/cupti/library.h"
#include "profiler/cupti/records.h"

namespace {

using namespace hloscope::profiler::cupti;
using hloscope::fake_cupti::Control;

Control control;
bool is_subscribed = false;
std::set<uint32_t> enabled;
std::vector<uint64_t> external;
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

// A kind that is not read, of the size of one that is.
void Unknown() {
  enabled.insert(std::to_underlying(RecordKind::kGraphTrace));
  Write(RecordKind::kGraphTrace, GraphRecord{});
  std::memcpy(buffer + used - SizeOf(51), "\x19\0\0\0", 4);
}

}  // namespace

extern "C" {

Control* FakeCupti() {
  control.kernel = &Kernel;
  control.copy = &Copy;
  control.fill = &Fill;
  control.synchronize = &Synchronize;
  control.overhead = &Overhead;
  control.unknown = &Unknown;
  return &control;
}

int cuptiGetVersion(uint32_t* version) {
  *version = control.version;
  return 0;
}
int cuptiGetResultString(int, const char** text) {
  *text = "said by the fake";
  return 0;
}
int cuptiGetTimestamp(uint64_t* nanoseconds) {
  *nanoseconds = control.now;
  return 0;
}
int cuptiSubscribe(void** subscriber, CallbackFunction*, void*) {
  if (control.subscribe_result != 0) return control.subscribe_result;
  if (std::exchange(is_subscribed, true)) return 12;
  *subscriber = &is_subscribed;
  return 0;
}
int cuptiUnsubscribe(void*) {
  is_subscribed = false;
  return 0;
}
int cuptiActivityEnable(uint32_t kind) {
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
  Complete();
  return 0;
}
int cuptiActivityGetNextRecord(uint8_t* from, size_t valid_bytes, void** record) {
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
