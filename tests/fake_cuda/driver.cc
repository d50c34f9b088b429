// The functions of the CUDA driver. One call at a time; work is done when somebody waits for it,
// and what goes wrong in it is said by the next call that could know.
#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <chrono>
#include <span>
#include <thread>

#include "tests/fake_cuda/calls.h"
#include "tests/fake_cuda/conditions.h"
#include "tests/fake_cuda/queues.h"
#include "tests/fake_cuda/state.h"

namespace fake_cuda {
namespace {

// A stream that was handed out; null: there is none.
CUstream_st* Known(State& state, CUstream_st* stream) {
  return state.streams.contains(stream) ? stream : nullptr;
}

bool IsBusy(State& state, int device) {
  return state.ContextOf(device).lost == 0 &&
         std::ranges::any_of(state.streams, [&](const auto& each) {
           return !each.second->queue.empty() && device == each.second->device;
         });
}
// Whether a copy still has to read or write it.
bool IsCopied(State& state, const void* pinned) {
  const auto found = state.pinned.find(pinned);
  if (found == state.pinned.end()) return false;
  const std::byte* const begin = found->second.data();
  return std::ranges::any_of(state.streams, [&](const auto& each) {
    return state.ContextOf(each.second->device).lost == 0 &&
           std::ranges::any_of(each.second->queue, [&](const auto& queued) {
             return queued->host >= begin && queued->host < begin + found->second.size();
           });
  });
}
// CUDA promises nothing to who gives back what its device still works with.
int InUse(const char* function) {
  fmt::print(stderr, "made-up driver: {} while the device works\n", function);
  return kInvalidValue;
}

template <typename T>
int GiveBack(std::map<const void*, std::unique_ptr<T>>& all, const void* handle) {
  return all.erase(handle) == 1 ? 0 : kInvalidHandle;
}

// `wait` does what the host waits for. Null: not for a stream.
template <typename Body>
int Wait(State& state, CUstream_st* stream, const Body& wait) {
  CUctx_st& context = stream == nullptr ? *current : state.ContextOf(stream->device);
  if (stream != nullptr && stream->capture != nullptr) {
    stream->capture_failed = true;
    return kCaptureUnsupported;
  }
  FakeCudaActivity activity{};
  activity.kind = kFakeCudaSynchronization;
  activity.start_ns = Now();
  wait();
  activity.end_ns = Now();
  activity.correlation = state.correlation;
  activity.device = static_cast<uint32_t>(context.device);
  activity.stream = stream == nullptr ? 0 : stream->number;
  state.Tell(activity);
  return context.lost;
}

// `to` and `from` of a copy: an address of the device, or bytes of the host.
struct End {
  uint64_t device = 0;
  std::byte* host = nullptr;
  int other = State::kAnyDevice;  // whose memory it is, where not that of the stream

