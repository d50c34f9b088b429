// PluginProfiler: the profiler inside a plugin, through PJRT's extension of that name; XLA:GPU's
// records kernels with CUPTI and knows which instruction each is of.
#pragma once

#include <memory>
#include <string>

#include "core/backends/pjrt/api.h"
#include "core/base/result.h"

namespace hloscope::replay::pjrt {

struct ProfilerApi;
struct PluginSession;

// One at a time in a process, as the plugin has it.
class PluginProfiler {
 public:
  // Null where the plugin has no such extension. Environment error: it does not start.
  static bool IsIn(const Plugin& plugin);
  static Result<std::unique_ptr<PluginProfiler>> Start(const Plugin& plugin);
  ~PluginProfiler();
  PluginProfiler(const PluginProfiler&) = delete;
  PluginProfiler& operator=(const PluginProfiler&) = delete;

  // Ends it: the bytes of an XSpace.
  Result<std::string> Stop();

 private:
  PluginProfiler(const ProfilerApi& api, PluginSession* session) : api_(api), session_(session) {}

  const ProfilerApi& api_;
  PluginSession* session_;
};

}  // namespace hloscope::replay::pjrt
