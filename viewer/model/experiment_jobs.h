// What an experiment computes on its thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/debug/run/run_module.h"
#include "core/hlo/module.h"
#include "viewer/model/captured_values.h"
#include "viewer/model/experiment.h"

namespace hloscope::viewer {

Finding FindingOf(const debug::InstructionReport& report, hlo::InstructionId instruction);

// Instructions of the entry that are run by themselves.
int64_t CountRun(const hlo::Module& module);
// Of the entry; the keys are the module's.
std::unordered_map<std::string_view, hlo::InstructionId> NamesOfEntry(const hlo::Module& module);

// The leaves of the reference and, from the same operands, what `platform` makes of them, of
// `pair.instruction`; pair.note says what failed.
void CaptureBoth(const std::shared_ptr<const hlo::Module>& module, const std::string& platform,
                 const debug::RunSpec& request, const std::stop_token& stop, CapturedPair& pair);

// The values of a run that has not begun.
RunValues ValuesBefore(const std::shared_ptr<const hlo::Module>& module,
                       const ExperimentRequest& request);
// How many elements of each output are NaN.
std::vector<int64_t> NansOf(const debug::RunReport& report);
void AddArguments(std::span<const hlo::Literal> arguments, RunValues& values);
// What was not seen so far, as the reference evaluator has it on the same inputs.
void AddInner(const std::shared_ptr<const hlo::Module>& module, const debug::RunSpec& run,
              const std::stop_token& stop, RunValues& values);

}  // namespace hloscope::viewer