  std::byte* Bytes(State& state, size_t size, int of) const {
    if (host != nullptr) return host;
    const auto memory = state.At(device, other == State::kAnyDevice ? of : other);
    return memory.size() < size ? nullptr : memory.data();
  }
};

int Copy(State& state, FakeCudaKind kind, End to, End from, size_t size, CUstream_st* stream) {
  if (Known(state, stream) == nullptr) return kInvalidHandle;
  const int device = stream->device;
  if (to.Bytes(state, size, device) == nullptr || from.Bytes(state, size, device) == nullptr) {
    return kInvalidValue;
  }
  const uint32_t number = stream->number;
  // Memory of the host that is not pinned is read at once, and has been written when the call ends.
  const bool is_read = from.host != nullptr && !state.IsPinned(from.host, size);
  const bool is_written = to.host != nullptr && !state.IsPinned(to.host, size);
  std::shared_ptr<std::vector<std::byte>> read;
  if (is_read) read = std::make_shared<std::vector<std::byte>>(from.host, from.host + size);
  const auto copy = [=](uint32_t correlation, uint32_t graph, uint64_t node) {
    State& now = State::Get();
    std::byte* const there = to.Bytes(now, size, device);
    const std::byte* const here = read != nullptr ? read->data() : from.Bytes(now, size, device);
    if (there == nullptr || here == nullptr) return kIllegalAddress;
    FakeCudaActivity activity{};
    activity.kind = kind;
    activity.device = static_cast<uint32_t>(device);
    activity.start_ns = Now();
    memmove(there, here, size);
    activity.end_ns = Now();
    activity.correlation = correlation;
    activity.stream = number;
    activity.graph = graph;
    activity.graph_node = node;
    activity.bytes = size;
    activity.from_device = static_cast<uint32_t>(std::max(from.other, 0));
    activity.to_device = static_cast<uint32_t>(std::max(to.other, 0));
    now.Tell(activity);
    return 0;
  };
  Append(state, {stream}, copy, to.host != nullptr ? to.host : from.host);
  if (is_written && stream->capture == nullptr) Finish(state, *stream);
  return 0;
}

int Set(State& state, uint64_t to, std::vector<std::byte> bytes, CUstream_st* stream) {
  if (Known(state, stream) == nullptr) return kInvalidHandle;
  const int device = stream->device;
  if (state.At(to, device).size() < bytes.size()) return kInvalidValue;
  const uint32_t number = stream->number;
  Append(state, {stream}, [=](uint32_t correlation, uint32_t graph, uint64_t node) {
    State& now = State::Get();
    FakeCudaActivity activity{};
    activity.kind = kFakeCudaMemset;
    activity.device = static_cast<uint32_t>(device);
    activity.start_ns = Now();
    memcpy(now.At(to, device).data(), bytes.data(), bytes.size());
    activity.end_ns = Now();
    activity.correlation = correlation;
    activity.stream = number;
    activity.graph = graph;
    activity.graph_node = node;
    activity.bytes = bytes.size();
    now.Tell(activity);
    return 0;
  });
  return 0;
}

// What the driver's compiler would say of it.
void Log(const std::string& text, unsigned count, const int* options, void** values) {
  char* to = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == 5) to = static_cast<char*>(values[i]);
    if (options[i] == 6) size = reinterpret_cast<size_t>(values[i]);
  }
  if (to == nullptr || size == 0) return;
  strncpy(to, text.c_str(), size - 1);
  to[size - 1] = '\0';
}

constexpr struct {
  int number;
  const char* name;
} kNames[] = {
    {1, "CUDA_ERROR_INVALID_VALUE"},   {2, "CUDA_ERROR_OUT_OF_MEMORY"},
    {100, "CUDA_ERROR_NO_DEVICE"},     {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {719, "CUDA_ERROR_LAUNCH_FAILED"}, {999, "CUDA_ERROR_UNKNOWN"},
};

}  // namespace
}  // namespace fake_cuda

using fake_cuda::Append;
using fake_cuda::Copy;
using fake_cuda::Do;
using fake_cuda::Finish;
using fake_cuda::Keep;
using fake_cuda::Now;
using fake_cuda::Set;
using fake_cuda::State;

