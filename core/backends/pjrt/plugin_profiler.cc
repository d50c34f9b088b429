// PluginProfiler: create, start, stop, collect.
#include "core/backends/pjrt/plugin_profiler.h"

#include <algorithm>
#include <utility>

#include "core/backends/pjrt/profiler_api.h"
#include "core/hlo/proto/wire_writer.h"

namespace hloscope::replay::pjrt {
namespace {

// tensorflow.ProfileOptions by field number: host events of level 2, the devices, modules as
// protos; no Python.
std::string Options() {
  constexpr int64_t kVersion = 1, kHostLevel = 2, kDevices = 1;
  hlo::WireWriter options;
  options.Int(2, kHostLevel);
  options.Int(3, kDevices);
  options.Int(4, 0);
  options.Int(5, kVersion);
  options.Bool(7, true);
  return std::move(options).Take();
}

Status Check(const ProfilerApi& api, ProfilerError* error) {
  if (error == nullptr) return {};
  ProfilerErrorArgs args{kProfilerErrorMessageSize, nullptr, error, nullptr, 0};
  api.error_message(&args);
  std::string message = "the plugin's profiler: ";
  message += args.message == nullptr ? std::string_view("no reason given")
                                     : std::string_view(args.message, args.message_size);
  ProfilerErrorArgs gone{kProfilerErrorDestroySize, nullptr, error, nullptr, 0};
  api.error_destroy(&gone);
  return EnvironmentError(std::move(message),
                          "`hloscope doctor` says whether profiling is permitted");
}

ProfilerSessionArgs Session(PluginSession* session) {
  return {sizeof(ProfilerSessionArgs), session};
}

}  // namespace

bool PluginProfiler::IsIn(const Plugin& plugin) {
  const auto& all = plugin.extensions();
  const auto found = std::ranges::find(all, kProfilerExtension, &Extension::type);
  constexpr size_t kMin = offsetof(ProfilerExtension, trace_context);
  return found != all.end() && found->size >= kMin;
}

Result<std::unique_ptr<PluginProfiler>> PluginProfiler::Start(const Plugin& plugin) {
  if (!IsIn(plugin)) return nullptr;
  const auto found = std::ranges::find(plugin.extensions(), kProfilerExtension, &Extension::type);
  const auto& extension = *reinterpret_cast<const ProfilerExtension*>(found->head);
  if (extension.api == nullptr || extension.api->struct_size < sizeof(ProfilerApi)) return nullptr;
  const ProfilerApi& api = *extension.api;
  const std::string options = Options();
  ProfilerCreateArgs create{sizeof(ProfilerCreateArgs), options.data(), options.size(), nullptr};
  HLOSCOPE_TRY(Check(api, api.create(&create)));
  std::unique_ptr<PluginProfiler> profiler(new PluginProfiler(api, create.session));
  ProfilerSessionArgs start = Session(create.session);
  HLOSCOPE_TRY(Check(api, api.start(&start)));
  return profiler;
}

PluginProfiler::~PluginProfiler() {
  ProfilerSessionArgs args = Session(session_);
  static_cast<void>(Check(api_, api_.destroy(&args)));
}

Result<std::string> PluginProfiler::Stop() {
  ProfilerSessionArgs stop = Session(session_);
  HLOSCOPE_TRY(Check(api_, api_.stop(&stop)));
  ProfilerCollectArgs collect{sizeof(ProfilerCollectArgs), session_, nullptr, 0};
  HLOSCOPE_TRY(Check(api_, api_.collect(&collect)));
  std::string bytes(collect.buffer_size, '\0');
  collect.buffer = reinterpret_cast<uint8_t*>(bytes.data());
  HLOSCOPE_TRY(Check(api_, api_.collect(&collect)));
  bytes.resize(std::min(bytes.size(), collect.buffer_size));
  return bytes;
}

}  // namespace hloscope::replay::pjrt
