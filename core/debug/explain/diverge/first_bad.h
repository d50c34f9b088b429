// The first of several versions of XLA on which a module goes wrong.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/debug/explain/diverge/verdict.h"

namespace hloscope::debug {

// Runs the module on the request's platform in each of the Python environments, in the order given
// (oldest first), against the request's reference platform (where it names none and expects no
// values, the one that defines what is right). `first_bad` is the first environment, as given,
// whose results differ or that dies; `tries` has a line for each. A version that cannot run the
// module is neither good nor bad.
DivergeVerdict FindFirstBad(const std::shared_ptr<const hlo::Module>& module,
                            const RunSpec& request, const std::vector<std::string>& pythons,
                            const std::stop_token& stop);

}  // namespace hloscope::debug