extern "C" {

// CUDA_MEMCPY2D.
struct RowsEnd {
  size_t x, y;
  int type;
  const void* host;
  uint64_t device;
  void* array;
  size_t pitch;
};
struct Rows {
  RowsEnd from, to;
  size_t width, height;
};

int cuInit(unsigned) {
  return Do("cuInit", false, nullptr, [](State& state) {
    if (const auto number = state.faults.Property("signal", 0); number != 0) {
      raise(static_cast<int>(number));
    }
    state.has_started = true;
    return 0;
  });
}
int cuDriverGetVersion(int* version) {
  return Do("cuDriverGetVersion", false, nullptr, [&](State& state) {
    *version = static_cast<int>(state.faults.Property("version", 13000));
    return 0;
  });
}
int cuGetErrorName(int error, const char** name) {
  *name = nullptr;
  for (const auto& [number, text] : fake_cuda::kNames) {
    if (number == error) *name = text;
  }
  return *name == nullptr ? fake_cuda::kInvalidValue : 0;
}
int cuDeviceGetCount(int* count) {
  return Do("cuDeviceGetCount", false, nullptr, [&](State& state) {
    *count = static_cast<int>(state.devices());
    return 0;
  });
}
int cuDeviceGet(int* device, int ordinal) {
  return Do("cuDeviceGet", false, nullptr, [&](State& state) {
    *device = ordinal;
    return ordinal < state.devices() ? 0 : fake_cuda::kInvalidDevice;
  });
}
int cuDeviceGetName(char* name, int size, int) {
  return Do("cuDeviceGetName", false, nullptr, [&](State&) {
    strncpy(name, "Made-up GPU", static_cast<size_t>(size));
    return 0;
  });
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  return Do("cuDeviceGetAttribute", false, nullptr, [&](State& state) {
    const int64_t capability = state.faults.Property(fmt::format("capability@{}", device),
                                                     state.faults.Property("capability", 90));
    switch (attribute) {
      case 1:  // threads of a block
      case 2:  // of its x
        *value = 1024;
        return 0;
      case 10:  // lanes
        *value = 32;
        return 0;
      case 16:  // multiprocessors
        *value = 132;
        return 0;
      case 75:
        *value = static_cast<int>(capability / 10);
        return 0;
      case 76:
        *value = static_cast<int>(capability % 10);
        return 0;
      default:
        *value = 0;
        return 0;
    }
  });
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
  return Do("cuDeviceTotalMem", false, nullptr, [&](State& state) {
    *bytes = static_cast<size_t>(state.TotalMemory());
    return 0;
  });
}

int cuDevicePrimaryCtxRetain(CUctx_st** context, int device) {
  return Do("cuDevicePrimaryCtxRetain", false, nullptr, [&](State& state) {
    if (device < 0 || device >= state.devices()) return fake_cuda::kInvalidDevice;
    CUctx_st& own = state.ContextOf(device);
    own.device = device;
    if (own.lost != 0) return own.lost;
    *context = &own;
    ++own.retained;
    return 0;
  });
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  return Do("cuDevicePrimaryCtxRelease", false, nullptr, [&](State& state) {
    if (device < 0 || device >= fake_cuda::kMaxDevices) return fake_cuda::kInvalidDevice;
    CUctx_st& own = state.ContextOf(device);
    if (own.retained == 0) return fake_cuda::kInvalidContext;
    if (--own.retained == 0) Finish(state, device);
    return 0;
  });
}
int cuCtxSetCurrent(CUctx_st* context) {
  return Do("cuCtxSetCurrent", false, nullptr, [&](State&) {
    if (context != nullptr && context->retained == 0) return fake_cuda::kInvalidContext;
    fake_cuda::current = context;
    return context == nullptr ? 0 : context->lost;
  });
}
int cuCtxGetCurrent(CUctx_st** context) {
  return Do("cuCtxGetCurrent", false, nullptr, [&](State&) {
    *context = fake_cuda::current;
    return 0;
  });
}
int cuCtxGetDevice(int* device) {
  return Do("cuCtxGetDevice", [&](State&) {
    *device = fake_cuda::current->device;
    return 0;
  });
}
int cuCtxSynchronize() {
  return Do("cuCtxSynchronize", [](State& state) {
    return fake_cuda::Wait(state, nullptr, [&] { Finish(state, fake_cuda::current->device); });
  });
}

int cuModuleLoadDataEx(CUmod_st** module, const void* image, unsigned count, int* options,
                       void** values) {
  return Do("cuModuleLoadDataEx", [&](State& state) {
    if (state.IsTooNew(static_cast<const char*>(image))) return 222;
    auto parsed = hloscope::ptx::Module::Parse(
        fake_cuda::WithConditions(static_cast<const char*>(image)), "our.ptx");
    if (!parsed.has_value()) {
      fake_cuda::Log(parsed.error().ToString(), count, options, values);
      return fake_cuda::kInvalidPtx;
    }
    const int device = fake_cuda::current->device;
    if (hloscope::ptx::SmOf(parsed->target()) >
        state.faults.Property(fmt::format("capability@{}", device),
                              state.faults.Property("capability", 90))) {
      return 209;
    }
    *module = Keep(state.modules, std::make_unique<CUmod_st>(CUmod_st{device, *std::move(parsed)}));
    return 0;
  });
}

// CU_JIT_GENERATE_LINE_INFO
static constexpr int kLineInfo = 13;
int cuLinkCreate_v2(unsigned count, int* options, void** values, CUlinkState_st** link) {
  return Do("cuLinkCreate", [&](State& state) {
    auto made = std::make_unique<CUlinkState_st>();
    made->options.assign(options, options + count);
    made->values.assign(values, values + count);
    for (unsigned i = 0; i < count; ++i)
      made->has_lines |= options[i] == kLineInfo && values[i] != nullptr;
    *link = Keep(state.links, std::move(made));
    return 0;
  });
}
int cuLinkAddData_v2(CUlinkState_st* link, int type, void* data, size_t size, const char*, unsigned,
                     int*, void**) {
  return Do("cuLinkAddData", [&](State& state) {
    if (!state.links.contains(link)) return fake_cuda::kInvalidHandle;
    const auto* const text = static_cast<const char*>(data);
    if (type != 1 || size == 0 || text[size - 1] != '\0') return fake_cuda::kInvalidValue;
    if (state.IsTooNew(text)) return 222;
    const auto parsed = hloscope::ptx::Module::Parse(text, "our.ptx");
    if (!parsed.has_value()) {
      fake_cuda::Log(parsed.error().ToString(), static_cast<unsigned>(link->options.size()),
                     link->options.data(), link->values.data());
      return fake_cuda::kInvalidPtx;
    }
    link->text = text;
    return 0;
  });
}
// Without line information nothing is left of `.loc`.
int cuLinkComplete(CUlinkState_st* link, void** cubin, size_t* size) {
  return Do("cuLinkComplete", [&](State& state) {
    if (!state.links.contains(link) || link->text.empty()) return fake_cuda::kInvalidHandle;
    for (size_t at = 0;
         !link->has_lines && (at = link->text.find(".loc", at)) != std::string::npos;) {
      link->text.replace(at, 2, "//");
    }
    *cubin = link->text.data();
    *size = link->text.size() + 1;
    return 0;
  });
}
int cuLinkDestroy(CUlinkState_st* link) {
  return Do("cuLinkDestroy", false, nullptr,
            [&](State& state) { return fake_cuda::GiveBack(state.links, link); });
}

int cuModuleUnload(CUmod_st* module) {
  return Do("cuModuleUnload", false, nullptr, [&](State& state) {
    if (!state.modules.contains(module)) return fake_cuda::kInvalidHandle;
    if (fake_cuda::IsBusy(state, module->device)) return fake_cuda::InUse("cuModuleUnload");
    std::erase_if(state.functions, [&](const auto& each) { return each.second->module == module; });
    return fake_cuda::GiveBack(state.modules, module);
  });
}
int cuModuleGetFunction(CUfunc_st** function, CUmod_st* module, const char* name) {
  return Do("cuModuleGetFunction", [&](State& state) {
    if (!state.modules.contains(module)) return fake_cuda::kInvalidHandle;
    for (const hloscope::ptx::EntryInfo& entry : module->code.entries()) {
      if (entry.name != name) continue;
      *function = Keep(state.functions, std::make_unique<CUfunc_st>(CUfunc_st{module, &entry}));
      return 0;
    }
    return fake_cuda::kNotFound;
  });
}

int cuMemGetInfo_v2(size_t* free, size_t* total) {
  return Do("cuMemGetInfo", [&](State& state) {
    *total = static_cast<size_t>(state.TotalMemory());
    *free = static_cast<size_t>(state.TotalMemory() - state.UsedMemory(fake_cuda::current->device));
    return 0;
  });
}
int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  return Do("cuMemAlloc", [&](State& state) {
    if (bytes == 0) return fake_cuda::kInvalidValue;
    const int device = fake_cuda::current->device;
    if (state.UsedMemory(device) + static_cast<int64_t>(bytes) > state.TotalMemory()) {
      return fake_cuda::kOutOfMemory;
    }
    *address = state.next_address;
    state.next_address += (bytes + 4095) / 4096 * 4096 + 4096;
    state.memory[*address] = {device, std::vector<std::byte>(bytes, std::byte{0xa5})};
    return 0;
  });
}
int cuMemFree_v2(uint64_t address) {
  return Do("cuMemFree", false, nullptr, [&](State& state) {
    const auto found = state.memory.find(address);
    if (found == state.memory.end()) return fake_cuda::kInvalidValue;
    const int device = found->second.device;
    Finish(state, device);  // CUDA waits too
    state.memory.erase(found);
    return state.ContextOf(device).lost;
  });
}
int cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  return Do("cuMemHostAlloc", [&](State& state) {
    std::vector<std::byte> made(std::max<size_t>(bytes, 1), std::byte{0xa5});
    *memory = made.data();
    state.pinned[*memory] = std::move(made);
    return 0;
  });
}
int cuMemFreeHost(void* memory) {
  return Do("cuMemFreeHost", false, nullptr, [&](State& state) {
    if (fake_cuda::IsCopied(state, memory)) return fake_cuda::InUse("cuMemFreeHost");
    return state.pinned.erase(memory) == 1 ? 0 : fake_cuda::kInvalidValue;
  });
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, CUstream_st* stream) {
  return Do("cuMemcpyHtoDAsync", [&](State& state) {
    std::byte* const host = static_cast<std::byte*>(const_cast<void*>(from));
    return Copy(state, kFakeCudaToDevice, {to}, {0, host}, bytes, stream);
  });
}
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, CUstream_st* stream) {
  return Do("cuMemcpyDtoHAsync", [&](State& state) {
    return Copy(state, kFakeCudaToHost, {0, static_cast<std::byte*>(to)}, {from}, bytes, stream);
  });
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, CUstream_st* stream) {
  return Do("cuMemcpyDtoDAsync", [&](State& state) {
    return Copy(state, kFakeCudaOnDevice, {to}, {from}, bytes, stream);
  });
}
int cuMemcpyPeerAsync(uint64_t to, CUctx_st* to_context, uint64_t from, CUctx_st* from_context,
                      size_t bytes, CUstream_st* stream) {
  return Do("cuMemcpyPeerAsync", [&](State& state) {
    if (to_context == nullptr || from_context == nullptr || to_context->retained == 0 ||
        from_context->retained == 0) {
      return fake_cuda::kInvalidContext;
    }
    return Copy(state, kFakeCudaBetween, {to, nullptr, to_context->device},
                {from, nullptr, from_context->device}, bytes, stream);
  });
}
int cuMemcpy2DAsync_v2(const Rows* copy, CUstream_st* stream) {
  return Do("cuMemcpy2DAsync", [&](State& state) {
    const Rows rows = *copy;
    for (const RowsEnd& end : {rows.from, rows.to}) {
      if (end.x != 0 || end.y != 0 || end.type != 2 || end.array != nullptr ||
          end.pitch < rows.width || end.pitch > 0x7fffffff || rows.width == 0) {
        return fake_cuda::kInvalidValue;
      }
    }
    for (size_t row = 0; row < rows.height; ++row) {
      const int result = Copy(state, kFakeCudaOnDevice, {rows.to.device + row * rows.to.pitch},
                              {rows.from.device + row * rows.from.pitch}, rows.width, stream);
      if (result != 0) return result;
    }
    return 0;
  });
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, CUstream_st* stream) {
  return Do("cuMemsetD8Async", [&](State& state) {
    return Set(state, to, std::vector<std::byte>(bytes, std::byte{value}), stream);
  });
}
int cuMemsetD32Async(uint64_t to, unsigned value, size_t words, CUstream_st* stream) {
  return Do("cuMemsetD32Async", [&](State& state) {
    std::vector<std::byte> bytes(words * sizeof value);
    for (size_t i = 0; i < words; ++i) memcpy(&bytes[i * sizeof value], &value, sizeof value);
    return to % sizeof value != 0 ? fake_cuda::kInvalidValue
                                  : Set(state, to, std::move(bytes), stream);
  });
}

