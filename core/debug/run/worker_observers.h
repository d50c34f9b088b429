// The observers that runs in workers may have.
#pragma once

#include <span>

#include "core/replay/workers/remote_observer.h"

namespace hloscope::debug {

std::span<const replay::ObserverRow> WorkerObservers();

}  // namespace hloscope::debug
