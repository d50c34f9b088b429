// A run whose results are compared with those of another module.
#pragma once

#include <memory>
#include <stop_token>

#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// `spec` on the inputs that `module` has by it, with the results of `other` on them as what is
// recorded: both run on the platform of `spec`, which compares with nothing else. Fails as the
// runs do.
Result<RunSpec> AgainstModule(const std::shared_ptr<const hlo::Module>& module,
                              const std::shared_ptr<const hlo::Module>& other, const RunSpec& spec,
                              const std::stop_token& stop);

}  // namespace hloscope::debug
