// Runs whose devices are ranks: each process runs its own device, and all tell the results of all.
#pragma once

#include <memory>

#include "core/replay/platform.h"
#include "core/replay/ranks.h"

namespace hloscope::replay::cuda {

std::unique_ptr<Platform> MakeRankedPlatform(std::unique_ptr<Platform> own,
                                             std::shared_ptr<const Ranks> ranks);

}  // namespace hloscope::replay::cuda
