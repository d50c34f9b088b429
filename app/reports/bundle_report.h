// What `bundle` and `info` say of bundles, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/debug/bundle/check.h"
#include "core/debug/bundle/create.h"

namespace hloscope::app {

// One line each; `file` as given.
std::string BundleMadeJson(const std::string& file, const Result<debug::MadeBundle>& made);
// What would go in: "sizes" of the parts that are known, "of_run" those that the run may not give.
std::string BundleMadeJson(const std::string& file, const Result<debug::BundlePlan>& plan);
std::string BundleMadeText(const std::string& file, const debug::BundlePlan& plan);
// `line`, an object of another command, with the field "bundle": what BundleMadeJson says.
std::string WithBundleJson(std::string line, const std::string& file,
                           const Result<debug::MadeBundle>& made);
std::string BundleMadeText(const std::string& file, const debug::MadeBundle& made);
std::string BundleCheckJson(const std::string& file, const debug::BundleCheck& check);
std::string BundleCheckText(const std::string& file, const debug::BundleCheck& check);

// What a bundle is, from its manifest alone.
std::string BundleText(const dump::BundleFile& bundle, const debug::BundleManifest& manifest);
void WriteBundleJson(JsonWriter& json, const dump::BundleFile& bundle,
                     const debug::BundleManifest& manifest);

}  // namespace hloscope::app
