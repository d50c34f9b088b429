// The modules around the pass that a bundle's verdict blames: run once more, and the command.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "core/debug/bundle/manifest.h"
#include "core/debug/run/run_spec.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

enum class StagesStatus : uint8_t { kDiffer, kAgree, kCannot };

struct StagesCheck {
  StagesStatus status = StagesStatus::kCannot;
  std::string clause;  // "the modules before and after the pass differ here too"
};

// Compares them as the command below does, on the inputs of `request`, which is that of the run.
StagesCheck CheckStages(const std::shared_ptr<const hlo::Module>& before,
                        const std::shared_ptr<const hlo::Module>& after, const RunSpec& request,
                        const std::stop_token& stop);

// The command that shows the difference, in the folder of the unpacked bundle: as the run was
// recorded, less platforms and what is theirs alone.
// `has_inputs`, `has_infeed`: whether these parts are there.
std::string StagesCommand(const BundleManifest& manifest, bool has_inputs, bool has_infeed);
// What has to be added to that command, since the bundle does not have it: "--inputs F with …";
// empty: nothing.
std::string MissingOfStages(const BundleManifest& manifest, bool has_inputs, bool has_infeed);

}  // namespace hloscope::debug
