// The handler that plugins call, and where its calls go.
#include "core/backends/pjrt/ffi.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>

#include "core/backends/pjrt/ffi_api.h"

namespace hloscope::replay::pjrt {
namespace {

constexpr std::string_view kProgram = "program", kId = "id";
constexpr std::string_view kHost = "Host";

// The programs that run now.
struct Sinks {
  std::shared_mutex mutex;
  std::map<int64_t, CaptureSink*> by_program;
};
Sinks& AllSinks() {
  static Sinks sinks;
  return sinks;
}

std::optional<int64_t> NumberNamed(const ffi::Attributes& attributes, std::string_view name) {
  for (int64_t i = 0; i < attributes.size; ++i) {
    const ffi::Name& own = *attributes.names[i];
    if (std::string_view(own.data, own.size) != name) continue;
    if (attributes.types[i] != ffi::kScalarAttribute) return std::nullopt;
    const auto& scalar = *static_cast<const ffi::Scalar*>(attributes.values[i]);
    if (scalar.dtype != ffi::kS64) return std::nullopt;
    return *static_cast<const int64_t*>(scalar.value);
  }
  return std::nullopt;
}

Result<FfiCall> ReadCall(const ffi::CallFrame& frame) {
  const auto program = NumberNamed(frame.attributes, kProgram);
  const auto id = NumberNamed(frame.attributes, kId);
  if (!program || !id) return InternalError("a capturing call without its ids");
  FfiCall call{*program, *id, 0, {}};
  ffi::DeviceOrdinalGetArgs device{};
  device.header.struct_size = ffi::kDeviceOrdinalGetArgsSize;
  device.context = frame.context;
  if (frame.api->device_ordinal_get(&device) == nullptr) call.device = device.device_ordinal;
  for (int64_t i = 0; i < frame.arguments.size; ++i) {
    const ffi::Buffer& buffer = *frame.arguments.items[i];
    call.leaves.push_back({buffer.dtype,
                           {buffer.dims, static_cast<size_t>(std::max<int64_t>(buffer.rank, 0))},
                           static_cast<const std::byte*>(buffer.data)});
  }
  return call;
}

Status Dispatch(const ffi::CallFrame& frame) {
  HLOSCOPE_ASSIGN_OR_RETURN(const FfiCall call, ReadCall(frame));
  const std::shared_lock lock(AllSinks().mutex);
  const auto sink = AllSinks().by_program.find(call.program);
  if (sink == AllSinks().by_program.end()) return {};  // nobody listens: a run without captures
  return sink->second->Take(call);
}

void* ErrorOf(const ffi::CallFrame& frame, const std::string& message) {
  constexpr int32_t kInternal = 13;
  ffi::ErrorCreateArgs args{};
  args.header.struct_size = ffi::kErrorCreateArgsSize;
  args.message = message.c_str();
  args.code = kInternal;
  return frame.api->error_create(&args);
}

// What the plugin calls: when it is registered, to know which interface it speaks, then for every
// execution. Null is success.
extern "C" void* HandleCapture(ffi::CallFrame* frame) {
  constexpr int32_t kFfiMajor = 0, kFfiMinor = 1;
  if (frame == nullptr) return nullptr;
  if (frame->extension_start != nullptr &&
      frame->extension_start->type == ffi::kMetadataExtension) {
    ffi::Metadata* metadata = frame->extension_start->metadata;
    metadata->major = kFfiMajor;
    metadata->minor = kFfiMinor;
    metadata->traits = 0;
    return nullptr;
  }
  if (frame->stage != ffi::kExecuteStage) return nullptr;
  try {
    const Status taken = Dispatch(*frame);
    return taken.has_value() ? nullptr : ErrorOf(*frame, taken.error().message);
  } catch (const std::exception& error) {  // no memory: nothing may pass through the plugin
    return ErrorOf(*frame, error.what());
  }
}

}  // namespace

int64_t NewProgramNumber() {
  static std::atomic<int64_t> next = 1;
  return next++;
}

std::string CaptureConfig(int64_t program, int64_t id) {
  return fmt::format("{{{} = {} : i64, {} = {} : i64}}", kId, id, kProgram, program);
}

SinkScope::SinkScope(int64_t program, CaptureSink& sink) : program_(program) {
  const std::unique_lock lock(AllSinks().mutex);
  AllSinks().by_program[program] = &sink;
}

SinkScope::~SinkScope() {
  const std::unique_lock lock(AllSinks().mutex);
  AllSinks().by_program.erase(program_);
}

Status RegisterCapture(const Plugin& plugin) {
  static std::mutex mutex;
  static std::set<const Plugin*> known;
  const std::scoped_lock lock(mutex);
  if (known.contains(&plugin)) return {};
  const auto& all = plugin.extensions();
  const auto found = std::ranges::find(all, ffi::kExtensionType, &Extension::type);
  if (found == all.end() || found->size < sizeof(ffi::Extension)) {
    return UnsupportedError(
        fmt::format("{} cannot capture values inside a module: it has no FFI extension",
                    plugin.path()),
        "install a newer plugin");
  }
  const auto& extension = *reinterpret_cast<const ffi::Extension*>(found->head);
  ffi::RegisterHandlerArgs args{};
  args.struct_size = ffi::kRegisterHandlerArgsSize;
  args.target_name = kCaptureTarget.data();
  args.target_name_size = kCaptureTarget.size();
  args.handler = reinterpret_cast<void*>(&HandleCapture);
  args.platform_name = kHost.data();
  args.platform_name_size = kHost.size();
  if (PluginError* error = extension.register_handler(&args); error != nullptr) {
    Error refused = plugin.Explain(error);
    refused.error_class = ErrorClass::kUnsupported;
    refused.message = "the plugin takes no function to capture values with: " + refused.message;
    return std::unexpected(std::move(refused));
  }
  known.insert(&plugin);
  return {};
}

}  // namespace hloscope::replay::pjrt
