// Paths of bundles stand for the arrays in them: see OpenArrays.
#include "core/debug/bundle/take_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/debug/bundle/manifest.h"
#include "core/debug/bundle/untrusted_request.h"
#include "core/debug/run/recorded_arguments.h"
#include "core/dump/bundle_file.h"

namespace hloscope::debug {

using dump::BundlePart;

namespace {

// Another stage of the same compilation may have other parameters, as after partitioning.
bool Fit(const std::string& inputs, const hlo::Module& module, const Limits& limits) {
  const auto dimensions = InputDimensions(std::vector{inputs}, limits);
  if (!dimensions) return true;  // who reads them says why
  const auto parameters = module.Parameters(module.entry_id());
  for (size_t p = 0; p < std::min(parameters.size(), dimensions->size()); ++p) {
    if (!parameters[p].valid() || !(*dimensions)[p]) continue;
    const hlo::Shape& shape = module.shape(parameters[p]);
    if (shape.IsArray() && !std::ranges::equal(shape.dimensions(), *(*dimensions)[p])) return false;
  }
  return true;
}

void TakeSavedInputs(const std::string& file, const hlo::Module& module, RunSpec& request,
                     const Limits& limits) {
  if (!request.inputs.files.empty() || !request.inputs.literals_file.empty()) return;
  std::string saved = SavedInputsOf(file);
  if (saved.empty()) return;
  if (!Fit(saved, module, limits)) {
    request.notes.push_back("the inputs that `record --inputs` saved do not fit this stage: " +
                            saved);
    return;
  }
  request.notes.push_back("inputs are those that `record --inputs` saved: " + saved);
  request.inputs.files = {std::move(saved)};
}

}  // namespace

Status TakeKnownInputs(const std::string& file, const hlo::Module& module, bool says_how,
                       RunSpec& request, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto bundle, dump::OpenIfBundle(file, limits));
  if (!bundle) {
    if (!says_how) TakeSavedInputs(file, module, request, limits);
    return {};
  }
  InputSpec& inputs = request.inputs;
  if (inputs.infeed.empty() && bundle->Has(BundlePart::kInfeed)) inputs.infeed = {file};
  if (!inputs.files.empty() || !inputs.literals_file.empty()) return {};
  if (bundle->Has(BundlePart::kInputs)) {
    inputs.files = {file};
    request.notes.push_back("inputs are the values in the bundle");
    return {};
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const BundleManifest manifest, ManifestOf(*bundle));
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

Status TakeRecordedRun(const std::string& file, std::span<const std::string> given,
                       RunSpec& request, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto bundle, dump::OpenIfBundle(file, limits));
  if (!bundle) return {};
  HLOSCOPE_ASSIGN_OR_RETURN(const BundleManifest manifest, ManifestOf(*bundle));
  const auto is_given = [&](std::string_view text) {
    const std::string name(text.substr(0, text.find_first_of(" =")));
    return std::ranges::any_of(
        given, [&](const std::string& one) { return one == name || one == name + "="; });
  };
  RunSpec own = request;
  own.limits = limits;
  if (!is_given("--platform")) own.test.name.clear();
  if (!is_given("--reference_platform")) own.reference.name.clear();
  UntrustedRequest taken = RequestFromUntrusted(manifest.request, own);
  if (!taken.refused.empty()) {
    std::vector<std::string_view> reasons;
    for (const RefusedField& field : taken.refused) reasons.push_back(field.reason);
    return InputError(fmt::format("the recorded run needs {}", fmt::join(reasons, "; ")),
                      "name the platforms with --platform and --reference_platform");
  }
#define RUN_OPTION(member, text, ...) \
  if (!is_given(text)) request.member = taken.request.member;
#include "core/debug/run/run_options.def"
  request.test.xla_flags = taken.request.test.xla_flags;
  request.reference.xla_flags = taken.request.reference.xla_flags;
  const bool has_other = bundle->Has(BundlePart::kOther) && !bundle->Has(BundlePart::kExpected);
  const bool compares = !is_given("--script") && !is_given("--find");
  if (has_other && compares && request.compare.expect.empty() && request.reference.name.empty()) {
    return InputError(
        "the recorded run is compared with other.hlo, which is not run here",
        fmt::format("`bundle open {0} --into DIR`; then reduce {0} --script S, where S runs "
                    "`hloscope diverge \"$1\" DIR/other.hlo`",
                    file));
  }
  if (bundle->Has(BundlePart::kExpected) && request.compare.expect.empty()) {
    request.compare.expect = {file};
  }
  for (std::string& note : taken.notes) request.notes.push_back(std::move(note));
  request.notes.push_back("run as the bundle was recorded: " + RunOptionsText(request));
  return {};
}

}  // namespace hloscope::debug
