// Platforms by name, in this process or as a worker serves them.
#include "core/backends/make_platform.h"

#include <algorithm>
#include <iterator>

#include "core/replay/platform_table.h"
#include "core/replay/workers/worker_platform.h"

namespace hloscope::replay {

#define PLATFORM(name, make, devices, flags, summary) \
  std::unique_ptr<Platform> make(const PlatformRow& row, std::string_view name_asked_for);
#include "core/replay/platforms.def"
#undef PLATFORM

namespace {

struct Maker {
  std::string_view name;
  std::unique_ptr<Platform> (*make)(const PlatformRow& row, std::string_view name_asked_for);
};

constexpr Maker kMakers[] = {
#define PLATFORM(name, make, devices, flags, summary) {name, make},
#include "core/replay/platforms.def"
#undef PLATFORM
};

}  // namespace

Result<std::unique_ptr<Platform>> MakePlatform(std::string_view name) {
  HLOSCOPE_TRY(CheckPlatform(name));
  const PlatformRow& row = *FindPlatform(name);
  const auto maker = std::ranges::find(kMakers, row.name, &Maker::name);
  // pjrt:FILE.so is in no row of the table.
  return maker == std::end(kMakers) ? MakePluginPlatform(row, name) : maker->make(row, name);
}

Result<std::unique_ptr<Platform>> MakePlatform(std::string_view name,
                                               const std::shared_ptr<WorkerPool>& pool) {
  return pool == nullptr ? MakePlatform(name) : MakeWorkerPlatform(name, pool);
}

}  // namespace hloscope::replay
