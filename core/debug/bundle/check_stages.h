// The modules around the pass that a bundle's verdict blames: run once more, and the command.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/debug/bundle/manifest.h"
#include "core/debug/run/run_module.h"
#include "core/dump/bundle_file.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

struct StagesCheck {
  bool differ = false;
  std::string clause;  // "the modules before and after the pass differ here too"
};

// What the run of the bundle's module was given, which `report` is of: the verdict was found on it.
// Where it ended before that, what it would have been given. Errors: those of reading and
// generating inputs.
Result<std::vector<hlo::Literal>> ArgumentsOfRun(const hlo::Module& module, const RunSpec& request,
                                                 const RunReport& report,
                                                 const std::stop_token& stop);

// Whether the bundle's verdict blames the pass though the results agree within the bounds: for
// another operation, or for a rounding that is lost.
bool BlamesWithinBounds(const dump::BundleFile& bundle);

// Runs both once, on the arguments of `request`, which is that of the run. `within_bounds`: as
// above; then they differ also where only within the bounds. Errors: they could not be compared.
Result<StagesCheck> CheckStages(const std::shared_ptr<const hlo::Module>& before,
                                const std::shared_ptr<const hlo::Module>& after,
                                const RunSpec& request, bool within_bounds,
                                const std::stop_token& stop);

// The command that shows the difference, in the folder of the unpacked bundle: as the run was
// recorded, less platforms and what is theirs alone. Generated inputs are those of module.hlo,
// which a command of its own saves first: what is generated depends on how a module uses them.
// `has_inputs`, `has_infeed`: whether these parts are there.
std::string StagesCommand(const BundleManifest& manifest, bool has_inputs, bool has_infeed);
// What has to be added to that command, since the bundle does not have it: "--inputs F with …";
// empty: nothing.
std::string MissingOfStages(const BundleManifest& manifest, bool has_inputs, bool has_infeed);

}  // namespace hloscope::debug
