/// Makes platforms by the names of core/replay/platforms.def.
#pragma once

#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "core/replay/platform.h"
#include "core/replay/workers/worker_pool.h"

namespace hloscope::replay {

/// The platform `name` in this process. Input error: CheckPlatform's, which lists the names.
Result<std::unique_ptr<Platform>> MakePlatform(std::string_view name);

/// The same as a worker of `pool` serves it; in this process where `pool` is null.
Result<std::unique_ptr<Platform>> MakePlatform(std::string_view name,
                                               const std::shared_ptr<WorkerPool>& pool);

}  // namespace hloscope::replay
