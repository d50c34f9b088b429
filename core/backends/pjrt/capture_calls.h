// CaptureCalls: an optimised module with a custom call behind every value that a capture plan
// wants.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/module.h"
#include "core/replay/capture/capture_plan.h"

namespace hloscope::replay::pjrt {

struct CaptureCalls {
  std::shared_ptr<const hlo::Module> module;
  std::vector<bool> points;           // by instruction of the original: it is followed by a call
  std::vector<std::string> left_out;  // names of values that are not static arrays
};

// Puts behind each wanted instruction, and behind each that calls the computation of one, a call
// whose id is the instruction's index. All its other users wait for the call (control
// predecessors), so that nobody overwrites the value before. Unsupported: the plan wants an
// instruction that has no value in memory (part of a kernel, or one that hands values on only),
// ends the run early or searches. Input error: an instruction that is not there.
Result<CaptureCalls> AddCaptureCalls(const hlo::Module& module, const CapturePlan& plan,
                                     int64_t program);

}  // namespace hloscope::replay::pjrt
