// What our own compiler made of a module, as a dump that the window opens.
#pragma once

#include <memory>

#include "core/hlo/module.h"
#include "viewer/model/context.h"

namespace hloscope::viewer {

struct ExperimentRequest;

// Compiles the module as a run of the request on our own compiler does, and records such a run: in
// child processes and in the background. What came of it, a dump of every pass with the profile
// next to it, replaces the open dump; a message has its path, or why there
// is none.
void ShowOwnCompilation(Context& context, std::shared_ptr<const hlo::Module> module,
                        const ExperimentRequest& request);

}  // namespace hloscope::viewer
