// Isolate: every instruction of the entry by itself, on the values it really has.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/debug/compare/compare_values.h"
#include "core/hlo/module.h"
#include "core/replay/capture/run_stream.h"
#include "core/replay/platform.h"

namespace hloscope::debug {

// How one instruction did.
struct InstructionReport {
  std::string instruction, computation, opcode, source;
  bool compared = false;
  std::vector<LeafComparison> outputs;  // one per leaf of its value
  // Of the same leaves on both sides, where they are asked for; of what could not be had nothing.
  std::vector<replay::ValueStatistics> actual_statistics, expected_statistics;
  std::optional<Error> error;      // why it did not run, or is of no value to compare
  double run_us = 0;               // of the module it ran in, others beside it
  std::optional<double> alone_us;  // by itself, the least of some runs; where that is asked for
  // Of one that kernels of a compiled program computed: their names, and the loops and calls around
  // it; else empty.
  std::string kernels, path;
  // What ran with it: a manual region with what leaves it; where it took others for a difference,
  // those. Names, in order.
  std::vector<std::string> together_with;
  bool differs() const;
};

struct IsolateRequest {
  replay::Platform* platform = nullptr;   // runs each instruction
  replay::Platform* reference = nullptr;  // says what each should give; null: nothing is compared
  replay::RunOptions options, reference_options;
  BoundsRequest bounds;
  bool statistics = false;  // of values go into the reports
  bool time_alone = false;  // each is compiled and run by itself for alone_us
  // Values are kept for GrowPieces up to this; where all are more, they are computed again there.
  int64_t keep_bytes = int64_t{1} << 31;
  // Of the instructions, and of the pieces that GrowPieces tries.
  std::function<void(const replay::RunProgress&)> on_progress = {};
};

class Isolation {
 public:
  // `module` must outlive it.
  Isolation(const hlo::Module& module, IsolateRequest request);
  ~Isolation();

  // Makes a module of each instruction of the entry but parameters, constants, tuples and their
  // elements, what gives no value, and of the starts of asynchronous pairs, which run with their
  // dones; many such are compiled as one. Runs them with the values that the reference gave for
  // their operands (without one: the platform itself), and compares; what differs is run again
  // alone, so that a difference is the instruction's own. What cannot run is reported by name, and
  // what depends on it, as is what dies; everything else runs. Fails where it is stopped or the
  // deadline is over.
  Status Run(std::span<const hlo::Literal> arguments,
             const std::function<void(const InstructionReport&)>& on_instruction);

  // After Run, whose arguments must be there still, where no instruction differs alone: pieces of
  // growing depth along the operands, until one differs. Absent: none does. Unsupported error: not
  // all could be tried, since they are too large or their values too many to keep.
  Result<std::optional<InstructionReport>> GrowPieces();

 private:
  class Runner;
  std::unique_ptr<Runner> runner_;
};

}  // namespace hloscope::debug
