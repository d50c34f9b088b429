// Paths of bundles stand for the arrays in them: see OpenArrays.
#include "core/debug/bundle/take_values.h"

#include <fmt/format.h>

#include "core/debug/bundle/manifest.h"
#include "core/debug/bundle/untrusted_request.h"
#include "core/dump/bundle_file.h"

namespace hloscope::debug {

using dump::BundlePart;

Status TakeBundledInputs(const std::string& file, bool says_how, RunSpec& request,
                         const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto bundle, dump::OpenIfBundle(file, limits));
  if (!bundle) return {};
  InputSpec& inputs = request.inputs;
  if (inputs.infeed.empty() && bundle->Has(BundlePart::kInfeed)) inputs.infeed = {file};
  if (!inputs.files.empty() || !inputs.literals_file.empty()) return {};
  if (bundle->Has(BundlePart::kInputs)) {
    inputs.files = {file};
    request.notes.push_back("inputs are the values in the bundle");
    return {};
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const BundleManifest manifest, ManifestFromJson(bundle->manifest()));
  if (manifest.recorded.inputs_generated) {
    if (says_how) return {};
    const InputSpec made = RequestFromUntrusted(manifest.request, request).request.inputs;
    inputs.seed = made.seed;
    inputs.random = made.random;
    inputs.large_floats = made.large_floats;
    inputs.edge_values = made.edge_values;
    inputs.flush_denormals = made.flush_denormals;
    return {};
  }
  request.notes.push_back(
      "the bundle does not contain the values of its inputs: others are generated (--inputs gives "
      "them; `bundle create --values all` packs them)");
  return {};
}

}  // namespace hloscope::debug
