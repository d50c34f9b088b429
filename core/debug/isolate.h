// Isolate: every instruction of the entry by itself, on the values it really has.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/debug/compare_values.h"
#include "core/hlo/module.h"
#include "core/replay/platform.h"

namespace hloscope::debug {

// How one instruction did.
struct InstructionReport {
  std::string instruction, computation, opcode, source;
  bool compared = false;
  std::vector<LeafComparison> outputs;  // one per leaf of its value
  std::optional<Error> error;           // why it did not run, or is of no value to compare
  double run_us = 0;
  bool differs() const;
};

struct IsolateRequest {
  replay::Platform* platform = nullptr;   // runs each instruction
  replay::Platform* reference = nullptr;  // says what each should give; null: nothing is compared
  replay::LoadOptions load;
  replay::RunOptions run;
  BoundsRequest bounds;
  std::stop_token stop;
};

// Makes a module of each instruction of the entry but parameters, constants, tuples and their
// elements, and of the starts of asynchronous pairs, which run with their dones; runs it on both
// platforms with the values that the reference gave for its operands (without one: the platform
// itself), and compares. So a difference is the instruction's own. What cannot run is reported by
// name, and what depends on it, as is what dies; everything else runs. Fails where it is stopped or
// the deadline is over.
Status Isolate(const hlo::Module& module, std::span<const hlo::Literal> arguments,
               const IsolateRequest& request,
               const std::function<void(const InstructionReport&)>& on_instruction);

}  // namespace hloscope::debug
