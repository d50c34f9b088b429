// RunStream: everything a run tells, as it comes, the same from this process and from a worker.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/eval/machine/value.h"
#include "core/hlo/literal.h"
#include "core/replay/capture/capture_plan.h"

namespace hloscope::replay {

// Flattened leaf number `leaf` of the result on `device` (by list of Placement): its value, or why
// it has none.
struct LeafResult {
  int64_t device = 0, leaf = 0;
  Result<hlo::Literal> value = hlo::Literal();
};

// A leaf that the capture plan wants.
struct CapturedValue {
  ValueKey key;
  CapturedForm value;
};

// What a search has found: how it is written is the search's own; values are shared, not copied.
struct SearchFinding {
  std::string name, fields;
  std::vector<eval::Value> values = {};
};

struct RunWarning {
  std::string text;
};

// An instruction that something else than the platform ran.
struct RunFallback {
  std::string instruction, opcode, reason, detail;
  int64_t bytes_moved = 0;
  double time_us = 0;
};

// Time that an instruction took.
struct TraceSlice {
  ValueKey key;
  std::string name, lane;  // of the kernel or call; where it ran
  int64_t start_ns = 0, duration_ns = 0;
};

// How far it is: `done` of `total` of what `what` says ("results read back").
struct RunProgress {
  std::string what;
  int64_t done = 0, total = 0;
};

// Something wrong in what ran that did not end the run, as a checking platform finds it.
struct RunFault {
  ValueKey key;
  Error error;
};

using RunEvent = std::variant<LeafResult, CapturedValue, SearchFinding, RunWarning, RunFallback,
                              TraceSlice, RunProgress, RunFault>;

class RunStream {
 public:
  virtual ~RunStream() = default;
  // One at a time, from the thread that runs or, where devices run on threads, from any of them.
  virtual void Take(RunEvent event) = 0;
};

// Tells a leaf of the result in the form that the plan wants it in.
void TellResult(RunStream& stream, const CapturePlan& plan, hlo::InstructionId root,
                LeafResult result);

}  // namespace hloscope::replay
