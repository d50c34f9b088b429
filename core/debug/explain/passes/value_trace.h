// ValueTrace: every value of one evaluation, in the order in which they are made.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "core/base/result.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/module.h"
#include "core/replay/capture/capture_plan.h"

namespace hloscope::debug {

// One execution of an instruction.
struct TraceEvent {
  hlo::InstructionId instruction;
  int64_t device = 0;
  int64_t execution = 0;  // of that instruction on that device, from 0
  std::vector<runtime::Frame> calls;
  std::vector<replay::CapturedForm> leaves;
};

struct ValueTrace {
  std::vector<TraceEvent> events;
  std::vector<std::vector<uint32_t>> by_instruction;  // positions in events

  // That execution of the instruction; null where there is none.
  const TraceEvent* Find(hlo::InstructionId id, int64_t device, int64_t execution) const;
};

// As the module stands, with all floating point in double precision, or so but rounded where the
// module asks for it; ids are those of the module as it stands either way.
enum class TracePrecision : uint8_t { kDouble, kOwn, kRounded };

// Instructions whose values are made one by one: not those of reducers, comparators and the like.
std::vector<hlo::InstructionId> TracedInstructions(const hlo::Module& module);

// The values of `wanted` in that form, of one run as `request` says. Fails as the run does.
Result<ValueTrace> TraceValues(const std::shared_ptr<const hlo::Module>& module,
                               TracePrecision precision, replay::CaptureForm form,
                               std::span<const hlo::InstructionId> wanted, const RunSpec& request,
                               const std::stop_token& stop);

}  // namespace hloscope::debug
