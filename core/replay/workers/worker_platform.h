// Platforms whose modules run in workers.
#pragma once

#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "core/replay/platform.h"
#include "core/replay/workers/worker_pool.h"

namespace hloscope::replay {

// The platform called `name` as a worker of the pool serves it, started when it is first needed:
// the same results as in this process, and died where the process does. An executable that lost its
// worker is loaded again by its next run. An input error lists
// the platforms there are.
Result<std::unique_ptr<Platform>> MakeWorkerPlatform(std::string_view name,
                                                     std::shared_ptr<WorkerPool> pool);

}  // namespace hloscope::replay
