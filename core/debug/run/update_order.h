// Scatters that write one element more than once and keep one of the values: HLO leaves open which.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/debug/run/run_spec.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

/// The module with the updates of these scatters from the last to the first. Input error: one has
/// batching dimensions.
Result<std::shared_ptr<const hlo::Module>> WithUpdatesReversed(
    const std::shared_ptr<const hlo::Module>& module, std::span<const hlo::InstructionId> scatters);

/// An array of the result, as it is and as it was expected.
struct DifferingResult {
  size_t leaf;
  const hlo::Literal &actual, &expected;
};
/// How many of the elements that differ also change with the order of the updates, by two runs on
/// the interpreter; empty: none, or no scatter keeps one of several values.
std::optional<std::string> UpdateOrderHint(const std::shared_ptr<const hlo::Module>& module,
                                           const RunSpec& spec,
                                           const std::vector<hlo::Literal>& arguments,
                                           std::span<const DifferingResult> results);

}  // namespace hloscope::debug
