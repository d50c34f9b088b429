// The values of a run as they go into a bundle: by its policy all bits, statistics, shapes,
// nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/debug/bundle/manifest.h"
#include "core/hlo/literal.h"

namespace hloscope::debug {

struct BundleValues {
  std::vector<std::pair<dump::BundlePart, std::string>> parts;
  std::vector<std::string> notes;  // what could not go in
};

// Inputs, expected results and results of the run. `saved_inputs` is the archive that the run wrote
// its inputs to (OutputFiles::inputs); needed for kAll only.
Result<BundleValues> CollectValues(const RunReport& report, const RunSpec& request,
                                   ValuePolicy policy, const std::string& saved_inputs);

// The inputs of the reduced module, one per parameter.
Result<BundleValues> CollectReducedInputs(std::span<const hlo::Literal> arguments,
                                          ValuePolicy policy);

// Of all bytes of all leaves; empty where there are none.
std::string HashOfValues(std::span<const hlo::Literal> values);

}  // namespace hloscope::debug
