/// What a worker of this program can do: the platforms and the isolated tasks of core/backends.
#pragma once

#include "core/replay/workers/worker_server.h"

namespace hloscope::replay {

/// For ServeWorker: platforms by MakePlatform, tasks by the names in worker_services.cc.
WorkerServices BackendServices();

}  // namespace hloscope::replay
