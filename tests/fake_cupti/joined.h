// A libcupti over the made-up driver: what that does becomes records.
#pragma once

#include <cstdint>

#include "tests/fake_cuda/fake_cuda.h"

namespace hloscope::fake_cupti {

// Listens to the made-up driver, where this process has it loaded; nullptr ends that.
// False: there is none.
bool Listen(const FakeCudaListener* listener);

uint64_t SteadyNow();

}  // namespace hloscope::fake_cupti
