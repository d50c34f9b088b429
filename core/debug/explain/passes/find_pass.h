// The pass that changed the numbers: every stage of a compilation evaluated on the same inputs.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/explain/passes/pipeline.h"
#include "core/debug/explain/passes/stage_values.h"

namespace hloscope::debug {

// `values` has begun with a module that means what the first stage should. Stages whose text means
// the same as that of the one before are not evaluated. Sweeps all of them, since a later pass may
// hide what an earlier one did: `passes` has each that changed the meaning. Status: differs where
// one did; else unsupported where the last stages could not be compared (`undecided`), so that
// nothing is known of the last passes; else equal, also where a stage between two that agree could
// not. Died where it was stopped.
DivergeVerdict FindGuiltyPass(const StageValues& values, const Leaves& results,
                              const std::shared_ptr<const hlo::Module>& first,
                              const Pipeline& pipeline, const std::stop_token& stop);

// What two modules were read from, for errors; may be empty.
struct ModuleFiles {
  std::string first, second;
};

// The same of two modules that should mean the same: the place is the first instruction of `first`
// that differs, the edit what `second` made of it. Refused where the results that both have agree
// and another has no value.
DivergeVerdict FindDifference(StageValues& values, const std::shared_ptr<const hlo::Module>& first,
                              const std::shared_ptr<const hlo::Module>& second,
                              const ModuleFiles& files, const std::stop_token& stop);

// The verdict where the module that all others are held to cannot be evaluated; elided constants
// are named as the cause where it has some. `file`: what it was read from, where one of several.
DivergeVerdict RefusedStart(const hlo::Module& module, Error error, const std::string& file = {});

// Instructions that every platform draws numbers for in its own way.
int64_t DrawsOf(const hlo::Module& module);

// True if both mean the same by their text, without being evaluated.
bool HasSameText(const hlo::Module& a, const hlo::Module& b);

}  // namespace hloscope::debug