int cuStreamCreate(CUstream_st** stream, unsigned) {
  return Do("cuStreamCreate", [&](State& state) {
    *stream = Keep(state.streams, std::make_unique<CUstream_st>(CUstream_st{
                                      state.next_stream++, fake_cuda::current->device}));
    return 0;
  });
}
int cuStreamDestroy_v2(CUstream_st* stream) {
  return Do("cuStreamDestroy", false, nullptr, [&](State& state) {
    if (fake_cuda::Known(state, stream) == nullptr) return fake_cuda::kInvalidHandle;
    if (stream->capture != nullptr) state.graphs.erase(stream->capture);
    Finish(state, *stream);
    const int device = stream->device;
    state.streams.erase(stream);
    return state.ContextOf(device).lost;
  });
}
int cuStreamSynchronize(CUstream_st* stream) {
  return Do("cuStreamSynchronize", [&](State& state) {
    if (fake_cuda::Known(state, stream) == nullptr) return fake_cuda::kInvalidHandle;
    return fake_cuda::Wait(state, stream, [&] { Finish(state, *stream); });
  });
}
int cuStreamQuery(CUstream_st* stream) {
  return Do("cuStreamQuery", [&](State& state) {
    if (fake_cuda::Known(state, stream) == nullptr) return fake_cuda::kInvalidHandle;
    if (!stream->queue.empty()) Step(state, *stream);
    const int lost = state.ContextOf(stream->device).lost;
    return lost != 0 ? lost : stream->queue.empty() ? 0 : fake_cuda::kNotReady;
  });
}
int cuStreamWaitEvent(CUstream_st* stream, CUevent_st* event, unsigned flags) {
  return Do("cuStreamWaitEvent", [&](State& state) {
    if (!state.events.contains(event) || fake_cuda::Known(state, stream) == nullptr) {
      return fake_cuda::kInvalidHandle;
    }
    if (flags != 0 || stream->device != fake_cuda::current->device) return fake_cuda::kInvalidValue;
    fake_cuda::AppendWait(*stream, event->recorded);
    return 0;
  });
}
int cuStreamBeginCapture_v2(CUstream_st* stream, int) {
  return Do("cuStreamBeginCapture", [&](State& state) {
    if (!state.streams.contains(stream) || stream->capture != nullptr) {
      return fake_cuda::kInvalidValue;
    }
    stream->capture =
        Keep(state.graphs, std::make_unique<CUgraph_st>(CUgraph_st{stream->device, {}}));
    stream->capture_failed = false;
    return 0;
  });
}
int cuStreamEndCapture(CUstream_st* stream, CUgraph_st** graph) {
  const int result = Do("cuStreamEndCapture", [&](State& state) {
    if (!state.streams.contains(stream) || stream->capture == nullptr) {
      return fake_cuda::kInvalidValue;
    }
    *graph = std::exchange(stream->capture, nullptr);
    if (!stream->capture_failed) {
      for (GraphNode& node : (*graph)->nodes) {
        if (node.number == 0) node.number = state.NewNode(0);
      }
      return 0;
    }
    state.graphs.erase(std::exchange(*graph, nullptr));
    return fake_cuda::kCaptureInvalidated;
  });
  State& state = State::Get();
  const std::lock_guard lock(state.mutex);
  // However it ends, nothing is recorded any more.
  if (result != 0 && state.streams.contains(stream) && stream->capture != nullptr) {
    state.graphs.erase(std::exchange(stream->capture, nullptr));
  }
  return result;
}

