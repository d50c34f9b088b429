// The values of a run as they go into a bundle: by its policy all bits, statistics, shapes,
// nothing.
#pragma once

#include <cstdint>
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

// Inputs go in as literals of run_hlo_module too, up to so many bytes: a proto has at most 2 GB,
// and a bundle is in memory while it is made.
constexpr int64_t kMaxLiteralBytes = int64_t{256} << 20;
int64_t ValueBytes(std::span<const hlo::Literal> values);

// The archive that the run wrote its inputs to (OutputFiles::inputs); with kAll only. `planned`:
// nothing of them is read, and the part is left out.
struct PackedInputs {
  std::string path;
  bool planned = false;
};

// Inputs, expected results and results of the run.
Result<BundleValues> CollectValues(const RunReport& report, const RunSpec& request,
                                   ValuePolicy policy, const PackedInputs& packed_inputs);

// The inputs of the reduced module, one per parameter.
Result<BundleValues> CollectReducedInputs(std::span<const hlo::Literal> arguments,
                                          ValuePolicy policy);

// Of all bytes of all leaves; empty where there are none.
std::string HashOfValues(std::span<const hlo::Literal> values);

}  // namespace hloscope::debug
