// The worker processes of a command.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/base/limits.h"
#include "core/replay/workers/worker_pool.h"

namespace hloscope::app {

// How workers that are this program are started.
replay::WorkerPoolOptions WorkerOptions(const Limits& limits);

// A pool of workers that are this program, one for each of the platforms (empty names aside)
// started already, so that it comes up while files are read.
std::shared_ptr<replay::WorkerPool> StartWorkers(std::span<const std::string> platforms,
                                                 const Limits& limits);

}  // namespace hloscope::app