int cuEventCreate(CUevent_st** event, unsigned) {
  return Do("cuEventCreate", [&](State& state) {
    *event =
        Keep(state.events, std::make_unique<CUevent_st>(CUevent_st{fake_cuda::current->device}));
    return 0;
  });
}
int cuEventDestroy_v2(CUevent_st* event) {
  return Do("cuEventDestroy", false, nullptr, [&](State& state) {
    if (!state.events.contains(event)) return fake_cuda::kInvalidHandle;
    const int device = event->device;
    state.events.erase(event);
    return state.ContextOf(device).lost;
  });
}
int cuEventRecord(CUevent_st* event, CUstream_st* stream) {
  return Do("cuEventRecord", [&](State& state) {
    if (!state.events.contains(event) || fake_cuda::Known(state, stream) == nullptr ||
        stream->device != event->device)
      return fake_cuda::kInvalidHandle;
    fake_cuda::AppendMark(state, *stream, *event);
    return 0;
  });
}
int cuEventSynchronize(CUevent_st* event) {
  return Do("cuEventSynchronize", [&](State& state) {
    if (!state.events.contains(event)) return fake_cuda::kInvalidHandle;
    return fake_cuda::Wait(state, nullptr, [&] { Finish(state, *event); });
  });
}
int cuEventElapsedTime(float* milliseconds, CUevent_st* from, CUevent_st* to) {
  return Do("cuEventElapsedTime", [&](State& state) {
    if (!state.events.contains(from) || !state.events.contains(to) || to->device != from->device ||
        from->time_ns == nullptr || to->time_ns == nullptr) {
      return fake_cuda::kInvalidHandle;
    }
    for (const CUevent_st* event : {from, to}) {
      if (event->recorded != nullptr && !event->recorded->is_done) return fake_cuda::kNotReady;
    }
    *milliseconds = static_cast<float>(*to->time_ns - *from->time_ns) / 1e6f;
    return 0;
  });
}

