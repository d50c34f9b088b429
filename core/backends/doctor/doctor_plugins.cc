// Asking a plugin in a child: what it speaks, and which devices it sees.
#include <fmt/format.h>

#include <span>

#include "core/backends/doctor/doctor_info.h"
#include "core/backends/pjrt/api.h"
#include "core/backends/pjrt/client.h"
#include "core/base/byte_archive.h"
#include "core/replay/workers/isolated_task.h"

namespace hloscope::replay {
namespace {

using pjrt::Block;

std::string PlainText(const Error& error) {
  return error.hint.empty() ? error.message : fmt::format("{} ({})", error.message, error.hint);
}

Result<std::string> KindOf(const pjrt::Plugin& plugin, pjrt::Device* device) {
  Block<pjrt::DeviceGetDescriptionArgs> description;
  description->device = device;
  HLOSCOPE_TRY(plugin.Call(description));
  Block<pjrt::DeviceDescriptionKindArgs> kind;
  kind->device_description = description->device_description;
  HLOSCOPE_TRY(plugin.Call(kind));
  return std::string(kind->device_kind, kind->device_kind_size);
}

Result<std::vector<std::string>> ListDevices(const std::string& path, bool is_gpu) {
  HLOSCOPE_ASSIGN_OR_RETURN(const std::shared_ptr<const pjrt::Plugin> plugin,
                            pjrt::OpenPlugin(path));
  const pjrt::NamedValue option = pjrt::NoPreallocation();
  Block<pjrt::ClientCreateArgs> client;
  client->create_options = &option;
  client->num_options = is_gpu ? 1 : 0;
  HLOSCOPE_TRY(plugin->Call(client));
  Block<pjrt::ClientAddressableDevicesArgs> devices;
  devices->client = client->client;
  HLOSCOPE_TRY(plugin->Call(devices));
  std::vector<std::string> kinds;
  for (size_t i = 0; i < devices->num_addressable_devices; ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(std::string kind, KindOf(*plugin, devices->addressable_devices[i]));
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

}  // namespace

// The task "plugin": loads the file that is the request.
Result<std::string> LoadPluginTask(std::string_view request) {
  HLOSCOPE_ASSIGN_OR_RETURN(const std::shared_ptr<const pjrt::Plugin> plugin,
                            pjrt::OpenPlugin(std::string(request)));
  ByteWriter out;
  out(int32_t{plugin->major_version()}, int32_t{plugin->minor_version()},
      plugin->HasExtension(pjrt::kProfilerExtension), plugin->attributes());
  return std::move(out).Take();
}

// The task "devices": the kind of every device of a plugin.
Result<std::string> ListDevicesTask(std::string_view request) {
  ByteReader in(std::as_bytes(std::span(request)));
  const std::string path = in.Get<std::string>();
  const bool is_gpu = in.Get<bool>();
  HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<std::string> kinds, ListDevices(path, is_gpu));
  ByteWriter out;
  out(kinds);
  return std::move(out).Take();
}

PluginInfo QueryPlugin(const PluginFile& file) {
  PluginInfo info;
  info.file = file;
  const Result<std::string> loaded = RunIsolatedTask({.name = "plugin", .bytes = file.path});
  if (!loaded.has_value()) {
    info.problem = PlainText(loaded.error());
    info.died = IsExecutionFailure(loaded.error().error_class);
    return info;
  }
  ByteReader in(std::as_bytes(std::span(*loaded)));
  in(info.major, info.minor, info.has_profiler, info.attributes);
  ByteWriter question;
  question(file.path, file.devices == Devices::kGpu);
  const Result<std::string> listed =
      RunIsolatedTask({.name = "devices", .bytes = std::move(question).Take()});
  if (!listed.has_value()) {
    info.device_problem = PlainText(listed.error());
    return info;
  }
  ByteReader kinds(std::as_bytes(std::span(*listed)));
  kinds(info.devices);
  return info;
}

}  // namespace hloscope::replay
