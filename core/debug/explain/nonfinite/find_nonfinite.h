// FindFirstNonFinite: the instruction in which a NaN or an infinity is born.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"
#include "core/replay/capture/capture_plan.h"
#include "core/replay/capture/nonfinite_scan.h"
#include "core/replay/capture/run_stream.h"

namespace hloscope::debug {

using replay::NonFiniteKind;

// A call on the way from the entry to an instruction.
struct PathStep {
  std::string instruction, computation, opcode;
  std::optional<int64_t> iteration;  // of a loop, counted from 0
};

struct OperandReport {
  std::string instruction, shape;
  std::optional<std::string> value;  // of elementwise instructions and scalars: at the index
  std::optional<replay::FiniteRange> range;  // of others: over all elements that are finite
};

// Where the first one was made: the first instruction in execution order, what it calls coming
// before it, whose result holds a NaN while its operands hold none (or an infinity while they are
// finite). Of elementwise instructions each element counts with the elements it is made of.
// Instructions that hand values on (tuples, calls, data movement) make none; a reducer, comparator
// or map body stands for its caller.
struct NonFinite {
  NonFiniteKind kind = NonFiniteKind::kNan;
  bool on_arrival = false;  // no instruction makes one: a parameter or constant holds it
  std::string instruction, computation, opcode, shape, source;
  std::vector<PathStep> path;  // outermost first; empty in the entry
  int64_t device = 0;
  std::vector<int64_t> leaf;   // of the result, where that is a tuple
  std::vector<int64_t> index;  // of the element
  std::string value;
  std::vector<OperandReport> operands;
  bool reaches_output = false;  // an output that depends on it holds a NaN or an infinity
  // Of a NaN made from an infinite operand: what made that infinity, or held it from the start.
  std::optional<std::string> infinity_from;
};

// What holds one before anything runs.
struct NonFiniteArrival {
  std::string text;                      // "in0[3] is NaN in the inputs", "constant c is NaN …"
  std::string instruction, computation;  // the parameter or constant
};

struct NonFiniteReport {
  std::optional<NonFinite> first;
  std::vector<NonFiniteArrival> arrivals;
};

// Runs the module once, on the inputs at hand, with a search beside it: what that found, and the
// leaves of the results; none where the search ended the run.
struct SearchedRun {
  replay::SearchFinding finding;
  std::vector<Result<hlo::Literal>> leaves;
};
using SearchRun = std::function<Result<SearchedRun>(const replay::SearchRequest& search)>;

// Runs once, and once more where the guilty instruction applies a scalar computation. `arguments`
// are what the runs take. Fails as the first run does.
Result<NonFiniteReport> FindFirstNonFinite(const hlo::Module& module,
                                           std::span<const hlo::Literal> arguments,
                                           NonFiniteKind kind, const SearchRun& run);

}  // namespace hloscope::debug