int cuLaunchKernel(CUfunc_st* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                   unsigned by, unsigned bz, unsigned shared, CUstream_st* stream,
                   void** parameters, void**) {
  const char* const kernel = function == nullptr ? nullptr : function->entry->name.c_str();
  return Do("cuLaunchKernel", true, kernel, [&](State& state) {
    if (!state.functions.contains(function) || fake_cuda::Known(state, stream) == nullptr ||
        function->module->device != stream->device ||
        stream->device != fake_cuda::current->device) {
      return fake_cuda::kInvalidHandle;
    }
    if (gx == 0 || gy == 0 || gz == 0 || bx == 0 || bx * by * bz > 1024 || gy > 65535 ||
        gz > 65535) {
      return fake_cuda::kInvalidValue;
    }
    std::vector<std::vector<std::byte>> bytes;
    for (size_t i = 0; i < function->entry->parameters.size(); ++i) {
      const auto* from = static_cast<const std::byte*>(parameters[i]);
      bytes.emplace_back(from, from + function->entry->parameters[i].bytes);
    }
    Append(state, {stream},
           fake_cuda::KernelWork(*function, {gx, gy, gz}, {bx, by, bz}, shared, std::move(bytes),
                                 *stream));
    return 0;
  });
}

int cuGraphInstantiateWithFlags(CUgraphExec_st** exec, CUgraph_st* graph, unsigned long long) {
  return Do("cuGraphInstantiate", [&](State& state) {
    if (!state.graphs.contains(graph)) return fake_cuda::kInvalidHandle;
    auto made = std::make_unique<CUgraphExec_st>(
        CUgraphExec_st{graph->device, graph->nodes, state.next_graph++});
    for (GraphNode& node : made->nodes) node.number = state.NewNode(node.number);
    *exec = Keep(state.graph_execs, std::move(made));
    return 0;
  });
}
int cuGraphDestroy(CUgraph_st* graph) {
  return Do("cuGraphDestroy", false, nullptr,
            [&](State& state) { return fake_cuda::GiveBack(state.graphs, graph); });
}
int cuGraphExecDestroy(CUgraphExec_st* exec) {
  return Do("cuGraphExecDestroy", false, nullptr, [&](State& state) {
    if (!state.graph_execs.contains(exec)) return fake_cuda::kInvalidHandle;
    if (fake_cuda::IsBusy(state, exec->device)) return fake_cuda::InUse("cuGraphExecDestroy");
    return fake_cuda::GiveBack(state.graph_execs, exec);
  });
}
int cuGraphLaunch(CUgraphExec_st* exec, CUstream_st* stream) {
  return Do("cuGraphLaunch", [&](State& state) {
    if (!state.graph_execs.contains(exec) || fake_cuda::Known(state, stream) == nullptr ||
        exec->device != stream->device) {
      return fake_cuda::kInvalidHandle;
    }
    Append(state, {stream}, [exec](uint32_t correlation, uint32_t, uint64_t) {
      for (const GraphNode& node : exec->nodes) {
        const int result = node.work(correlation, exec->number, node.number);
        if (result != 0) return result;
      }
      return 0;
    });
    return 0;
  });
}

