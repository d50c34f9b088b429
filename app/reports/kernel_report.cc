#include "app/reports/kernel_report.h"

namespace hloscope::app {
namespace {

void WriteExtent(std::string_view key, const std::optional<dump::Extent3>& extent,
                 JsonWriter& json) {
  json.Key(key);
  if (!extent) {
    json.Null();
    return;
  }
  json.BeginArray();
  for (const int64_t n : *extent) json.Value(n);
  json.EndArray();
}

}  // namespace

void WriteLaunch(const dump::Kernel& kernel, JsonWriter& json) {
  json.Key("launch");
  if (!kernel.launch.known()) {
    json.Null();
  } else {
    json.BeginObject();
    WriteExtent("blocks", kernel.launch.blocks, json);
    WriteExtent("threads", kernel.launch.threads, json);
    if (kernel.launch.cluster) WriteExtent("cluster", kernel.launch.cluster, json);
    json.EndObject();
  }
  if (!kernel.launch_source.empty()) json.Field("launch_source", kernel.launch_source);
  const auto optional = [&](std::string_view key, const auto& value) {
    if (value) json.Field(key, *value);
  };
  optional("max_threads", kernel.max_threads);
  optional("registers", kernel.registers);
  optional("shared_bytes", kernel.shared_bytes);
  optional("local_bytes", kernel.local_bytes);
}

}  // namespace hloscope::app
