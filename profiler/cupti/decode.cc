// Records by kind.
#include "profiler/cupti/decode.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "core/base/counted.h"

namespace hloscope::profiler::cupti {
namespace {

// Versions of CUPTI's API: 19 came with CUDA 12.0, 26 with 12.8, and from CUDA 13 on they are
// major · 10000 + minor · 100 + patch.
constexpr uint32_t kCuda12 = 19, kCuda12Sizes = 26, kCuda13 = 130000, kBehindCuda13 = 140000;

enum class Words : uint8_t { CopyKind, MemoryKind, Overhead, Synchronization };

std::string_view WordFor(Words table, uint32_t number) {
#define WORD(name, value, text) \
  if (table == Words::name && number == (value)) return text;
#include "profiler/cupti/words.def"
#undef WORD
  return "unknown";
}

template <typename T>
T Read(const void* record) {
  T value;
  std::memcpy(&value, record, sizeof(T));
  return value;
}

// What all kinds of records share.
template <typename T>
Activity Lasting(Work work, const T& record) {
  Activity activity;
  activity.work = work;
  activity.start = record.start;
  activity.end = record.end;
  return activity;
}

// What kinds of records that run on a stream share.
template <typename T>
Activity OnStream(Work work, const T& record) {
  Activity activity = Lasting(work, record);
  activity.device = record.device_id;
  activity.context = record.context_id;
  activity.stream = record.stream_id;
  activity.correlation = record.correlation_id;
  activity.graph = record.graph_id;
  return activity;
}

Activity Kernel(const KernelRecord& record, const TextAt& text_at) {
  Activity activity = OnStream(Work::kKernel, record);
  activity.graph_node = record.graph_node_id;
  activity.name = record.name == nullptr ? "unnamed kernel" : text_at(record.name);
  for (size_t i = 0; i < 3; ++i) {
    activity.grid[i] = static_cast<uint32_t>(record.grid[i]);
    activity.block[i] = static_cast<uint32_t>(record.block[i]);
  }
  activity.registers = record.registers_per_thread;
  activity.static_shared_bytes = static_cast<uint32_t>(record.static_shared_memory);
  activity.dynamic_shared_bytes = static_cast<uint32_t>(record.dynamic_shared_memory);
  activity.local_bytes = record.local_memory_per_thread;
  return activity;
}

template <typename T>
Activity Copy(const T& record) {
  Activity activity = OnStream(Work::kCopy, record);
  activity.graph_node = record.graph_node_id;
  activity.bytes = record.bytes;
  activity.name = fmt::format("copy {}", WordFor(Words::CopyKind, record.copy_kind));
  activity.detail =
      fmt::format("kind_src:{} kind_dst:{} size:{}", WordFor(Words::MemoryKind, record.source_kind),
                  WordFor(Words::MemoryKind, record.destination_kind), record.bytes);
  return activity;
}

Activity Fill(const MemsetRecord& record) {
  Activity activity = OnStream(Work::kFill, record);
  activity.graph_node = record.graph_node_id;
  activity.bytes = record.bytes;
  activity.name = "fill";
  activity.detail =
      fmt::format("kind:{} size:{} value:{}", WordFor(Words::MemoryKind, record.memory_kind),
                  record.bytes, record.value);
  return activity;
}

// The row of works.def that a work is.
struct WorkRow {
  const char *one, *several;
  size_t ActivityBounds::* bound;
};
constexpr std::array kWorks = {
#define WORK(name, one, several, bound) WorkRow{one, several, &ActivityBounds::bound},
#include "profiler/cupti/works.def"
#undef WORK
};
const WorkRow& RowOf(Work work) { return kWorks[static_cast<size_t>(work)]; }

// What kind of work a kind of record tells of; nullopt: it is not read.
std::optional<Work> WorkOf(RecordKind kind) {
  switch (kind) {
    case RecordKind::kKernel:
    case RecordKind::kConcurrentKernel:
      return Work::kKernel;
    case RecordKind::kMemcpy:
    case RecordKind::kMemcpyPeer:
      return Work::kCopy;
    case RecordKind::kMemset:
      return Work::kFill;
    case RecordKind::kGraphTrace:
      return Work::kGraph;
    case RecordKind::kSynchronization:
      return Work::kSynchronization;
    case RecordKind::kOverhead:
      return Work::kOverhead;
    case RecordKind::kDriver:
    case RecordKind::kRuntime:
      return Work::kCall;
    default:
      return std::nullopt;
  }
}

Activity ActivityOf(RecordKind kind, const void* record, const TextAt& text_at) {
  switch (kind) {
    case RecordKind::kKernel:
    case RecordKind::kConcurrentKernel:
      return Kernel(Read<KernelRecord>(record), text_at);
    case RecordKind::kMemcpy:
      return Copy(Read<MemcpyRecord>(record));
    case RecordKind::kMemcpyPeer: {
      const auto peer = Read<MemcpyPeerRecord>(record);
      Activity activity = Copy(peer);
      activity.peer = peer.destination_device_id;
      activity.detail += fmt::format(" dst:{}", peer.destination_device_id);
      return activity;
    }
    case RecordKind::kMemset:
      return Fill(Read<MemsetRecord>(record));
    case RecordKind::kGraphTrace: {
      Activity activity = OnStream(Work::kGraph, Read<GraphRecord>(record));
      activity.name = fmt::format("graph {}", activity.graph);
      return activity;
    }
    case RecordKind::kSynchronization: {
      const auto own = Read<SynchronizationRecord>(record);
      Activity activity = Lasting(Work::kSynchronization, own);
      activity.context = own.context_id;
      activity.stream = own.stream_id;
      activity.correlation = own.correlation_id;
      activity.name = WordFor(Words::Synchronization, own.type);
      return activity;
    }
    case RecordKind::kOverhead: {
      const auto own = Read<OverheadRecord>(record);
      Activity activity = Lasting(Work::kOverhead, own);
      activity.name = WordFor(Words::Overhead, own.overhead_kind);
      return activity;
    }
    case RecordKind::kDriver:
    case RecordKind::kRuntime: {
      const auto own = Read<CallRecord>(record);
      Activity activity = Lasting(Work::kCall, own);
      activity.thread = own.thread_id;
      activity.correlation = own.correlation_id;
      activity.name = fmt::format("{} call {}", kind == RecordKind::kDriver ? "driver" : "runtime",
                                  own.callback_id);
      return activity;
    }
    default:
      return {};
  }
}

size_t SizeOf(RecordKind kind, uint32_t version) {
  switch (kind) {
#define RECORD(name, number, size_12, size_13) \
  case RecordKind::name:                       \
    return version >= kCuda13 ? (size_13) : (size_12);
#include "profiler/cupti/records.def"
#undef RECORD
  }
  return 0;
}

}  // namespace

bool ActivityLog::HasRoomFor(Work work) {
  if (work == Work::kCall && !takes_calls) return false;
  size_t ActivityBounds::* const bound = RowOf(work).bound;
  if (!is_closed_ && kept_.*bound < most.*bound) {
    ++(kept_.*bound);
    return true;
  }
  ++left_out[work];
  if (is_closed_ || bound != &ActivityBounds::device) return false;
  is_closed_ = true;
  for (const Activity& activity : activities) {
    if (!external.contains(activity.correlation)) untold_.insert(activity.correlation);
  }
  return false;
}

void ActivityLog::AddExternal(uint32_t correlation, uint64_t number) {
  if (!is_closed_ || untold_.erase(correlation) > 0) external[correlation] = number;
}

std::optional<uint64_t> ActivityLog::ExternalOf(const Activity& activity) const {
  if (const auto node = nodes.find(activity.graph_node); node != nodes.end()) return node->second;
  const auto pushed = external.find(activity.correlation);
  if (pushed == external.end()) return std::nullopt;
  return pushed->second;
}

std::string ActivityLog::LeftOutText() const {
  std::string text;
  for (const auto& [work, count] : left_out) {
    const WorkRow& row = RowOf(work);
    text += fmt::format("{}{}", text.empty() ? "" : ", ", Counted(count, row.one, row.several));
  }
  return text;
}

std::string TextHere(const char* address) { return address; }

bool IsKnownVersion(uint32_t version) {
  return (version >= kCuda12 && version < 100) || (version >= kCuda13 && version < kBehindCuda13);
}

std::string VersionText(uint32_t version) {
  if (version >= 10000) return fmt::format("CUDA {}.{}", version / 10000, version / 100 % 100);
  return fmt::format("CUDA {}, version {}", version >= kCuda12 ? "12" : "11 or older", version);
}

void DecodeRecord(const void* record, const TextAt& text_at, ActivityLog& log) {
  ++log.records;
  const auto kind = Read<RecordKind>(record);
  if (kind == RecordKind::kExternalCorrelation) {
    const auto own = Read<ExternalCorrelationRecord>(record);
    return log.AddExternal(own.correlation_id, own.external_id);
  }
  if (kind == RecordKind::kMarker) {
    const auto own = Read<MarkerRecord>(record);
    const bool begins = (own.flags & kRangeBegins) != 0;
    if (!begins && (own.flags & kRangeEnds) == 0) return;  // a moment
    if (!log.HasRoomFor(Work::kRange)) return;
    log.ranges.push_back({own.timestamp, own.id, own.thread_id, begins,
                          begins && own.name != nullptr ? text_at(own.name) : std::string()});
    return;
  }
  const std::optional<Work> work = WorkOf(kind);
  if (!work) {
    ++log.unknown[std::to_underlying(kind)];
  } else if (log.HasRoomFor(*work)) {
    log.activities.push_back(ActivityOf(kind, record, text_at));
  }
}

Status DecodeBuffer(std::span<const std::byte> buffer, uint32_t version, const TextAt& text_at,
                    ActivityLog& log) {
  if (!IsKnownVersion(version) || version < kCuda12Sizes) {
    return InputError(
        fmt::format("the sizes of records of CUPTI's version {} are not known", version),
        "record with CUDA 12.8 or newer");
  }
  size_t at = 0;
  while (at < buffer.size()) {
    if (buffer.size() - at < sizeof(RecordKind)) {
      return InputError(fmt::format("a record is cut off at byte {}", at));
    }
    const auto kind = Read<RecordKind>(&buffer[at]);
    const size_t size = SizeOf(kind, version);
    if (size == 0) {
      return InputError(
          fmt::format("a record of unknown kind {} at byte {}", std::to_underlying(kind), at));
    }
    if (buffer.size() - at < size) {
      return InputError(fmt::format("a record is cut off at byte {}", at));
    }
    DecodeRecord(&buffer[at], text_at, log);
    at += size;
  }
  return {};
}

}  // namespace hloscope::profiler::cupti