void fake_cuda_listen(const FakeCudaListener* listener) {
  State& state = State::Get();
  const std::lock_guard lock(state.mutex);
  state.listener = listener == nullptr ? FakeCudaListener{} : *listener;
}
void fake_cuda_left(FakeCudaLeft* left) {
  State& state = State::Get();
  const std::lock_guard lock(state.mutex);
  const auto count = [](const auto& all) { return static_cast<int64_t>(all.size()); };
  int64_t contexts = 0;
  for (const CUctx_st& context : state.contexts) contexts += context.retained;
  *left = {count(state.memory),
           state.UsedMemory(State::kAnyDevice),
           count(state.pinned),
           count(state.modules),
           count(state.streams),
           count(state.events),
           count(state.graphs),
           count(state.graph_execs),
           contexts};
}
uint64_t fake_cuda_launches() { return State::Get().launches; }
int fake_cuda_submit(void* const* streams, size_t count, const char* name, void (*work)(void*),
                     void* data, void (*drop)(void*)) {
  const std::shared_ptr<void> kept(data, drop);
  std::vector<CUstream_st*> on;
  for (size_t i = 0; i < count; ++i) on.push_back(static_cast<CUstream_st*>(streams[i]));
  return Do("fake_cuda_submit", [&](State& state) {
    for (CUstream_st* const stream : on) {
      if (!state.streams.contains(stream)) return fake_cuda::kInvalidHandle;
    }
    Append(state, on, fake_cuda::LibraryWork(name, work, kept, *on[0]));
    return 0;
  });
}
void* fake_cuda_bytes(uint64_t address, size_t bytes) {
  State& state = State::Get();
  const std::lock_guard lock(state.mutex);
  const auto found = state.At(address, State::kAnyDevice);
  return found.size() < bytes ? nullptr : found.data();
}
int fake_cuda_stream_device(void* stream) {
  State& state = State::Get();
  const std::lock_guard lock(state.mutex);
  const auto found = state.streams.find(stream);
  return found == state.streams.end() ? -1 : found->second->device;
}
int fake_cuda_memory_device(uint64_t address) {
  State& state = State::Get();
  const std::lock_guard lock(state.mutex);
  for (int device = 0; device < fake_cuda::kMaxDevices; ++device) {
    if (!state.At(address, device).empty()) return device;
  }
  return -1;
}
void fake_cuda_restart() {
  State& state = State::Get();
  const std::lock_guard lock(state.mutex);
  state.faults = fake_cuda::Faults::FromEnvironment();
  for (CUctx_st& context : state.contexts) context.lost = 0;
  for (const auto& [handle, stream] : state.streams) fake_cuda::Drop(*stream);
  state.marks = 0;
}

}  // extern "C"
