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
/// How many elements differ, and how many of them also change with the order of the updates of
/// `scatters`.
struct MovedElements {
  int64_t differing = 0, moving = 0;
  std::vector<hlo::InstructionId> scatters;
};
/// By two runs on the interpreter; empty: none moves, or no scatter keeps one of several values.
std::optional<MovedElements> MovedByUpdateOrder(const std::shared_ptr<const hlo::Module>& module,
                                                const RunSpec& spec,
                                                const std::vector<hlo::Literal>& arguments,
                                                std::span<const DifferingResult> results);
/// The same as a sentence.
std::optional<std::string> UpdateOrderHint(const std::shared_ptr<const hlo::Module>& module,
                                           const RunSpec& spec,
                                           const std::vector<hlo::Literal>& arguments,
                                           std::span<const DifferingResult> results);

}  // namespace hloscope::debug
