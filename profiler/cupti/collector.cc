// CUPTI's callbacks have no argument of ours: the one collector of the process is found by itself.
#include "profiler/cupti/collector.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <shared_mutex>
#include <utility>

#include "core/base/counted.h"
#include "profiler/cupti/buffer_log.h"

namespace hloscope::profiler::cupti {
namespace {

constexpr uint32_t kExternalKind = 3;  // CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0
constexpr uint32_t kFlushForced = 1;   // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
constexpr int kNotSupported = 27, kInvalidKind = 21, kMaxLimit = 12;

// Callbacks share it, so that a launch which needs a buffer does not wait while another is decoded.
std::shared_mutex current_mutex;
Collector* current = nullptr;

// What this thread has pushed.
thread_local std::vector<uint64_t> pushed;

// What this thread captures: all that was pushed, and nodes that nothing was pushed for.
struct Capture {
  bool is_active = false;
  std::vector<uint64_t> order, nodes;
};
thread_local Capture capture;

}  // namespace

Result<std::unique_ptr<Collector>> Collector::Start(std::shared_ptr<const Library> library,
                                                    const CollectorOptions& options,
                                                    CuptiState* state) {
  std::unique_ptr<Collector> collector(new Collector(std::move(library), options));
  {
    const std::scoped_lock lock(current_mutex);
    if (current != nullptr) return InternalError("another collector of CUPTI records is active");
    current = collector.get();
  }
  const Status begun = collector->Begin();
  if (state != nullptr) *state = collector->state_;
  HLOSCOPE_TRY(begun);
  return collector;
}

Status Collector::Check(int result, std::string_view what) {
  if (result != 0) state_ = Library::StateOf(result);
  return library_->Check(result, what);
}

Status Collector::Begin() {
  // Whoever is attached has the only subscription.
  HLOSCOPE_TRY(Check(library_->subscribe(&subscriber_, &Called, this), "attaching to the process"));
  is_started_ = true;
  for (const uint32_t callback : {kGraphNodeCreated, kGraphNodeCloned}) {
    const int result = library_->enable_callback(1, subscriber_, kResourceDomain, callback);
    if (result == 0) continue;
    collected_.log.warnings.emplace_back(
        "this CUPTI does not report graph nodes: kernels launched from CUDA graphs cannot be "
        "attributed");
    break;
  }
  HLOSCOPE_TRY(Check(library_->activity_register_callbacks(&Requested, &Completed), "buffers"));
  std::vector<RecordKind> kinds = {RecordKind::kExternalCorrelation,
                                   RecordKind::kConcurrentKernel,
                                   RecordKind::kMemcpy,
                                   RecordKind::kMemcpyPeer,
                                   RecordKind::kMemset,
                                   RecordKind::kSynchronization,
                                   RecordKind::kOverhead};
  // Without calls of the driver nothing correlates launches with what was pushed.
  kinds.push_back(RecordKind::kDriver);
  if (options_.calls || options_.ranges) kinds.push_back(RecordKind::kRuntime);
  if (options_.ranges) kinds.push_back(RecordKind::kMarker);
  for (const RecordKind kind : kinds) {
    const int result = library_->activity_enable(std::to_underlying(kind));
    if (result == kNotSupported || result == kInvalidKind) {
      collected_.log.warnings.push_back(fmt::format(
          "this CUPTI does not record activities of kind {}", std::to_underlying(kind)));
      continue;
    }
    HLOSCOPE_TRY(Check(result, "recording activities"));
    enabled_.push_back(std::to_underlying(kind));
  }
  const auto steady = std::chrono::steady_clock::now().time_since_epoch();
  HLOSCOPE_TRY(Check(library_->get_timestamp(&collected_.origin_ns), "its clock"));
  collected_.steady_origin_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(steady).count();
  return {};
}

Result<std::unique_ptr<Collector>> Collector::Start(const std::vector<std::string>& files,
                                                    const CollectorOptions& options) {
  HLOSCOPE_ASSIGN_OR_RETURN(auto library, Library::Open(files));
  return Start(std::move(library), options);
}

Collector::~Collector() {
  End();
  const std::scoped_lock lock(current_mutex);
  if (current == this) current = nullptr;
}

void Collector::End() {
  if (!std::exchange(is_started_, false)) return;
  library_->activity_flush_all(kFlushForced);
  for (const uint32_t kind : enabled_) library_->activity_disable(kind);
  enabled_.clear();
  library_->unsubscribe(subscriber_);
}

void Collector::Push(uint64_t external) {
  pushed.push_back(external);
  if (capture.is_active) capture.order.push_back(external);
  library_->activity_push_external(kExternalKind, external);
}

void Collector::Pop() {
  uint64_t last = 0;
  if (!pushed.empty()) pushed.pop_back();
  library_->activity_pop_external(kExternalKind, &last);
}

void Collector::BeginCapture() { capture = {.is_active = true, .order = {}, .nodes = {}}; }

void Collector::EndCapture() {
  const Capture ended = std::exchange(capture, {});
  if (ended.nodes.empty()) return;
  const std::scoped_lock lock(mutex_, nodes_mutex_);
  if (ended.nodes.size() != ended.order.size()) {
    collected_.log.warnings.push_back(
        fmt::format("a CUDA graph of {} was made of {}: its kernels are attributed by name alone",
                    Counted(std::ssize(ended.nodes), "node"),
                    Counted(std::ssize(ended.order), "launch", "launches")));
    return;
  }
  for (size_t i = 0; i < ended.nodes.size(); ++i) nodes_[ended.nodes[i]] = ended.order[i];
}

uint64_t Collector::NodeNumber(void* graph_node) const {
  uint64_t number = 0;
  return library_->get_graph_node_id(graph_node, &number) == 0 ? number : 0;
}

void Collector::Called(void* collector, int domain, uint32_t callback, const void* parameters) {
  if (domain != kResourceDomain || parameters == nullptr) return;
  const void* const graph = static_cast<const ResourceCallback*>(parameters)->descriptor;
  const bool is_clone = callback == kGraphNodeCloned;
  if (graph == nullptr || (!is_clone && callback != kGraphNodeCreated)) return;
  static_cast<Collector*>(collector)->NodeMade(*static_cast<const GraphCallback*>(graph), is_clone);
}

void Collector::NodeMade(const GraphCallback& graph, bool is_clone) {
  const uint64_t number = NodeNumber(graph.node);
  const uint64_t original = is_clone ? NodeNumber(graph.original_node) : 0;
  if (number == 0) return;
  const std::scoped_lock lock(nodes_mutex_);
  if (!is_clone) {
    if (!pushed.empty()) {
      nodes_[number] = pushed.back();
    } else if (capture.is_active) {
      capture.nodes.push_back(number);
    }
  } else if (const auto found = nodes_.find(original); found != nodes_.end()) {
    nodes_[number] = found->second;
  }
}

Result<Collected> Collector::Stop() {
  HLOSCOPE_TRY(library_->Check(library_->activity_flush_all(kFlushForced), "its last records"));
  End();
  const std::scoped_lock lock(mutex_, nodes_mutex_);
  collected_.log.awaited = awaited_;
  collected_.log.nodes = std::move(nodes_);
  return std::move(collected_);
}

void Collector::Requested(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *most_records = 0;  // as many as fit
  *bytes = 0;
  const std::shared_lock lock(current_mutex);
  const size_t wanted = current == nullptr ? 0 : current->options_.buffer_bytes;
  // CUPTI asks for multiples of 8, which is what malloc gives.
  *buffer = wanted == 0 ? nullptr : static_cast<uint8_t*>(std::malloc(wanted));
  if (*buffer != nullptr) {
    *bytes = wanted;
  }
}

void Collector::Completed(void* context, uint32_t stream, uint8_t* buffer, size_t,
                          size_t valid_bytes) {
  {
    const std::shared_lock lock(current_mutex);
    if (current != nullptr && buffer != nullptr) {
      current->Take(context, stream, buffer, valid_bytes);
    }
  }
  std::free(buffer);
}

// CUPTI is asked under no lock of ours: it may hold its own while it calls back.
void Collector::Take(void* context, uint32_t stream, uint8_t* buffer, size_t valid_bytes) {
  std::vector<const void*> records;
  void* record = nullptr;
  int result = valid_bytes > 0 ? 0 : kMaxLimit;  // kMaxLimit: the end of the buffer
  while (result == 0) {
    result = library_->activity_get_next_record(buffer, valid_bytes, &record);
    if (result == 0) records.push_back(record);
  }
  const Status read = library_->Check(result == kMaxLimit ? 0 : result, "reading records");
  size_t dropped = 0;
  const bool counts_dropped =
      library_->activity_get_num_dropped_records(context, stream, &dropped) == 0;

  RecordedTexts texts;
  TextAt text_at = &TextHere;
  if (LogsBuffers()) {
    text_at = [&](const char* address) {
      return texts[reinterpret_cast<uintptr_t>(address)] = TextHere(address);
    };
  }

  const std::scoped_lock lock(mutex_);
  ActivityLog& log = collected_.log;
  for (const void* const one : records) DecodeRecord(one, text_at, log);
  if (LogsBuffers()) {
    AppendBuffer(library_->version(), std::as_bytes(std::span(buffer, valid_bytes)), texts);
  }
  if (!read) log.warnings.push_back(read.error().message);
  if (counts_dropped) log.dropped += static_cast<int64_t>(dropped);
}

}  // namespace hloscope::profiler::cupti
